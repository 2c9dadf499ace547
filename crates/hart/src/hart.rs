//! One vCPU: its state. The loop that runs it is in `hart/run.rs`.

pub(crate) mod accesses;
pub(crate) mod instructions;
pub(crate) mod observers;
mod run;
mod suspended;
pub(crate) mod transfer;

use crate::{
    Bus, Interrupt, Isa, Trap,
    csr::{Csrs, FloatUnit},
    float::Flags,
    host_page::HostPage,
    leave::Leave,
    trap_loop::{TrapHistory, TrapLoop},
    watch::{Place, StopCause, Watch},
};
use accesses::{AccessLog, PageUse};
use instructions::{InstructionLog, Retired};
use observers::Observers;
use suspended::Suspended;
use transfer::Transfer;
use types::{PagingMode, Privilege, TranslationContext};

/// Why [`Hart::run`] returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// The budget of instructions is used up, or the bus asked the hart to leave ([`Stop::Leave`](crate::Stop::Leave)).
    Budget,
    /// `ecall` from S-mode: an SBI call. `pc` is behind it already.
    SupervisorCall,
    /// `wfi` with no interrupt pending that `sie` lets through.
    Wait,
    /// The HINT `slti x0, x0, N`.
    Marker(u16),
    /// The time of the next timer interrupt is another one: the guest wrote `stimecmp`, or enabled the interrupt in `sie`.
    TimerSet,
    /// `pause`, if [`Isa::spins_exit`].
    Pause,
    /// `wrs.nto`, if [`Isa::spins_exit`].
    ReservationWait,
    /// The hart's [`Watch`] stops it before the instruction at `pc`: [`Hart::resume`] continues the run, which has not ended.
    Stopped(StopCause),
}

/// What a hart has done since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Instructions retired.
    pub instructions: u64,
    /// Loads, load-reserveds among them; not the loads of atomic operations.
    pub loads: u64,
    /// Stores, store-conditionals and atomic operations.
    pub stores: u64,
    /// Page faults that it took in U-mode.
    pub page_faults: u64,
    /// Instructions from each of these on to the next return to U-mode.
    pub page_fault_instructions: u64,
}

/// The sink register, which replaces `x0` as a destination.
pub(crate) const SINK: u8 = 32;

/// The stack pointer.
pub(crate) const STACK_POINTER: u8 = 2;

/// A hart's architectural state.
///
/// It belongs to no pCPU: the caller that runs it provides bus and code cache.
#[repr(C)]
pub struct Hart {
    /// `x0` to `x31`, and the sink that writes to `x0` go to; as long as a byte can index, so that no access needs a bounds check.
    x: [u64; 256],
    /// Virtual address of the page that code is executed from.
    pub(crate) page: u64,
    /// Where the page that code is executed from is in the host's memory.
    pub(crate) host_page: HostPage,
    pub(crate) float_open: bool,
    pub(crate) fflags: Flags,
    /// `fcsr.frm`; valid while `float_open`.
    pub(crate) frm: u8,
    /// `f0` to `f31`; as long as `x` for the same reason.
    pub(crate) f: [u64; 256],
    pub(crate) pc: u64,
    pub(crate) leave: Leave,
    /// Address of the micro-op that the engine was left at.
    pub(crate) at: usize,
    /// Host address of the reservation of LR.
    pub(crate) reservation: Option<usize>,
    pub(crate) privilege: Privilege,
    pub(crate) csrs: Csrs,
    pub(crate) isa: Isa,
    pub(crate) highest_mode: PagingMode,
    counts: Counts,
    traps: TrapHistory,
    /// Instructions that `instret` counts and `counts` does not: those of before a snapshot.
    pub(crate) retired_elsewhere: u64,
    /// Instructions retired before the current run.
    run_start: u64,
    /// Budget of the current entry to the engine; of one that goes on within a block, less by the instructions before.
    entry_budget: i32,
    /// Instructions of the latest entry, if it was left where its budget ended and the hart's `pc` is still there: what a
    /// [sample](crate::CodeCache::sample) weighs.
    sampled: u32,
    /// What looks at it while it executes, if anything does.
    pub(crate) observers: Option<Box<Observers>>,
    /// How the run goes on that a debugger has stopped.
    suspended: Option<Suspended>,
    /// Instructions retired when the page fault of U-mode was taken that has not been returned from.
    faulted: Option<u64>,
}

impl Hart {
    /// Where `x0` lies, in bytes; the others follow it.
    pub(crate) const X: usize = std::mem::offset_of!(Self, x);

    /// A hart in S-mode with translation off, all registers zero. `satp` accepts the modes up to `highest_mode`.
    #[must_use]
    pub fn new(isa: Isa, highest_mode: PagingMode) -> Self {
        let mut hart = Self {
            x: [0; 256],
            page: 0,
            host_page: HostPage::containing(std::ptr::null()),
            float_open: false,
            fflags: Flags::NONE,
            frm: 0,
            f: [0; 256],
            pc: 0,
            leave: Leave::Lookup,
            at: 0,
            reservation: None,
            privilege: Privilege::Supervisor,
            csrs: Csrs::default(),
            isa,
            highest_mode,
            counts: Counts::default(),
            traps: TrapHistory::default(),
            retired_elsewhere: 0,
            run_start: 0,
            entry_budget: 0,
            sampled: 0,
            observers: None,
            suspended: None,
            faulted: None,
        };
        hart.update_float_open();
        hart
    }

    /// What looks at the hart, from now on.
    fn observe(&mut self) -> &mut Observers {
        self.observers.get_or_insert_default()
    }

    /// Keeps the pages that the hart accesses, from now on. It is then slower.
    pub fn log_accesses(&mut self) {
        self.observe().accesses.get_or_insert_default();
    }

    /// The pages that were accessed since this was last asked, in order.
    pub fn take_accesses(&mut self) -> Vec<PageUse> {
        let log = self.observers.as_mut().and_then(|observers| observers.accesses.as_mut());
        log.map(AccessLog::take).unwrap_or_default()
    }

    /// Keeps the instructions that the hart retires, from now on. It is then slower.
    pub fn log_instructions(&mut self) {
        self.observe().instructions.get_or_insert_default();
    }

    /// The instructions that are kept, if they are.
    pub(crate) fn instruction_log(&mut self) -> Option<&mut InstructionLog> {
        self.observers.as_mut()?.instructions.as_mut()
    }

    /// What has retired since this was last asked, in order.
    pub fn take_instructions(&mut self) -> Vec<Retired> {
        let retired = self.counts.instructions;
        self.instruction_log().map(|log| log.take(retired)).unwrap_or_default()
    }

    /// Reports calls, returns and traps to the bus from now on ([`Bus::transfer`]). The hart is then slower.
    pub fn tell_transfers(&mut self) {
        self.observe().transfers = true;
    }

    /// Reports a trap or a return from one to the bus, if transfers are reported.
    pub(crate) fn tell_transfer<B: Bus>(&self, bus: &mut B, transfer: impl FnOnce(u64) -> Transfer) {
        if self.observers.as_ref().is_some_and(|observers| observers.transfers) {
            bus.transfer(transfer(self.register(STACK_POINTER)));
        }
    }

    /// Notes a trap or a return for those who keep instructions.
    fn note_transfer(&mut self, what: Retired) {
        let retired = self.counts.instructions;
        if let Some(log) = self.instruction_log() {
            log.transfer(retired, what);
        }
    }

    /// The hart, counting on from where `former` is: for one that is started again.
    #[must_use]
    pub fn counting_on(self, former: &Self) -> Self {
        Self { counts: former.counts, retired_elsewhere: former.retired_elsewhere, ..self }
    }

    /// The hart, with the pending interrupts and the timer of `former`: for one that wakes from a sleep in which it lost the rest.
    #[must_use]
    pub fn with_interrupts_of(mut self, former: &Self) -> Self {
        self.csrs.pending = former.csrs.pending;
        self.csrs.timer = former.csrs.timer;
        self
    }

    /// Where integer register `number` lies in a hart, in bytes.
    pub(crate) const fn x_offset(number: u8) -> usize {
        std::mem::offset_of!(Self, x) + 8 * number as usize
    }

    /// Where floating-point register `number` lies in a hart, in bytes.
    pub(crate) const fn f_offset(number: u8) -> usize {
        std::mem::offset_of!(Self, f) + 8 * number as usize
    }

    /// Integer register `number`, 0 to 31.
    #[inline(always)]
    #[must_use]
    pub fn register(&self, number: u8) -> u64 {
        debug_assert!(number < SINK);
        self.x[usize::from(number)]
    }

    /// Sets integer register `number`. Decode names the sink where an instruction names `x0`; other callers must not pass 0.
    #[inline(always)]
    pub fn set_register(&mut self, number: u8, value: u64) {
        debug_assert!(number != 0 && number <= SINK, "x0 is constant");
        self.x[usize::from(number)] = value;
    }

    /// Floating-point register `number`, 0 to 31, as its bits.
    #[must_use]
    pub fn float_register(&self, number: u8) -> u64 {
        self.f[usize::from(number)]
    }

    /// Sets floating-point register `number`.
    pub fn set_float_register(&mut self, number: u8, bits: u64) {
        self.f[usize::from(number)] = bits;
    }

    /// `fcsr`.
    #[must_use]
    pub fn fcsr(&self) -> u8 {
        self.frm << 5 | self.fflags.bits()
    }

    /// The address of the next instruction.
    #[must_use]
    pub fn pc(&self) -> u64 {
        self.pc
    }

    /// Goes on at another address.
    pub fn set_pc(&mut self, pc: u64) {
        self.pc = pc;
    }

    /// The next instruction.
    #[must_use]
    pub fn place(&self) -> Place {
        Place { pc: self.pc, retired: self.counts.instructions }
    }

    /// Stops runs from now on as `watch` says; `None`: they do not stop.
    pub fn set_watch(&mut self, watch: Option<Watch>) {
        if watch.is_some() || self.observers.is_some() {
            self.observe().watch = watch;
        }
        if self.observers.as_ref().is_some_and(|observers| observers.is_empty()) {
            self.observers = None;
        }
    }

    /// A debugger has changed `pc` or a CSR of a hart that it has stopped: the run goes on with what these say now, and not within the block.
    pub fn leave_block(&mut self) {
        if let Some(suspended) = &mut self.suspended {
            suspended.forget_place();
        }
    }

    /// The privilege the hart is in.
    #[must_use]
    pub fn privilege(&self) -> Privilege {
        self.privilege
    }

    /// Sets the privilege, for a machine that starts programs in U-mode.
    pub fn set_privilege(&mut self, privilege: Privilege) {
        self.privilege = privilege;
    }

    /// Turns the floating-point unit on, for a machine that starts programs in U-mode.
    pub fn set_float_on(&mut self) {
        self.csrs.float = FloatUnit::Dirty;
        self.update_float_open();
    }

    /// What the hart has done.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Sets what the hart has done, for a machine that replays a recording and executes nothing.
    pub fn set_counts(&mut self, counts: Counts) {
        self.counts = counts;
    }

    /// Raises or lowers a pending interrupt.
    pub fn set_pending(&mut self, interrupt: Interrupt, pending: bool) {
        if pending {
            self.csrs.pending |= interrupt.bit();
        } else {
            self.csrs.pending &= !interrupt.bit();
        }
    }

    /// Whether an interrupt is pending, enabled or not.
    #[must_use]
    pub fn pending(&self, interrupt: Interrupt) -> bool {
        self.csrs.pending & interrupt.bit() != 0
    }

    /// Whether an interrupt is pending that `sie` lets through: what ends `wfi`.
    #[must_use]
    pub fn wakes(&self) -> bool {
        self.csrs.pending & self.csrs.enabled != 0
    }

    /// The time at which the timer interrupt will become pending; `None` if it is pending already, disabled, or not set.
    #[must_use]
    pub fn timer_interrupt(&self) -> Option<u64> {
        let waits = self.csrs.enabled & !self.csrs.pending & Interrupt::Timer.bit() != 0;
        self.csrs.timer.filter(|_| waits)
    }

    /// Sets the timer to `at`, as a write of `stimecmp` and the SBI call do. Its interrupt is pending if `now` has reached `at`, and
    /// cleared if not; both are values of `time` (Sstc, section 2.1; SBI 2.0, section 6.1).
    pub fn set_timer(&mut self, at: u64, now: u64) {
        self.csrs.timer = Some(at);
        self.set_pending(Interrupt::Timer, now >= at);
    }

    /// How loads and stores translate now.
    #[must_use]
    pub fn context(&self) -> TranslationContext {
        self.csrs.context(self.privilege)
    }

    #[inline(always)]
    pub(crate) fn float_open(&self) -> bool {
        self.float_open
    }

    /// To be called after any change of the float unit's state or the rounding mode.
    pub(crate) fn update_float_open(&mut self) {
        self.float_open = self.csrs.float == FloatUnit::Dirty && self.frm <= 4;
    }

    /// Instructions retired in the latest run.
    #[must_use]
    pub fn retired_in_run(&self) -> u64 {
        self.counts.instructions - self.run_start
    }

    /// Instructions retired before this run.
    pub(crate) fn run_start(&self) -> u64 {
        self.run_start
    }

    /// One instruction more is retired, outside the engine.
    pub(crate) fn retire(&mut self) {
        self.counts.instructions += 1;
    }

    /// The SBI call that the hart has just made raises an exception while it reads the guest's memory: the hart takes it at the `ecall`, which
    /// is executed again if the handler returns there (SBI 3.0, chapter 5).
    pub fn fail_call(&mut self, trap: Trap) {
        let pc = self.repeat_call();
        self.take_trap(trap, pc);
    }

    /// The hart executes the `ecall` again that it has just made; returns where that is.
    pub fn repeat_call(&mut self) -> u64 {
        const BYTES: u64 = 4;
        self.pc = self.pc.wrapping_sub(BYTES);
        self.pc
    }

    /// The loop of traps that the hart is in, if it does nothing else.
    #[must_use]
    pub fn trap_loop(&self) -> Option<TrapLoop> {
        self.traps.found(self.counts.instructions, self.csrs.sepc, self.csrs.scause)
    }

    fn take_trap(&mut self, trap: Trap, pc: u64) {
        if self.privilege == Privilege::User && trap.cause.is_page_fault() {
            self.counts.page_faults += 1;
            self.faulted = Some(self.counts.instructions);
        }
        self.enter_handler(trap.cause as u64, trap.value, pc);
    }

    /// Trap entry to S-mode (Privileged 1.13, section 12.1.1).
    fn enter_handler(&mut self, cause: u64, value: u64, pc: u64) {
        self.note_transfer(Retired::Trap { pc });
        self.sampled = 0;
        self.csrs.sepc = pc;
        self.csrs.scause = cause;
        self.csrs.stval = value;
        self.csrs.spie = self.csrs.sie;
        self.csrs.sie = false;
        self.csrs.spp = self.privilege;
        self.privilege = Privilege::Supervisor;
        self.pc = self.csrs.stvec & !3;
    }

    /// Return from S-mode's trap handler.
    pub(crate) fn return_from_handler(&mut self) {
        self.csrs.sie = self.csrs.spie;
        self.csrs.spie = true;
        self.privilege = self.csrs.spp;
        if self.privilege == Privilege::User
            && let Some(since) = self.faulted.take()
        {
            // The return itself retires behind this.
            self.counts.page_fault_instructions += self.counts.instructions + 1 - since;
        }
        self.csrs.spp = Privilege::User;
        self.pc = self.csrs.sepc;
        self.note_transfer(Retired::Return { pc: self.pc });
    }
}
