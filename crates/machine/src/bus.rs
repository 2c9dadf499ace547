//! The machine as a hart sees it: [`hart::Bus`] over the current processor's MMU, the current guest's devices, and host memory.
//!
//! Everything but the three `*_hit` functions is the miss path. A nested fault, or a shadow fault, is handled where it arises: the guest exits,
//! the hypervisor maps the page or finds a device there, the guest enters again and the access is made again.

mod access;
mod bytes;
mod cached;
mod profiled;
mod reached;
mod recorded;
mod replayed;

pub(crate) use cached::{CachedMachine, Overlap, Stalls};
pub(crate) use profiled::Profiled;
pub(crate) use recorded::Recorded;
pub(crate) use replayed::Player;
pub use replayed::{ReplayError, Source};

use crate::state::MachineState;
use crate::state::pmu;
use crate::state::primary_region;
use crate::state::shadow;
use bytes::is_misaligned;
use hart::report::{Outstanding, Report};
use hart::{Bus, CodeView, DataView, EntryLayout, Exception, Fetched, HostPage, Loaded, NoCaches, Stop, Stored, Trap};
use mmu::L1Entry;
use reached::Reached;
use types::{Access, Gva, TranslationContext, Width};

/// The most faults of one access that the hypervisor handles: each entry of the longest walk may need a page of the host, and there are 35 at most.
const MOST_FAULTS: u32 = 64;

impl Bus for MachineState {
    const ENTRY: Option<EntryLayout> = {
        let [base, host, stamp, loads, stores, plain_stores] = L1Entry::OFFSETS;
        Some(EntryLayout {
            shift: size_of::<L1Entry>().ilog2() as u8,
            base,
            host,
            stamp,
            loads,
            stores,
            plain_stores: Some(plain_stores),
            loads_hit_with_stores: true,
            is_aligned: false,
        })
    };

    const FETCHES: bool = true;

    type Lines = NoCaches;

    #[inline(always)]
    fn lines(&mut self) -> NoCaches {
        NoCaches
    }

    /// No caches are modelled.
    #[inline(always)]
    fn use_line(&mut self, _: *const u8, _: Access) {}

    /// This bus takes no reports of instructions.
    #[inline(always)]
    fn report(&mut self, _: u64, _: Report) -> Outstanding {
        Outstanding::NOTHING
    }

    /// This bus has no use for it.
    fn at(&mut self, _: u64, _: u64) {}

    #[inline]
    fn data_view(&mut self) -> DataView {
        DataView(self.processor().mmu.data_view().cast())
    }

    #[inline]
    fn code_view(&mut self) -> CodeView {
        CodeView(self.processor().mmu.fetch_view().cast())
    }

    #[inline]
    fn fetch_clock(&mut self) -> *mut u64 {
        self.processor().mmu.fetch_clock()
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

    #[inline(always)]
    unsafe fn allow_plain_stores(view: DataView, predicted: u16, is_plain: impl FnOnce(*const u8) -> bool) {
        // SAFETY: the caller's contract is the MMU's.
        unsafe { L1Entry::allow_plain_stores(view.0.cast(), predicted, is_plain) }
    }

    fn code_appears(&mut self, page: HostPage) {
        self.processors.iter_mut().for_each(|processor| processor.mmu.forbid_plain_stores(page.start()));
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
        if let Some(pages) = &mut self.exit_pages {
            pages.enter(self.current.processor, context);
        }
        if self.guests[self.current.guest].region.is_some() {
            primary_region::switch(self, context);
        }
        if self.vm().is_shadowed() {
            return shadow::set_context(self, context);
        }
        let vmid = self.vm().vmid();
        self.processor().mmu.set_context(context, vmid);
    }

    fn fence(&mut self, fence: hart::Fence) {
        if self.vm().is_shadowed() {
            shadow::fence(self, fence);
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
        pmu::read_counter(self, counter, retired)
    }

    #[cold]
    fn nested_trap(&mut self) -> u32 {
        let took = self.costs.nested_trap;
        self.processor().traps += took;
        u32::try_from(self.clock().instructions_in(took)).unwrap_or(u32::MAX)
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
        is_misaligned(address, width).then(|| {
            let first = width.bytes().min(4096 - (address & 0xfff));
            Self { first, second: width.bytes() - first }
        })
    }
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
