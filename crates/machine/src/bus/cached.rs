//! The machine as a hart sees it where caches are modelled: the same, with what each use of a line costs.

use super::bytes::is_misaligned;
use crate::{caches::lines::MachineLines, state::MachineState};
use hart::report::{Outstanding, Report, Reports};
use hart::{Bus, CodeView, DataView, EntryLayout, Fence, Fetched, HostPage, Loaded, Stop, Stored};
use std::marker::PhantomData;
use types::{Access, TranslationContext, Width};

/// How time is kept of what the caches say.
pub(crate) trait TimeModel {
    /// Whether it needs to know of instructions.
    const REPORTS: Reports;
}

/// Each use of a line stalls for its latency: the fidelity `cycles`.
pub(crate) enum Stalls {}

impl TimeModel for Stalls {
    const REPORTS: Reports = Reports::None;
}

/// Uses overlap as an out-of-order core allows: the fidelity `core`.
pub(crate) enum Overlap {}

impl TimeModel for Overlap {
    const REPORTS: Reports = Reports::Instructions;
}

/// A world whose caches are modelled. It is a type of its own so that the engine has a hit path of its own for it, and none of this is in the other.
#[repr(transparent)]
pub(crate) struct CachedMachine<T>(MachineState, PhantomData<T>);

impl<T: TimeModel> CachedMachine<T> {
    /// The same world, seen so.
    pub(crate) fn of(state: &mut MachineState) -> &mut Self {
        // SAFETY: the layout is that of the world alone, and the borrow is handed on.
        unsafe { &mut *(&raw mut *state).cast::<Self>() }
    }

    /// The world.
    #[inline(always)]
    pub(super) fn inner(&mut self) -> &mut MachineState {
        &mut self.0
    }
}

impl<T: TimeModel> Bus for CachedMachine<T> {
    /// An access that is not aligned may use two lines.
    const ENTRY: Option<EntryLayout> = match MachineState::ENTRY {
        Some(layout) => Some(EntryLayout { is_aligned: true, ..layout }),
        None => None,
    };

    const FETCHES: bool = MachineState::FETCHES;

    const REPORTS: Reports = T::REPORTS;

    type Lines = MachineLines;

    fn lines(&mut self) -> MachineLines {
        let processor = self.0.current.processor;
        let core = self.0.cores.as_mut().map(|cores| cores.state(processor));
        self.0.caches.as_mut().expect("this machine has caches").lines(processor, core.as_ref())
    }

    #[inline(never)]
    fn use_line(&mut self, at: *const u8, access: Access) {
        self.0.use_line(at, access);
    }

    #[inline(always)]
    fn report(&mut self, retired: u64, report: Report) -> Outstanding {
        self.0.report(retired, report)
    }

    /// This bus has no use for it.
    fn at(&mut self, _: u64, _: u64) {}

    #[inline]
    fn data_view(&mut self) -> DataView {
        self.0.data_view()
    }

    #[inline]
    fn code_view(&mut self) -> CodeView {
        self.0.code_view()
    }

    #[inline]
    fn fetch_clock(&mut self) -> *mut u64 {
        self.0.fetch_clock()
    }

    fn stamp(&mut self) -> u32 {
        self.0.stamp()
    }

    fn set_stamp(&mut self, stamp: u32) {
        self.0.set_stamp(stamp);
    }

    #[inline(always)]
    unsafe fn read_hit(view: DataView, predicted: u16, address: u64, width: Width, stamp: u32) -> Option<*const u8> {
        if is_misaligned(address, width) {
            return None;
        }
        // SAFETY: the caller's contract is the world's.
        unsafe { MachineState::read_hit(view, predicted, address, width, stamp) }
    }

    #[inline(always)]
    unsafe fn write_hit(view: DataView, predicted: u16, address: u64, width: Width, stamp: u32) -> Option<*mut u8> {
        if is_misaligned(address, width) {
            return None;
        }
        // SAFETY: the caller's contract is the world's.
        unsafe { MachineState::write_hit(view, predicted, address, width, stamp) }
    }

    #[inline(always)]
    unsafe fn fetch_hit(&mut self, view: CodeView, predicted: u16, address: u64, page: HostPage) -> bool {
        // SAFETY: the caller's contract is the world's.
        unsafe { self.0.fetch_hit(view, predicted, address, page) }
    }

    #[inline(always)]
    unsafe fn allow_plain_stores(view: DataView, predicted: u16, is_plain: impl FnOnce(*const u8) -> bool) {
        // SAFETY: the caller's contract is the world's.
        unsafe { MachineState::allow_plain_stores(view, predicted, is_plain) }
    }

    fn code_appears(&mut self, page: HostPage) {
        self.0.code_appears(page);
    }

    #[inline]
    fn load_miss(&mut self, address: u64, width: Width, predicted: &mut u16, stamp: u32) -> Result<Loaded, Stop> {
        self.0.load_miss(address, width, predicted, stamp)
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
        self.0.store_miss(address, width, value, predicted, stamp)
    }

    fn atomic_miss(
        &mut self,
        address: u64,
        width: Width,
        access: Access,
        predicted: &mut u16,
        stamp: u32,
    ) -> Result<hart::Reached, Stop> {
        self.0.atomic_miss(address, width, access, predicted, stamp)
    }

    fn fetch(&mut self, address: u64) -> Result<Fetched, Stop> {
        self.0.fetch(address)
    }

    fn set_context(&mut self, context: &TranslationContext) {
        self.0.set_context(context);
    }

    fn fence(&mut self, fence: Fence) {
        self.0.fence(fence);
    }

    fn foreign_writes(&mut self, written: &mut dyn FnMut(*const u8, usize)) {
        self.0.foreign_writes(written);
    }

    fn time(&mut self, retired: u64) -> u64 {
        self.0.time(retired)
    }

    fn cycle(&mut self, retired: u64) -> u64 {
        self.0.cycle(retired)
    }

    fn external_interrupt(&mut self) -> bool {
        self.0.external_interrupt()
    }

    fn counter(&mut self, counter: u32, retired: u64) -> Option<u64> {
        self.0.counter(counter, retired)
    }

    fn nested_trap(&mut self) -> u32 {
        self.0.nested_trap()
    }
}
