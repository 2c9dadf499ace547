//! The machine as a hart sees it: [`hart::Bus`] over the current processor's MMU, the current guest's devices, and host memory.
//!
//! Everything but the three `*_hit` functions is the miss path. A nested fault, or a shadow fault, is handled where it arises: the guest exits,
//! the hypervisor maps the page or finds a device there, the guest enters again and the access is made again.

mod cached;

pub(crate) use cached::CachedMachine;

use crate::caches::CachedWalk;
use crate::state::{MachineState, Processor};
use hart::{Bus, CodeView, DataView, EntryLayout, Exception, Fetched, HostPage, Loaded, NoCaches, Stop, Stored, Trap};
use hypervisor::shadow::ShadowFaultOutcome;
use hypervisor::{ExitReason, NestedFaultOutcome, WalkMemory};
use mmu::{Fault, Hit, L1Entry};
use types::{Access, Gpa, Gva, TranslationContext, Width};

/// The most faults of one access that the hypervisor handles: each entry of the longest walk may need a page of the host, and there are 35 at most.
const MOST_FAULTS: u32 = 64;

/// What an address leads to.
#[derive(Clone, Copy)]
enum Reached {
    /// Memory: the predicted slot of the entry that was hit, and where the byte lies in the host.
    Ram(u16, *mut u8),
    /// Memory that this access alone may store to: nothing was cached.
    Once(*mut u8),
    /// A device's register.
    Device(Gpa),
}

impl Bus for MachineState {
    const ENTRY: Option<EntryLayout> = {
        let [read_tag, write_tag, mask, addend, stamp] = L1Entry::OFFSETS;
        let shift = size_of::<L1Entry>().ilog2() as u8;
        Some(EntryLayout { shift, read_tag, write_tag, mask, addend, stamp })
    };

    type Lines = NoCaches;

    #[inline(always)]
    fn lines(&mut self) -> NoCaches {
        NoCaches
    }

    /// No caches are modelled.
    #[inline(always)]
    fn use_line(&mut self, _: *const u8, _: Access) {}

    #[inline]
    fn data_view(&mut self) -> DataView {
        DataView(self.processor().mmu.data_view().cast())
    }

    #[inline]
    fn code_view(&mut self) -> CodeView {
        CodeView(self.processor().mmu.fetch_view().cast())
    }

    fn stamp(&mut self) -> u32 {
        self.processor().rebased_stamp()
    }

    fn set_stamp(&mut self, stamp: u32) {
        self.processor().stamp = stamp;
    }

    #[inline(always)]
    unsafe fn read_hit(view: DataView, predicted: u16, address: u64, width: Width, stamp: u32) -> Option<*const u8> {
        // SAFETY: the caller's contract is the MMU's.
        unsafe { L1Entry::read_hit(view.0.cast(), predicted, Gva(address), width, u64::from(stamp)) }
            .map(<*mut u8>::cast_const)
    }

    #[inline(always)]
    unsafe fn write_hit(view: DataView, predicted: u16, address: u64, width: Width, stamp: u32) -> Option<*mut u8> {
        // SAFETY: the caller's contract is the MMU's.
        unsafe { L1Entry::write_hit(view.0.cast(), predicted, Gva(address), width, u64::from(stamp)) }
    }

    #[inline(always)]
    unsafe fn fetch_hit(&mut self, view: CodeView, predicted: u16, address: u64, page: HostPage) -> bool {
        let stamp = self.processor().mmu.fetch_stamp();
        // SAFETY: the caller's contract is the MMU's.
        unsafe { L1Entry::execute_hit(view.0.cast(), predicted, Gva(address & !0xfff), stamp) }
            .is_some_and(|at| at.cast_const() == page.start())
    }

    #[inline]
    fn load_miss(&mut self, address: u64, width: Width, predicted: &mut u16, stamp: u32) -> Result<Loaded, Stop> {
        if let Some(split) = Split::of(address, width) {
            return self.load_misaligned(address, width, split, stamp);
        }
        let mut elsewhere = None;
        match self.reach_slot(address, Access::Read, stamp, &mut elsewhere) {
            Some(found) => {
                *predicted = found;
                Ok(Loaded::Retry)
            }
            None => self.load_elsewhere(elsewhere.unwrap_or(Err(Stop::Leave))?, address, width),
        }
    }

    #[inline]
    fn store_miss(
        &mut self,
        address: u64,
        width: Width,
        value: u64,
        predicted: &mut u16,
        stamp: u32,
    ) -> Result<Stored, Stop> {
        if let Some(split) = Split::of(address, width) {
            return self.store_misaligned(address, width, value, split, stamp);
        }
        let mut elsewhere = None;
        match self.reach_slot(address, Access::Write, stamp, &mut elsewhere) {
            Some(found) => {
                *predicted = found;
                Ok(Stored::Retry)
            }
            None => self.store_elsewhere(elsewhere.unwrap_or(Err(Stop::Leave))?, address, width, value),
        }
    }

    fn atomic_miss(
        &mut self,
        address: u64,
        width: Width,
        access: Access,
        predicted: &mut u16,
        stamp: u32,
    ) -> Result<hart::Reached, Stop> {
        match self.reach(address, access, stamp)? {
            Reached::Ram(found, _) => {
                *predicted = found;
                Ok(hart::Reached::Retry)
            }
            Reached::Once(at) => {
                self.use_lines(at, width.bytes(), access);
                Ok(hart::Reached::Once(at))
            }
            Reached::Device(_) => Err(Trap { cause: access_fault(access), value: address }.into()),
        }
    }

    fn fetch(&mut self, address: u64) -> Result<Fetched, Stop> {
        let latest = self.processor().fetch_slot;
        if let Some(at) = self.processor().mmu.fetch_hit(latest, Gva(address & !0xfff)) {
            return Ok(Fetched { page: HostPage::containing(at), predicted: latest });
        }
        match self.reach(address, Access::Execute, 0)? {
            Reached::Ram(predicted, at) => {
                self.processor().fetch_slot = predicted;
                Ok(Fetched { page: HostPage::containing(at), predicted })
            }
            // Nothing is fetched once only.
            Reached::Device(_) | Reached::Once(_) => {
                Err(Trap { cause: Exception::InstructionAccess, value: address }.into())
            }
        }
    }

    fn set_context(&mut self, context: &TranslationContext) {
        if let Some(spaces) = &mut self.spaces {
            spaces.note(self.current.hart, context);
        }
        if self.guests[self.current.guest].region.is_some() {
            self.switch_segment(context);
        }
        if self.vm().is_shadowed() {
            return self.set_shadow_context(context);
        }
        let vmid = self.vm().vmid();
        self.processor().mmu.set_context(context, vmid);
    }

    fn fence(&mut self, fence: hart::Fence) {
        if self.vm().is_shadowed() {
            self.fence_shadow(fence);
        }
        self.processor().mmu.fence(&mmu::Fence::Vma { gva: fence.gva, asid: fence.asid });
    }

    fn foreign_writes(&mut self, written: &mut dyn FnMut(*const u8, usize)) {
        for (at, bytes) in self.take_foreign_writes() {
            written(at as *const u8, bytes);
        }
    }

    fn time(&mut self, retired: u64) -> u64 {
        let now = self.now(retired);
        self.clock().time(now)
    }

    fn cycle(&mut self, retired: u64) -> u64 {
        self.now(retired).0
    }

    #[cold]
    fn external_interrupt(&mut self) -> bool {
        let hart = self.current.hart;
        self.guest().platform.external_interrupt(hart)
    }

    #[cold]
    fn counter(&mut self, counter: u32, retired: u64) -> Option<u64> {
        self.read_counter(counter, retired)
    }

    #[cold]
    fn nested_trap(&mut self) -> u32 {
        let took = self.costs.nested_trap;
        self.processor().traps += took;
        u32::try_from(self.clock().instructions_in(took)).unwrap_or(u32::MAX)
    }
}

impl MachineState {
    /// As [`Self::reach`], for what is mostly memory: the predicted slot of the entry that was hit, in a register. With `None` the outcome is
    /// `elsewhere`.
    #[inline(never)]
    fn reach_slot(
        &mut self,
        address: u64,
        access: Access,
        stamp: u32,
        elsewhere: &mut Option<Result<Reached, Stop>>,
    ) -> Option<u16> {
        if self.leave || self.caches.is_some() {
            return Reached::slot_or(elsewhere, self.reach(address, access, stamp));
        }
        self.processor().hints.expect(Gva(address));
        let (vm, hart) = (&self.vms[self.current.guest], self.current.hart);
        let Processor { mmu, hints, .. } = &mut self.processors[self.current.processor];
        let mut memory = WalkMemory::new(&self.host.memory);
        let second = || vm.second_stage_of(hart);
        let outcome = match mmu.fast_access(&mut memory, second, Gva(address), access, u64::from(stamp)) {
            Ok(predicted) => {
                let hit = mmu.hit(predicted, Gva(address), Access::Read);
                if let Some(at) = hit.host {
                    hints.correct(Gva(address), at);
                }
                if let Some(entry) = memory.latest() {
                    hints.correct_entry(Gva(address), entry);
                }
                return Some(hit.slot);
            }
            Err(unfinished) => unfinished.finish(&mut memory, second),
        };
        let reached = match outcome {
            Ok(Hit { host: Some(at), slot: predicted, .. }) => {
                hints.correct(Gva(address), at);
                return Some(predicted);
            }
            Ok(hit) => Ok(Reached::of(&hit)),
            Err(fault) => self.reach_after(fault, address, access, stamp),
        };
        Reached::slot_or(elsewhere, reached)
    }

    /// A load that reached no predicted slot.
    #[cold]
    #[inline(never)]
    fn load_elsewhere(&mut self, reached: Reached, address: u64, width: Width) -> Result<Loaded, Stop> {
        match reached {
            Reached::Ram(_, at) | Reached::Once(at) => {
                self.use_lines(at, width.bytes(), Access::Read);
                // SAFETY: aligned, in memory.
                Ok(Loaded::Value(unsafe { read_bytes(at, width.bytes()) }))
            }
            Reached::Device(gpa) => Ok(Loaded::Value(self.load_device(gpa, width, address)?)),
        }
    }

    /// A store that reached no predicted slot.
    #[cold]
    #[inline(never)]
    fn store_elsewhere(&mut self, reached: Reached, address: u64, width: Width, value: u64) -> Result<Stored, Stop> {
        match reached {
            Reached::Ram(_, at) | Reached::Once(at) => {
                self.use_lines(at, width.bytes(), Access::Write);
                // SAFETY: aligned, in memory.
                Ok(unsafe { store_bytes(at, width, value) })
            }
            Reached::Device(gpa) => self.store_device(gpa, width, value, address),
        }
    }

    /// Translates, with faults of the host's tables handled on the way.
    #[inline(never)]
    fn reach(&mut self, address: u64, access: Access, stamp: u32) -> Result<Reached, Stop> {
        if self.take_leave() {
            // Pages have moved since the latest access: for a shadow table, when the hart changed its address space.
            return Err(Stop::Leave);
        }
        match self.translate(address, access, stamp) {
            Ok(hit) => Ok(Reached::of(&hit)),
            Err(fault) => self.reach_after(fault, address, access, stamp),
        }
    }

    /// Translates as for an access that is never made: TLBs and walk caches are filled, and faults of the hypervisor's tables handled.
    pub(crate) fn translate_for_nobody(&mut self, gva: Gva, access: Access, stamp: u32) {
        self.leave = false;
        let _ = self.reach(gva.0, access, stamp);
    }

    /// The same, once a translation has met `fault`.
    #[cold]
    #[inline(never)]
    fn reach_after(&mut self, mut fault: Fault, address: u64, access: Access, stamp: u32) -> Result<Reached, Stop> {
        for _ in 0..MOST_FAULTS {
            if self.vm().shadow_handles(&fault) {
                if let Some(reached) = self.reach_again(&fault, address, access)? {
                    return Ok(reached);
                }
            } else {
                match fault {
                    Fault::Page(_) | Fault::Shadow(_) => {
                        return Err(Trap { cause: page_fault(access), value: address }.into());
                    }
                    Fault::Access(_) => return Err(Trap { cause: access_fault(access), value: address }.into()),
                    Fault::Nested(nested) => match self.nested_fault(&nested).ok_or(Stop::Leave)? {
                        NestedFaultOutcome::Mapped => {}
                        NestedFaultOutcome::Device if nested.purpose == mmu::Purpose::Data => {
                            return Ok(Reached::Device(nested.gpa));
                        }
                        NestedFaultOutcome::Device | NestedFaultOutcome::Nothing => {
                            return Err(Trap { cause: access_fault(access), value: address }.into());
                        }
                    },
                }
            }
            match self.translate_again(address, access, stamp) {
                Ok(hit) => return Ok(Reached::of(&hit)),
                Err(again) => fault = again,
            }
        }
        debug_assert!(false, "the hypervisor maps {address:#x} again and again, and the walker does not find it");
        Err(Trap { cause: access_fault(access), value: address }.into())
    }

    /// After a shadow fault: where the access goes, or `None` if it is to be made again.
    fn reach_again(&mut self, fault: &Fault, address: u64, access: Access) -> Result<Option<Reached>, Stop> {
        let outcome = match fault {
            Fault::Nested(nested) if self.vm().watches_nested_stores() => Some(self.protected_store(nested)),
            Fault::Page(_) | Fault::Shadow(_) | Fault::Access(_) | Fault::Nested(_) => {
                self.shadow_fault(address, access)
            }
        };
        let cause = match outcome.ok_or(Stop::Leave)? {
            ShadowFaultOutcome::Mapped => return Ok(None),
            ShadowFaultOutcome::Device(gpa) => return Ok(Some(Reached::Device(gpa))),
            ShadowFaultOutcome::StoreOnce(hpa) => match self.host.memory.pointer(hpa) {
                Some(at) => return Ok(Some(Reached::Once(at.as_ptr()))),
                None => access_fault(access),
            },
            ShadowFaultOutcome::PageFault => page_fault(access),
            ShadowFaultOutcome::AccessFault => access_fault(access),
        };
        Err(Trap { cause, value: address }.into())
    }

    #[inline(always)]
    fn translate(&mut self, address: u64, access: Access, stamp: u32) -> Result<Hit, Fault> {
        if self.caches.is_some() {
            return self.translate_through_caches(address, access, stamp);
        }
        self.translate_without_caches(address, access, stamp)
    }

    #[inline(always)]
    fn translate_without_caches(&mut self, address: u64, access: Access, stamp: u32) -> Result<Hit, Fault> {
        let (vm, hart) = (&self.vms[self.current.guest], self.current.hart);
        let mmu = &mut self.processors[self.current.processor].mmu;
        let mut memory = WalkMemory::new(&self.host.memory);
        mmu.access_by(&mut memory, || vm.second_stage_of(hart), Gva(address), access, u64::from(stamp))
    }

    #[cold]
    #[inline(never)]
    fn translate_again(&mut self, address: u64, access: Access, stamp: u32) -> Result<Hit, Fault> {
        self.translate(address, access, stamp)
    }

    /// The same where caches are modelled.
    #[inline(never)]
    fn translate_through_caches(&mut self, address: u64, access: Access, stamp: u32) -> Result<Hit, Fault> {
        let second = self.vm().second_stage_of(self.current.hart);
        let processor = self.current.processor;
        let Self { host, caches: Some(caches), processors, .. } = self else { unreachable!("the caller looked") };
        let mut memory = CachedWalk { memory: &host.memory, caches, processor };
        processors[processor].mmu.access(&mut memory, &second, Gva(address), access, u64::from(stamp))
    }

    /// The double word at a virtual address of the hart that has just made an SBI call, as if the hart had loaded it.
    pub(crate) fn load_for_call(&mut self, address: u64) -> Result<u64, Stop> {
        let stamp = self.processor().rebased_stamp();
        let first = (4096 - (address & 0xfff)).min(8);
        let low = self.load_bytes(address, first, stamp)?;
        if first == 8 {
            return Ok(low);
        }
        let high = self.load_bytes(address.wrapping_add(first), 8 - first, stamp)?;
        Ok(low | high << (8 * first))
    }

    fn reach_ram(&mut self, address: u64, access: Access, stamp: u32) -> Result<*mut u8, Stop> {
        match self.reach(address, access, stamp)? {
            Reached::Ram(_, at) | Reached::Once(at) => Ok(at),
            // No device takes part of a misaligned access.
            Reached::Device(_) => Err(Trap { cause: access_fault(access), value: address }.into()),
        }
    }

    /// A load that is not aligned, or a part of one. It hits no view.
    #[cold]
    fn load_misaligned(&mut self, address: u64, width: Width, split: Split, stamp: u32) -> Result<Loaded, Stop> {
        if split.second != 0 {
            let low = self.load_bytes(address, split.first, stamp)?;
            let high = self.load_bytes(address.wrapping_add(split.first), split.second, stamp)?;
            return Ok(Loaded::Value(low | high << (8 * split.first)));
        }
        match self.reach(address, Access::Read, stamp)? {
            Reached::Ram(_, at) | Reached::Once(at) => {
                self.use_lines(at, width.bytes(), Access::Read);
                // SAFETY: within one page of memory.
                Ok(Loaded::Value(unsafe { read_bytes(at, width.bytes()) }))
            }
            Reached::Device(gpa) => Ok(Loaded::Value(self.load_device(gpa, width, address)?)),
        }
    }

    /// The same of a store.
    #[cold]
    fn store_misaligned(
        &mut self,
        address: u64,
        width: Width,
        value: u64,
        split: Split,
        stamp: u32,
    ) -> Result<Stored, Stop> {
        if split.second != 0 {
            // Both pages are checked before a byte is written; were the first to move while the second comes, the hart would leave.
            let low = self.reach_ram(address, Access::Write, stamp)?;
            let high = self.reach_ram(address.wrapping_add(split.first), Access::Write, stamp)?;
            self.use_lines(low, split.first, Access::Write);
            self.use_lines(high, split.second, Access::Write);
            // SAFETY: each part lies within its page of memory.
            unsafe {
                write_bytes(low, split.first, value);
                write_bytes(high, split.second, value >> (8 * split.first));
            }
            return Ok(Stored::Done([Some(HostPage::containing(low)), Some(HostPage::containing(high))]));
        }
        match self.reach(address, Access::Write, stamp)? {
            Reached::Ram(_, at) | Reached::Once(at) => {
                self.use_lines(at, width.bytes(), Access::Write);
                // SAFETY: within one page of memory.
                Ok(unsafe { store_bytes(at, width, value) })
            }
            Reached::Device(gpa) => self.store_device(gpa, width, value, address),
        }
    }

    fn load_bytes(&mut self, address: u64, bytes: u64, stamp: u32) -> Result<u64, Stop> {
        let at = self.reach_ram(address, Access::Read, stamp)?;
        self.use_lines(at, bytes, Access::Read);
        // SAFETY: the caller stays within the page.
        Ok(unsafe { read_bytes(at, bytes) })
    }

    #[cold]
    fn load_device(&mut self, gpa: Gpa, width: Width, address: u64) -> Result<u64, Trap> {
        self.charge_exit(ExitReason::Mmio);
        self.guest().platform.read(gpa, width).map_err(|_| Trap { cause: Exception::LoadAccess, value: address })
    }

    #[cold]
    fn store_device(&mut self, gpa: Gpa, width: Width, value: u64, address: u64) -> Result<Stored, Stop> {
        self.charge_exit(ExitReason::Mmio);
        self.write_device(gpa, width, value).map_err(|_| Trap { cause: Exception::StoreAccess, value: address })?;
        if devices::map::PRIMARY_REGION.offset(gpa).is_some() {
            self.serve_region(Gva(address));
        }
        // The device's requests may have moved pages, or a balloon given some up.
        Ok(if self.take_leave() { Stored::DoneAndLeave } else { Stored::Done([None, None]) })
    }
}

impl Reached {
    #[inline(always)]
    fn of(hit: &Hit) -> Self {
        match hit.host {
            Some(at) => Self::Ram(hit.slot, at),
            None => Self::Device(hit.gpa),
        }
    }

    /// The predicted slot of an access that has hit an entry; any other outcome is `elsewhere`.
    #[inline(always)]
    fn slot_or(elsewhere: &mut Option<Result<Self, Stop>>, outcome: Result<Self, Stop>) -> Option<u16> {
        if let Ok(Self::Ram(predicted, _)) = outcome {
            return Some(predicted);
        }
        *elsewhere = Some(outcome);
        None
    }
}

/// How a misaligned access divides at a page's end.
#[derive(Clone, Copy)]
struct Split {
    /// Bytes in the first page.
    first: u64,
    /// Bytes in the second; 0 where there is none.
    second: u64,
}

impl Split {
    /// `None` for an aligned access, which never divides.
    #[inline(always)]
    fn of(address: u64, width: Width) -> Option<Self> {
        let bytes = width.bytes();
        (address & (bytes - 1) != 0).then(|| {
            let first = bytes.min(4096 - (address & 0xfff));
            Self { first, second: bytes - first }
        })
    }
}

/// # Safety
/// `bytes`, at most 8, are readable at `at`.
unsafe fn read_bytes(at: *const u8, bytes: u64) -> u64 {
    let mut value = [0; 8];
    // SAFETY: by the contract.
    unsafe { at.copy_to_nonoverlapping(value.as_mut_ptr(), bytes as usize) };
    u64::from_le_bytes(value)
}

/// # Safety
/// `bytes`, at most 8, are writable at `at`.
unsafe fn write_bytes(at: *mut u8, bytes: u64, value: u64) {
    // SAFETY: by the contract.
    unsafe { at.copy_from_nonoverlapping(value.to_le_bytes().as_ptr(), bytes as usize) };
}

/// A store that is complete with this.
///
/// # Safety
/// The bytes of `width` are writable at `at`.
unsafe fn store_bytes(at: *mut u8, width: Width, value: u64) -> Stored {
    // SAFETY: by the contract.
    unsafe { write_bytes(at, width.bytes(), value) };
    Stored::Done([Some(HostPage::containing(at)), None])
}

const fn page_fault(access: Access) -> Exception {
    match access {
        Access::Read => Exception::LoadPage,
        Access::Write => Exception::StorePage,
        Access::Execute => Exception::InstructionPage,
    }
}

const fn access_fault(access: Access) -> Exception {
    match access {
        Access::Read => Exception::LoadAccess,
        Access::Write => Exception::StoreAccess,
        Access::Execute => Exception::InstructionAccess,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_misaligned_accesses_divide() {
        let split = |address, width| Split::of(address, width).map(|split| (split.first, split.second));
        assert_eq!(split(0x1ff8, Width::Double), None);
        assert_eq!(split(0x1ff9, Width::Double), Some((7, 1)));
        assert_eq!(split(0x1ffc, Width::Double), Some((4, 4)));
        assert_eq!(split(0x1001, Width::Word), Some((4, 0)));
    }
}
