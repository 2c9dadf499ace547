//! One logical processor: its state, and the loop that runs it.

use crate::{
    Bus, CodeCache, Engine, Interrupt, Isa, Stop, Trap,
    code::{HostPage, Jump},
    csr::{Csrs, FloatUnit},
    engine::{Environment, Leave, matching},
    float::Flags,
    microop::{MicroOp, SINK, accumulator},
    ops::Opcode,
    trap_loop::{TrapHistory, TrapLoop},
};
use types::{PagingMode, Privilege, TranslationContext};

/// Why [`Hart::run`] returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// The budget of instructions is used up, or the bus asked the hart to leave ([`Stop::Leave`]).
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
}

/// A hart's architectural state.
///
/// It belongs to no real processor: whoever runs it brings bus and code cache along.
#[repr(C)]
pub struct Hart {
    /// `x0` to `x31`, and the sink that writes to `x0` go to; as long as a byte can index, so that no access needs a bounds check.
    x: [u64; 256],
    /// Virtual address of the page that code is executed from.
    pub(crate) page: u64,
    /// The same page in the host's memory.
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
    /// Budget of the current entry to the engine.
    entry_budget: u32,
    /// Instructions of the latest entry, if it was left where its budget ended and the hart still stands there: what a
    /// [sample](CodeCache::sample) weighs.
    sampled: u32,
}

impl Hart {
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
        };
        hart.update_float_open();
        hart
    }

    /// The hart, counting on from where `former` is: for one that is started anew.
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

    /// Runs until about `budget` instructions are retired (the last block may go over it by 64), or something asks for the
    /// caller's attention.
    pub fn run<B: Bus>(&mut self, code: &mut CodeCache<B>, bus: &mut B, budget: u32, engine: Engine) -> Exit {
        // Others may have run since, and stored to where the reservation is.
        self.reservation = None;
        bus.foreign_writes(&mut |at, bytes| code.written(at, bytes));
        self.run_start = self.counts.instructions;
        // Traps taken use up budget too, so that a guest whose trap handler traps comes to an end.
        let mut left = i64::from(budget);
        loop {
            bus.set_context(&self.context());
            if left <= 0 {
                return Exit::Budget;
            }
            if self.pending(Interrupt::External) {
                self.set_pending(Interrupt::External, bus.external_interrupt());
            }
            if let Some(interrupt) = self.due_interrupt() {
                self.take_interrupt(interrupt);
                left -= self.trap_time(bus);
                continue;
            }
            let retired = self.counts.instructions;
            let left_with = match self.enter(code, bus, left.min(i64::from(accumulator::MAX_BUDGET)) as u32, engine) {
                Ok(Leave::Step) => self.step(code, bus, engine).map_err(|stop| (stop, self.pc)),
                Ok(Leave::Trap(trap)) => Err((Stop::Trap(trap), self.pc)),
                Ok(Leave::Again) => Err((Stop::Leave, self.pc)),
                Ok(Leave::Budget | Leave::Lookup) => Ok(None),
                Err(stop) => Err((stop, self.pc)),
            };
            left -= (self.counts.instructions - retired) as i64;
            match left_with {
                Ok(None) => {}
                #[cfg(feature = "planted")]
                Ok(Some(Exit::Marker(number))) if code.attack(self, number) => {}
                Ok(Some(exit)) => {
                    bus.set_context(&self.context());
                    return exit;
                }
                Err((Stop::Trap(trap), pc)) => {
                    self.take_trap(trap, pc);
                    left -= self.trap_time(bus);
                }
                Err((Stop::Leave, _)) => return Exit::Budget,
            }
        }
    }

    /// Runs blocks from `pc` on until the engine is left, and accounts for what it did. `pc` is then where the hart stands.
    fn enter<B: Bus>(
        &mut self,
        code: &mut CodeCache<B>,
        bus: &mut B,
        budget: u32,
        engine: Engine,
    ) -> Result<Leave, Stop> {
        let fetched = bus.fetch(self.pc)?;
        let offset = (self.pc & 0xfff) as u16;
        if let Engine::Compiled(hotness) = engine {
            code.sample(fetched.page, offset, std::mem::take(&mut self.sampled), hotness);
        }
        let op = code.find(fetched.page, offset).or_else(|| {
            code.clear();
            code.find(fetched.page, offset)
        });
        let op = op.expect("an empty arena has room for a block");
        self.page = self.pc & !0xfff;
        self.host_page = fetched.page;
        code.remember_jump(Jump { target: self.pc, page: fetched.page, op, site: fetched.site });
        self.execute(code, bus, op, budget, engine);
        Ok(self.leave)
    }

    /// Executes from `op` on, and accounts for it.
    pub(crate) fn execute<B: Bus>(
        &mut self,
        code: &mut CodeCache<B>,
        bus: &mut B,
        op: *mut MicroOp,
        budget: u32,
        engine: Engine,
    ) {
        let start = bus.stamp();
        let acc = accumulator::start(budget, start);
        self.entry_budget = budget;
        let window = bus.data_window();
        let mut environment = Environment::new(bus, code);
        // SAFETY: `op` starts a live block, made for this bus; the window is fresh; hart and environment are exclusively ours.
        let acc = unsafe {
            // Only an optimised build makes jumps of the threaded engine's calls.
            if engine != Engine::Matching && !cfg!(debug_assertions) {
                ((*op).handler)(self, op, acc, window, (&raw mut environment).cast())
            } else {
                matching::run(self, op, acc, window, &mut environment)
            }
        };
        let accesses = u64::from(accumulator::stamp(acc).wrapping_sub(start));
        let mut instructions = i64::from(budget) - i64::from(accumulator::budget(acc));
        let mut stores = u64::from(accumulator::stores(acc));
        if matches!(self.leave, Leave::Trap(_) | Leave::Step | Leave::Again) {
            let side = code.side_of(self.at);
            self.pc = self.page + u64::from(side.offset);
            instructions += i64::from(side.instructions);
            stores += u64::from(side.stores);
        }
        bus.set_stamp(accumulator::stamp(acc));
        self.sampled = if self.leave == Leave::Budget { instructions as u32 } else { 0 };
        self.counts.instructions += instructions as u64;
        self.counts.stores += stores;
        self.counts.loads += accesses - stores;
    }

    /// Instructions retired before this run.
    pub(crate) fn run_start(&self) -> u64 {
        self.run_start
    }

    /// Instructions of this run that were retired before the block that an engine is in.
    pub(crate) fn retired_before_block(&self, acc: u64) -> u64 {
        let in_entry = i64::from(self.entry_budget) - i64::from(accumulator::budget(acc));
        (self.counts.instructions - self.run_start).wrapping_add_signed(in_entry)
    }

    /// One instruction more is retired, outside the engine.
    pub(crate) fn retire(&mut self) {
        self.counts.instructions += 1;
    }

    /// The interrupt to take now, if any.
    fn due_interrupt(&self) -> Option<Interrupt> {
        let due = self.csrs.pending & self.csrs.enabled;
        let open = self.privilege == Privilege::User || self.csrs.sie;
        (due != 0 && open).then(|| Interrupt::PRIORITY.into_iter().find(|i| due & i.bit() != 0)).flatten()
    }

    /// What the trap that was just taken uses up of the budget.
    fn trap_time<B: Bus>(&mut self, bus: &mut B) -> i64 {
        let nested = self.traps.taken(self.counts.instructions);
        1 + if nested { i64::from(bus.nested_trap()) } else { 0 }
    }

    /// The SBI call that the hart has just made meets an exception while it reads the guest's memory: the hart takes it at the `ecall`, which
    /// is executed anew if the handler returns there (SBI 3.0, chapter 5).
    pub fn fail_call(&mut self, trap: Trap) {
        let pc = self.repeat_call();
        self.take_trap(trap, pc);
    }

    /// The hart executes the `ecall` anew that it has just made; returns where that is.
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

    fn take_interrupt(&mut self, interrupt: Interrupt) {
        let code = interrupt as u64;
        self.enter_handler(1 << 63 | code, 0, self.pc);
        if self.csrs.stvec & 1 != 0 {
            self.pc = self.pc.wrapping_add(4 * code);
        }
    }

    fn take_trap(&mut self, trap: Trap, pc: u64) {
        self.enter_handler(trap.cause as u64, trap.value, pc);
    }

    /// Trap entry to S-mode (Privileged 1.13, section 12.1.1).
    fn enter_handler(&mut self, cause: u64, value: u64, pc: u64) {
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
        self.csrs.spp = Privilege::User;
        self.pc = self.csrs.sepc;
    }

    /// Whether the opcode at the micro-op the engine was left at is `opcode`.
    pub(crate) fn left_at<B: Bus>(&self, code: &CodeCache<B>, opcode: Opcode) -> bool {
        code.side_of(self.at).opcode == opcode
    }
}
