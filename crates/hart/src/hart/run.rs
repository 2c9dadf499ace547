//! The loop that runs a hart.

use super::{Exit, Hart};
use crate::{
    Bus, CodeCache, Engine, Interrupt, Stop,
    code::jumps::Jump,
    engine::{
        environment::{CodeSource, Environment},
        matching,
    },
    leave::Leave,
    microop::{MicroOp, accumulator},
    ops::Opcode,
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

    /// Runs blocks from `pc` on until the engine is left, and accounts for what it did. `pc` is then the hart's next instruction.
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
        code.remember_jump(Jump { target: self.pc, page: fetched.page, op, predicted: fetched.predicted });
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
        let view = bus.data_view();
        // SAFETY: bus and code are exclusively ours until the engine is left.
        let mut environment = unsafe { Environment::new(bus, code.parts()) };
        // SAFETY: `op` starts a live block, made for this bus; the view is fresh; hart and environment are exclusively ours.
        let acc = unsafe {
            // Only an optimised build makes jumps of the threaded engine's calls.
            if engine != Engine::Matching && !cfg!(debug_assertions) {
                ((*op).handler)(self, op, acc, view, (&raw mut environment).cast())
            } else {
                matching::run(self, op, acc, view, &mut environment)
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

    /// Instructions of this run that were retired before the block that an engine is in.
    pub(crate) fn retired_before_block(&self, acc: u64) -> u64 {
        let in_entry = i64::from(self.entry_budget) - i64::from(accumulator::budget(acc));
        (self.counts.instructions - self.run_start).wrapping_add_signed(in_entry)
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
