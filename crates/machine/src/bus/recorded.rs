//! The machine as a hart sees it where its run is recorded: the same, with a note of each access that translation can notice.
//!
//! A hart's view has one entry, the page of its latest load or store. What hits it cannot be noticed: the L1 holds that page, as the one used last.

use super::bytes::{is_misaligned, store_bytes};
use crate::parts::recorder::{Atomic, LatestPage, Recorder, SLOTS};
use crate::state::MachineState;
use crate::state::recording::{self, write_note};
use ::recording::Event;
use hart::report::{Outstanding, Report};
use hart::{
    Bus, CodeView, DataView, EntryLayout, Exception, Fence, Fetched, HostPage, Loaded, NoCaches, Reached, Stop, Stored,
};
use std::mem::offset_of;
use types::{Access, Gva, TranslationContext, Width};

/// A machine whose run is recorded. It is a type of its own, so that no other bus has any of this.
#[repr(transparent)]
pub(crate) struct Recorded(MachineState);

impl Recorded {
    /// The same machine, seen so.
    pub(crate) fn of(state: &mut MachineState) -> &mut Self {
        // SAFETY: the layout is that of the state alone, and the borrow is handed on.
        unsafe { &mut *(&raw mut *state).cast::<Self>() }
    }

    #[inline(always)]
    fn recorder(&mut self) -> &mut Recorder {
        recording::recorder(&mut self.0)
    }

    /// What the hart does next is recorded behind the atomic operation that it has made.
    #[inline(always)]
    fn settle(&mut self) {
        if self.recorder().atomic.is_some() {
            recording::settle_atomic(&mut self.0);
        }
    }

    /// The host's byte of an aligned access that the machine's own L1 answers at its predicted slot.
    #[inline(always)]
    fn hit(&mut self, address: u64, width: Width, access: Access, stamp: u32) -> Option<*mut u8> {
        let slot = self.recorder().slots[(address >> 12) as usize % SLOTS];
        let view = self.0.data_view();
        // SAFETY: the view is of the current context, and the slot is 0 or was handed out by this bus.
        unsafe {
            match access {
                Access::Read => MachineState::read_hit(view, slot, address, width, stamp).map(<*const u8>::cast_mut),
                Access::Write | Access::Execute => MachineState::write_hit(view, slot, address, width, stamp),
            }
        }
    }

    #[inline(always)]
    fn learn(&mut self, address: u64, slot: u16) {
        self.recorder().slots[(address >> 12) as usize % SLOTS] = slot;
    }

    /// A jump to another page, of which the hart expects that it lies in `page`. What faults is recorded when the hart fetches it.
    #[inline(never)]
    fn fetch_changes_page(&mut self, address: u64, page: HostPage) -> bool {
        self.settle();
        let Ok(found) = self.0.fetch(address) else { return false };
        self.fetched(address, found).page == page
    }

    /// Notes a fetch that has found its page.
    fn fetched(&mut self, address: u64, found: Fetched) -> Fetched {
        let fetched = Fetched { predicted: 0, ..found };
        let recorder = self.recorder();
        recorder.made_once(Access::Execute, address);
        recorder.fetched = Some((address >> 12, fetched));
        fetched
    }

    /// Notes that an access has not been made.
    #[cold]
    fn stopped(&mut self, access: Access, address: u64, stop: Stop) -> Stop {
        match stop {
            Stop::Trap(_) => self.recorder().faulted(access, address),
            Stop::Leave => self.recorder().obstructed("pages of the guest have moved"),
        }
        stop
    }

    /// Notes a misaligned access, which lies in one page or in two.
    fn misaligned(&mut self, access: Access, address: u64, width: Width, stop: Option<Stop>) {
        let last = address.wrapping_add(width.bytes() - 1);
        let recorder = self.recorder();
        match stop {
            Some(Stop::Leave) => recorder.obstructed("pages of the guest have moved"),
            Some(Stop::Trap(trap)) if trap.value >> 12 == address >> 12 => recorder.faulted(access, address),
            Some(Stop::Trap(_)) => {
                recorder.made_once(access, address);
                recorder.faulted(access, last);
            }
            None => {
                recorder.made_once(access, address);
                if last >> 12 != address >> 12 {
                    recorder.made_once(access, last);
                }
            }
        }
    }
}

impl Bus for Recorded {
    const ENTRY: Option<EntryLayout> = Some(EntryLayout {
        shift: size_of::<LatestPage>().ilog2() as u8,
        base: offset_of!(LatestPage, base),
        host: offset_of!(LatestPage, host),
        stamp: offset_of!(LatestPage, stamp),
        loads: offset_of!(LatestPage, loads),
        stores: offset_of!(LatestPage, stores),
        plain_stores: None,
        // A load of the page is an event of its own.
        loads_hit_with_stores: false,
        // So is an access that is not aligned.
        is_aligned: true,
    });

    type Lines = NoCaches;

    #[inline(always)]
    fn lines(&mut self) -> NoCaches {
        NoCaches
    }

    #[inline(always)]
    fn use_line(&mut self, _: *const u8, _: Access) {}

    fn at(&mut self, _: u64, _: u64) {}

    #[inline(always)]
    fn report(&mut self, _: u64, _: Report) -> Outstanding {
        Outstanding::NOTHING
    }

    #[inline]
    fn data_view(&mut self) -> DataView {
        DataView((&raw mut *self.recorder().latest).cast())
    }

    #[inline]
    fn code_view(&mut self) -> CodeView {
        self.0.code_view()
    }

    fn stamp(&mut self) -> u32 {
        self.0.stamp()
    }

    fn set_stamp(&mut self, stamp: u32) {
        self.0.set_stamp(stamp);
    }

    /// There is one entry, whatever slot the hart predicts.
    #[inline(always)]
    unsafe fn read_hit(view: DataView, _: u16, address: u64, width: Width, _: u32) -> Option<*const u8> {
        // SAFETY: by the contract the view is the recorder's, which is alive, and no reference to it exists.
        unsafe {
            let latest = view.0.cast::<LatestPage>();
            let distance = address.wrapping_sub((*latest).base);
            let hit = distance < (*latest).loads[0] && !is_misaligned(address, width);
            hit.then(|| (*latest).host.wrapping_add(distance) as *const u8)
        }
    }

    #[inline(always)]
    unsafe fn write_hit(view: DataView, _: u16, address: u64, width: Width, _: u32) -> Option<*mut u8> {
        // SAFETY: as of `read_hit`.
        unsafe {
            let latest = view.0.cast::<LatestPage>();
            let distance = address.wrapping_sub((*latest).base);
            let hit = distance < (*latest).stores[0] && !is_misaligned(address, width);
            hit.then(|| (*latest).host.wrapping_add(distance) as *mut u8)
        }
    }

    #[inline]
    unsafe fn fetch_hit(&mut self, _: CodeView, _: u16, address: u64, page: HostPage) -> bool {
        match self.recorder().fetched {
            Some((latest, fetched)) if latest == address >> 12 => fetched.page == page,
            _ => self.fetch_changes_page(address, page),
        }
    }

    fn load_miss(&mut self, address: u64, width: Width, predicted: &mut u16, stamp: u32) -> Result<Loaded, Stop> {
        self.settle();
        if is_misaligned(address, width) {
            let loaded = self.0.load_miss(address, width, predicted, stamp);
            let value = match loaded {
                Ok(Loaded::Value(value)) => Some(value),
                Ok(Loaded::Retry) | Err(_) => None,
            };
            if !value.is_some_and(|value| recording::table_load(&mut self.0, address, width, value)) {
                self.misaligned(Access::Read, address, width, loaded.err());
            }
            return loaded;
        }
        loop {
            if let Some(at) = self.hit(address, width, Access::Read, stamp) {
                if recording::is_table(&mut self.0, at) {
                    return Ok(Loaded::Value(recording::load_from_table(&mut self.0, address, width, at)));
                }
                *predicted = 0;
                self.recorder().made(Access::Read, address, at);
                return Ok(Loaded::Retry);
            }
            let mut slot = 0;
            match self.0.load_miss(address, width, &mut slot, stamp) {
                Ok(Loaded::Retry) => self.learn(address, slot),
                // A device.
                Ok(Loaded::Value(value)) => {
                    self.recorder().made_once(Access::Read, address);
                    return Ok(Loaded::Value(value));
                }
                Err(stop) => return Err(self.stopped(Access::Read, address, stop)),
            }
        }
    }

    fn store_miss(
        &mut self,
        address: u64,
        width: Width,
        value: u64,
        predicted: &mut u16,
        stamp: u32,
    ) -> Result<Stored, Stop> {
        self.settle();
        if is_misaligned(address, width) {
            let stored = self.0.store_miss(address, width, value, predicted, stamp);
            let pages = match stored {
                Ok(Stored::Done(pages)) => pages,
                Ok(Stored::Retry | Stored::DoneAndLeave) | Err(_) => [None, None],
            };
            if !recording::table_stored(&mut self.0, address, width, value, pages) {
                self.misaligned(Access::Write, address, width, stored.err());
            }
            return stored;
        }
        loop {
            if let Some(at) = self.hit(address, width, Access::Write, stamp) {
                if recording::is_table(&mut self.0, at) {
                    // SAFETY: aligned, in memory.
                    let stored = unsafe { store_bytes(at, width, value) };
                    recording::table_stored(&mut self.0, address, width, value, [Some(HostPage::containing(at)), None]);
                    return Ok(stored);
                }
                *predicted = 0;
                self.recorder().made(Access::Write, address, at);
                return Ok(Stored::Retry);
            }
            let mut slot = 0;
            match self.0.store_miss(address, width, value, &mut slot, stamp) {
                Ok(Stored::Retry) => self.learn(address, slot),
                // A device.
                Ok(stored) => {
                    self.recorder().made_once(Access::Write, address);
                    return Ok(stored);
                }
                Err(stop) => return Err(self.stopped(Access::Write, address, stop)),
            }
        }
    }

    fn atomic_miss(
        &mut self,
        address: u64,
        width: Width,
        access: Access,
        predicted: &mut u16,
        stamp: u32,
    ) -> Result<Reached, Stop> {
        self.settle();
        loop {
            if let Some(at) = self.hit(address, width, access, stamp) {
                if recording::is_table(&mut self.0, at) {
                    let (before, offset) = recording::table_word(&self.0, width, at);
                    let recorder = self.recorder();
                    recorder.atomic = Some(Atomic { gva: Gva(address), width, access, before, offset });
                    recorder.forget_data();
                    return Ok(Reached::Once(at));
                }
                *predicted = 0;
                self.recorder().made(access, address, at);
                return Ok(Reached::Retry);
            }
            let mut slot = 0;
            match self.0.atomic_miss(address, width, access, &mut slot, stamp) {
                Ok(Reached::Retry) => self.learn(address, slot),
                Ok(Reached::Once(at)) => {
                    self.recorder().made_once(access, address);
                    return Ok(Reached::Once(at));
                }
                Err(stop) => {
                    if let Stop::Trap(trap) = stop
                        && matches!(trap.cause, Exception::LoadAccess | Exception::StoreAccess)
                    {
                        // Schemes differ in whether they exit for it.
                        self.recorder().obstructed("an atomic operation on a device");
                    }
                    return Err(self.stopped(access, address, stop));
                }
            }
        }
    }

    fn fetch(&mut self, address: u64) -> Result<Fetched, Stop> {
        if let Some((page, fetched)) = self.recorder().fetched
            && page == address >> 12
        {
            return Ok(fetched);
        }
        self.settle();
        match self.0.fetch(address) {
            Ok(found) => Ok(self.fetched(address, found)),
            Err(stop) => Err(self.stopped(Access::Execute, address, stop)),
        }
    }

    fn set_context(&mut self, context: &TranslationContext) {
        if self.recorder().context.as_ref() == Some(context) {
            return;
        }
        self.settle();
        recording::enter(&mut self.0, context);
        self.0.set_context(context);
    }

    fn fence(&mut self, fence: Fence) {
        self.settle();
        self.recorder().event(Event::Fence { gva: fence.gva, asid: fence.asid });
        self.recorder().forget_latest();
        self.0.fence(fence);
    }

    fn foreign_writes(&mut self, written: &mut dyn FnMut(*const u8, usize)) {
        self.0.foreign_writes(&mut |at, bytes| {
            written(at, bytes);
        });
    }

    fn time(&mut self, retired: u64) -> u64 {
        self.recorder().used_time = true;
        self.0.time(retired)
    }

    fn cycle(&mut self, retired: u64) -> u64 {
        self.recorder().used_time = true;
        self.0.cycle(retired)
    }

    fn external_interrupt(&mut self) -> bool {
        self.0.external_interrupt()
    }

    fn counter(&mut self, counter: u32, retired: u64) -> Option<u64> {
        write_note(&mut self.0, "the guest reads performance counters");
        self.0.counter(counter, retired)
    }

    fn nested_trap(&mut self) -> u32 {
        self.settle();
        self.recorder().event(Event::NestedTrap);
        self.0.nested_trap()
    }
}
