//! The machine as a hart sees it where it is profiled or traced: the same, and what each call changes is charged.

use super::cached::{CachedMachine, TimeModel};
use crate::state::{MachineState, pages, profile};
use hart::report::{Outstanding, Report, Reports};
use hart::{Bus, CodeView, DataView, EntryLayout, Fence, Fetched, HostPage, Loaded, Sites, Stop, Stored, Transfer};
use types::{Access, TranslationContext, Width};

/// A way to see a machine.
pub(crate) trait View: Bus {
    /// The machine.
    fn state(&mut self) -> &mut MachineState;
}

impl View for MachineState {
    #[inline(always)]
    fn state(&mut self) -> &mut MachineState {
        self
    }
}

impl<T: TimeModel> View for CachedMachine<T> {
    #[inline(always)]
    fn state(&mut self) -> &mut MachineState {
        self.inner()
    }
}

/// A machine that is profiled, or traced. It is a type of its own so that the engines have a miss path of their own for it, and none of this is in the others.
#[repr(transparent)]
pub(crate) struct Profiled<V>(V);

impl<V: View> Profiled<V> {
    /// The same view, seen so.
    pub(crate) fn of(view: &mut V) -> &mut Self {
        // SAFETY: the layout is that of the view alone, and the borrow is handed on.
        unsafe { &mut *(&raw mut *view).cast::<Self>() }
    }

    /// Makes an access, and charges what it changes to the instruction that the hart is at.
    #[inline(always)]
    fn charged<R>(&mut self, address: u64, access: Access, made: impl FnOnce(&mut V) -> R) -> R {
        let mark = profile::mark(self.0.state(), access);
        let result = made(&mut self.0);
        let state = self.0.state();
        if state.pages.is_some() {
            pages::missed(state, mark, address, access);
        }
        profile::charge(state, mark, address, access);
        result
    }

    /// Charges what has changed beside accesses.
    fn sweep(&mut self) {
        let state = self.0.state();
        let current = state.current;
        profile::sweep(state, current.processor, current.guest);
    }
}

impl<V: View> Bus for Profiled<V> {
    const ENTRY: Option<EntryLayout> = V::ENTRY;

    const FETCHES: bool = V::FETCHES;
    const REPORTS: Reports = V::REPORTS;
    const SITES: Sites = Sites::Needed;

    type Lines = V::Lines;

    #[inline(always)]
    fn lines(&mut self) -> V::Lines {
        self.0.lines()
    }

    #[inline]
    fn use_line(&mut self, at: *const u8, access: Access) {
        self.0.use_line(at, access);
    }

    #[inline]
    fn at(&mut self, pc: u64, retired: u64) {
        let state = self.0.state();
        state.note_place(retired);
        // What a core's clock says depends on the latest report, and engines differ in which reports they leave out. The time before an instruction
        // does not.
        state.settle_core(retired);
        profile::at(state, pc);
    }

    #[inline]
    fn report(&mut self, retired: u64, report: Report) -> Outstanding {
        self.0.report(retired, report)
    }

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
        // SAFETY: the caller's contract is the view's.
        unsafe { V::read_hit(view, predicted, address, width, stamp) }
    }

    #[inline(always)]
    unsafe fn write_hit(view: DataView, predicted: u16, address: u64, width: Width, stamp: u32) -> Option<*mut u8> {
        // SAFETY: the caller's contract is the view's.
        unsafe { V::write_hit(view, predicted, address, width, stamp) }
    }

    #[inline(always)]
    unsafe fn fetch_hit(&mut self, view: CodeView, predicted: u16, address: u64, page: HostPage) -> bool {
        // SAFETY: the caller's contract is the view's.
        unsafe { self.0.fetch_hit(view, predicted, address, page) }
    }

    #[inline(always)]
    unsafe fn allow_plain_stores(view: DataView, predicted: u16, is_plain: impl FnOnce(*const u8) -> bool) {
        // SAFETY: the caller's contract is the view's.
        unsafe { V::allow_plain_stores(view, predicted, is_plain) }
    }

    fn code_appears(&mut self, page: HostPage) {
        self.0.code_appears(page);
    }

    fn load_miss(&mut self, address: u64, width: Width, predicted: &mut u16, stamp: u32) -> Result<Loaded, Stop> {
        self.charged(address, Access::Read, |view| view.load_miss(address, width, predicted, stamp))
    }

    fn store_miss(
        &mut self,
        address: u64,
        width: Width,
        value: u64,
        predicted: &mut u16,
        stamp: u32,
    ) -> Result<Stored, Stop> {
        self.charged(address, Access::Write, |view| view.store_miss(address, width, value, predicted, stamp))
    }

    fn atomic_miss(
        &mut self,
        address: u64,
        width: Width,
        access: Access,
        predicted: &mut u16,
        stamp: u32,
    ) -> Result<hart::Reached, Stop> {
        self.charged(address, access, |view| view.atomic_miss(address, width, access, predicted, stamp))
    }

    /// A fetch is charged to the instruction that is fetched.
    fn fetch(&mut self, address: u64) -> Result<Fetched, Stop> {
        profile::at(self.0.state(), address);
        self.charged(address, Access::Execute, |view| view.fetch(address))
    }

    fn set_context(&mut self, context: &TranslationContext) {
        let before = self.0.state().processor().hypervisor;
        self.0.set_context(context);
        if self.0.state().processor().hypervisor != before {
            // The switch is of the instruction in the old space that has asked for it.
            self.sweep();
        }
        profile::enter(self.0.state(), context);
        pages::enter(self.0.state(), context);
    }

    fn fence(&mut self, fence: Fence) {
        self.0.fence(fence);
        self.sweep();
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

    fn transfer(&mut self, transfer: Transfer) {
        profile::transfer(self.0.state(), &transfer);
    }

    fn nested_trap(&mut self) -> u32 {
        self.0.nested_trap()
    }
}
