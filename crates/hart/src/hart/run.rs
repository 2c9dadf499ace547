//! The loop that runs a hart.

use super::suspended::{Entry, Suspended, SuspendedAt};
use super::transfer::Transfer;
use super::{Exit, Hart};
use crate::{
    Bus, CodeCache, Engine, Interrupt, Sites, Stop,
    bus::DataView,
    code::jumps::Jump,
    engine::{
        environment::{CodeSource, Environment},
        matching,
        sentry::Unwatched,
        threaded,
    },
    leave::Leave,
    microop::{MicroOp, accumulator},
    ops::Opcode,
    report::{Report, Reports, Serialize},
};
use types::Privilege;

impl Hart {
    /// Runs until about `budget` instructions are retired (the last block may go over it by 64), or something asks for the
    /// caller's attention.
    pub fn run<B: Bus>(&mut self, code: &mut CodeCache<B>, bus: &mut B, budget: u32, engine: Engine) -> Exit {
        // Others may have run since, and stored to where the reservation is.
        self.reservation = None;
        bus.foreign_writes(&mut |at, bytes| code.written(at, bytes));
        self.run_start = self.counts.instructions;
        self.suspended = None;
        self.run_from(code, bus, Suspended { at: SuspendedAt::Pc, left: i64::from(budget) }, engine)
    }

    /// Goes on with the run that [`Exit::Stopped`] has interrupted, to the end that it would have come to without the stop. Its caller has run
    /// no other hart with `code` since. Where no run is interrupted, it returns [`Exit::Budget`].
    pub fn resume<B: Bus>(&mut self, code: &mut CodeCache<B>, bus: &mut B, engine: Engine) -> Exit {
        match self.suspended.take() {
            Some(suspended) => self.run_from(code, bus, suspended, engine),
            None => Exit::Budget,
        }
    }

    fn run_from<B: Bus>(&mut self, code: &mut CodeCache<B>, bus: &mut B, from: Suspended, engine: Engine) -> Exit {
        // Traps taken use up budget too, so that a guest whose trap handler traps comes to an end.
        let Suspended { mut at, mut left } = from;
        // An engine goes on with a budget of 0 exactly. Where it leaves only to look up a fetch, so does this loop: how long a run is does not
        // depend on what the fetch TLB holds.
        let mut looks_up = false;
        loop {
            bus.set_context(&self.context());
            let retired = self.counts.instructions;
            let left_with = match std::mem::replace(&mut at, SuspendedAt::Pc) {
                SuspendedAt::Pc => {
                    if left < i64::from(!std::mem::take(&mut looks_up)) {
                        return Exit::Budget;
                    }
                    if self.pending(Interrupt::External) {
                        self.set_pending(Interrupt::External, bus.external_interrupt());
                    }
                    if let Some(interrupt) = self.due_interrupt() {
                        self.take_interrupt(interrupt);
                        self.tell_trap(bus);
                        self.report(bus, Report::Serialize(Serialize::Trap));
                        left -= self.trap_time(bus);
                        continue;
                    }
                    let budget = left.min(i64::from(accumulator::MAX_BUDGET)) as u32;
                    let left_with = self.enter(code, bus, budget, engine);
                    looks_up = matches!(left_with, Ok(Leave::Lookup));
                    self.after_engine(code, bus, left_with, engine)
                }
                SuspendedAt::Block(entry) => {
                    // Handlers of the other engines expect to be entered at the start of a block.
                    self.execute_from(code, bus, entry, Engine::Matching);
                    let left_with = Ok(self.leave);
                    looks_up = self.leave == Leave::Lookup;
                    self.after_engine(code, bus, left_with, engine)
                }
                SuspendedAt::Instruction(bits) => {
                    self.step_bits(code, bus, bits, engine).map_err(|stop| (stop, self.pc))
                }
            };
            left -= (self.counts.instructions - retired) as i64;
            match left_with {
                Ok(None) => {}
                Ok(Some(Exit::Stopped(cause))) => {
                    if let Some(suspended) = &mut self.suspended {
                        suspended.left = left;
                    }
                    return Exit::Stopped(cause);
                }
                #[cfg(feature = "planted")]
                Ok(Some(Exit::Marker(number))) if code.attack(self, number) => {}
                Ok(Some(exit)) => {
                    self.report(bus, Report::Serialize(Serialize::Fence));
                    bus.set_context(&self.context());
                    return exit;
                }
                Err((Stop::Trap(trap), pc)) => {
                    self.take_trap(trap, pc);
                    self.tell_trap(bus);
                    self.report(bus, Report::Serialize(Serialize::Trap));
                    left -= self.trap_time(bus);
                }
                Err((Stop::Leave, _)) => return Exit::Budget,
            }
        }
    }

    /// What the run loop does once an engine is left; an error has the address of the instruction.
    fn after_engine<B: Bus>(
        &mut self,
        code: &mut CodeCache<B>,
        bus: &mut B,
        left_with: Result<Leave, Stop>,
        engine: Engine,
    ) -> Result<Option<Exit>, (Stop, u64)> {
        match left_with {
            Ok(Leave::Step) => self.step(code, bus, engine).map_err(|stop| (stop, self.pc)),
            Ok(Leave::Trap(trap)) => Err((Stop::Trap(trap), self.pc)),
            Ok(Leave::Fetch(stop)) => Err((stop, self.pc)),
            Ok(Leave::Again) => Err((Stop::Leave, self.pc)),
            Ok(Leave::Budget | Leave::Lookup) => Ok(None),
            Ok(Leave::Stopped(cause)) => Ok(Some(Exit::Stopped(cause))),
            Err(stop) => Err((stop, self.pc)),
        }
    }

    /// Reports something of the next instruction, outside the engines. They take it that something is outstanding when they begin.
    pub(crate) fn report<B: Bus>(&self, bus: &mut B, report: Report) {
        if B::REPORTS == Reports::Instructions {
            let _ = bus.report(self.counts.instructions - self.run_start, report);
        }
    }

    /// Runs blocks from `pc` on until the engine is left, and accounts for what it did. `pc` is then the hart's next instruction.
    fn enter<B: Bus>(
        &mut self,
        code: &mut CodeCache<B>,
        bus: &mut B,
        budget: u32,
        engine: Engine,
    ) -> Result<Leave, Stop> {
        if B::SITES == Sites::Needed {
            bus.at(self.pc, self.retired_in_run());
        }
        let fetched = bus.fetch(self.pc)?;
        self.report(bus, Report::Fetched(self.pc));
        let offset = (self.pc & 0xfff) as u16;
        if let Engine::Compiled(hotness) = engine {
            code.sample(fetched.page, self.pc, std::mem::take(&mut self.sampled), hotness);
        }
        let op = code.find(fetched.page, offset).or_else(|| {
            code.clear();
            code.find(fetched.page, offset)
        });
        let op = op.expect("an empty arena has room for a block");
        while let Some(page) = code.take_code_page() {
            bus.code_appears(page);
        }
        self.page = self.pc & !0xfff;
        self.host_page = fetched.page;
        code.found(self.pc, fetched.predicted);
        code.remember_jump(Jump { target: self.pc, page: fetched.page, op });
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
        self.execute_from(
            code,
            bus,
            Entry { op: op as usize, budget: budget as i32, instructions: 0, stores: 0 },
            engine,
        );
    }

    /// The same of an entry that may be in the middle of its block.
    fn execute_from<B: Bus>(&mut self, code: &mut CodeCache<B>, bus: &mut B, entry: Entry, engine: Engine) {
        let (op, budget) = (entry.op as *mut MicroOp, entry.budget);
        let start = bus.stamp();
        let acc = accumulator::start(budget as u32, start);
        self.entry_budget = budget - i32::from(entry.instructions);
        let view = bus.data_view();
        // SAFETY: bus and code are exclusively ours until the engine is left.
        let mut environment = unsafe { Environment::new(bus, code.parts()) };
        // SAFETY: `op` starts a live block, made for this bus; the view is fresh; hart and environment are exclusively ours.
        let acc = unsafe {
            // Only an optimised build makes jumps of the threaded engine's calls.
            if self.observers.is_some() {
                self.run_observed(op, acc, view, &mut environment)
            } else if engine != Engine::Matching && !cfg!(debug_assertions) {
                threaded::enter(self, op, acc, view, (&raw mut environment).cast())
            } else {
                matching::run(self, op, acc, view, &mut environment, &mut Unwatched)
            }
        };
        let accesses = i64::from(accumulator::stamp(acc).wrapping_sub(start));
        let mut instructions = i64::from(self.entry_budget) - i64::from(accumulator::budget(acc));
        let mut stores = i64::from(accumulator::stores(acc)) - i64::from(entry.stores);
        if matches!(self.leave, Leave::Trap(_) | Leave::Step | Leave::Again | Leave::Stopped(_)) {
            let side = code.side_of(self.at);
            self.pc = self.page + u64::from(side.offset);
            instructions += i64::from(side.instructions);
            stores += i64::from(side.stores);
            if matches!(self.leave, Leave::Stopped(_)) {
                let (op, budget) = (self.at, accumulator::budget(acc));
                let entry = Entry { op, budget, instructions: side.instructions, stores: side.stores };
                self.suspended = Some(Suspended { at: SuspendedAt::Block(entry), left: 0 });
            }
        }
        bus.set_stamp(accumulator::stamp(acc));
        self.sampled = if self.leave == Leave::Budget { instructions as u32 } else { 0 };
        self.counts.instructions = self.counts.instructions.wrapping_add_signed(instructions);
        self.counts.stores = self.counts.stores.wrapping_add_signed(stores);
        self.counts.loads = self.counts.loads.wrapping_add_signed(accesses - stores);
    }

    /// Executes from `op` until an observer stops the hart, or the engine is left.
    ///
    /// # Safety
    /// As of [`matching::run`].
    #[cold]
    unsafe fn run_observed<B: Bus>(
        &mut self,
        op: *mut MicroOp,
        acc: u64,
        view: DataView,
        environment: &mut Environment<B>,
    ) -> u64 {
        let Some(mut observers) = self.observers.take() else { return acc };
        // SAFETY: by the contract.
        let acc = unsafe { matching::run(self, op, acc, view, environment, &mut *observers) };
        if let Some(log) = &mut observers.accesses {
            log.settle(accumulator::stamp(acc));
        }
        self.observers = Some(observers);
        acc
    }

    /// The run loop's instruction, of these bits, was stopped before it was executed.
    pub(crate) fn suspend_step(&mut self, bits: u32) {
        self.suspended = Some(Suspended { at: SuspendedAt::Instruction(bits), left: 0 });
    }

    /// Instructions of this run that were retired before the block that an engine is in.
    pub(crate) fn retired_before_block(&self, acc: u64) -> u64 {
        self.instructions_at(acc) - self.run_start
    }

    /// Instructions that were retired before the block that an engine is in.
    pub(crate) fn instructions_at(&self, acc: u64) -> u64 {
        let in_entry = i64::from(self.entry_budget) - i64::from(accumulator::budget(acc));
        self.counts.instructions.wrapping_add_signed(in_entry)
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

    /// Reports the trap that was just taken to the bus, if transfers are reported.
    fn tell_trap<B: Bus>(&self, bus: &mut B) {
        self.tell_transfer(bus, |sp| Transfer::Trap { pc: self.csrs.sepc, sp });
    }

    fn take_interrupt(&mut self, interrupt: Interrupt) {
        let code = interrupt as u64;
        self.enter_handler(1 << 63 | code, 0, self.pc);
        if self.csrs.stvec & 1 != 0 {
            self.pc = self.pc.wrapping_add(4 * code);
        }
    }

    /// Whether the opcode at the micro-op the engine was left at is `opcode`.
    pub(crate) fn left_at<B: Bus>(&self, code: &CodeCache<B>, opcode: Opcode) -> bool {
        code.side_of(self.at).opcode == opcode
    }
}
