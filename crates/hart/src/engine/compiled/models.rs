//! Modelled caches, and the reports of instructions to a modelled core, in compiled code.
//!
//! A use of the line that was used last in its set changes nothing in a cache, and most instructions need no report: compiled code sees both by itself, by
//! the [layout](crate::code::models) of the models, and calls what the interpreters do ([`called`]) where it is otherwise. What is outstanding in the core
//! is a value of the compiler's. Only the functions that are called change it, so that it is read again behind each call.

use super::{
    super::operands::Operands,
    Call, called,
    emit::{Emitter, PLAIN},
};
use crate::{
    Bus, CacheLines,
    code::models::{BranchLayout, ModelLayout, RowLayout, StateOffsets},
    engine::environment::Environment,
    hart::{Hart, SINK},
    microop::{MicroOp, accumulator},
    ops::{Class, Opcode},
    report::{Outstanding, RegisterSet, Reports},
};
use cranelift_codegen::ir::{
    InstBuilder, Value,
    condcodes::IntCC,
    types::{I32, I64},
};
use std::mem::offset_of;
use types::PageGroups;

impl<B: Bus> Emitter<'_, '_, B> {
    /// Whether lines are modelled.
    pub(super) fn is_modelled(&self) -> bool {
        self.models().is_some()
    }

    /// The layout of the models, and where their state is, if there are any.
    fn models(&self) -> Option<(ModelLayout, StateOffsets)> {
        Some((*self.code.models()?, B::Lines::STATE?))
    }

    /// The access at `slot` has hit the byte at `at`: it uses the line there.
    pub(super) fn use_data_line(&mut self, slot: usize, address: Value, at: Value) {
        let Some((models, state)) = self.models() else { return };
        let RowLayout { line_shift, set_mask, ways } = models.data;
        let base = self.constant(models.base as i64);
        let offset = self.f.ins().isub(at, base);
        let line = self.f.ins().ushr_imm_u(offset, i64::from(line_shift));
        let set = self.f.ins().band_imm_u(line, i64::from(set_mask));
        let row = self.f.ins().imul_imm_u(set, i64::from(ways) * 4);
        let rows = self.state(state.data_rows);
        let row = self.f.ins().iadd(rows, row);
        let latest = self.f.ins().load(I32, PLAIN, row, 0);
        let line = self.f.ins().ireduce(I32, line);
        let differs = self.f.ins().bxor(latest, line);
        let differs = self.f.ins().uextend(I64, differs);
        let (opcode, op) = self.code.slot(slot);
        let (class, names) = (opcode.class(), Operands::reported(opcode, op).registers());
        let stores = matches!(class, Class::store | Class::float_store);
        let function = match class {
            Class::store => called::store::<B>,
            Class::float_store => called::float_store::<B>,
            Class::float_load => called::float_load::<B>,
            _ => called::load::<B>,
        };
        let report = |emitter: &mut Self| {
            emitter.exchange_at(at);
            emitter.report(function, slot, address);
        };
        let Some(core) = models.core else { return self.rarely(differs, report) };
        let outstanding = self.f.use_var(self.outstanding);
        let matters = self.f.ins().bor(differs, outstanding);
        if stores {
            return self.rarely(matters, report);
        }
        // A load of a busy core has an effect where it names a register that waits, or where its line or a page is under way.
        let [busy, next] = [(); 2].map(|()| self.f.create_block());
        self.f.ins().brif(matters, busy, &[], next, &[]);
        self.begin(busy);
        let waits = self.waits_for(names);
        let mut matters = self.f.ins().bor(differs, waits);
        let line = self.f.ins().ushr_imm_u(offset, i64::from(core.under_way.line_shift));
        let group = self.f.ins().band_imm_u(line, core.under_way.mask as i64);
        let entry = self.f.ins().ishl_imm_u(group, 1);
        for table in state.under_way {
            let table = self.state(table);
            let at = self.f.ins().iadd(table, entry);
            let count = self.f.ins().uload16(I64, PLAIN, at, 0);
            matters = self.f.ins().bor(matters, count);
        }
        let environment = self.environment();
        let walks = (offset_of!(Environment<B>, outstanding) + offset_of!(Outstanding, walks)) as i32;
        let walks = self.f.ins().load(I64, PLAIN, environment, walks);
        // A shift is by the lowest six bits of the page's number, which are its group.
        let page = self.f.ins().ushr_imm_u(address, i64::from(PageGroups::PAGE_SHIFT));
        let walks = self.f.ins().ushr(walks, page);
        let walked = self.f.ins().band_imm_u(walks, 1);
        let matters = self.f.ins().bor(matters, walked);
        self.rarely(matters, report);
        self.f.ins().jump(next, &[]);
        self.begin(next);
    }

    /// Execution comes to the line of instructions at `offset` of the page.
    pub(super) fn fetch_line(&mut self, slot: usize, offset: i32) {
        let Some((models, state)) = self.models() else { return };
        let RowLayout { line_shift, set_mask, ways } = models.code;
        let at = self.page.start() as usize + offset as usize;
        let line = ((at - models.base) >> line_shift) as u32;
        let row = i64::from(line & set_mask) * i64::from(ways) * 4;
        let rows = self.state(state.code_rows);
        let row = self.f.ins().iadd_imm_s(rows, row);
        let latest = self.f.ins().load(I32, PLAIN, row, 0);
        let differs = self.f.ins().icmp_imm_u(IntCC::NotEqual, latest, i64::from(line));
        self.rarely(differs, |emitter| {
            let nothing = emitter.constant(0);
            emitter.report(called::fetch_line::<B>, slot, nothing);
        });
    }

    /// The micro-ops from `slot` on that compute are about to be executed: those that read or write a register that waits are reported. Returns the slot
    /// behind them.
    pub(super) fn report_operations(&mut self, slot: usize) -> usize {
        let (number, names) = self.operations_from(slot);
        if B::REPORTS == Reports::Instructions && names != RegisterSet::default() {
            let concerned = self.waits_for(names);
            self.rarely(concerned, |emitter| {
                let number = emitter.constant(number as i64);
                emitter.report(called::operations::<B>, slot, number);
            });
        }
        slot + number
    }

    /// How many micro-ops in adjacent slots from `slot` on compute, and the registers that they read and write.
    fn operations_from(&self, slot: usize) -> (usize, RegisterSet) {
        let (mut number, mut names) = (0, RegisterSet::default());
        loop {
            let (opcode, op) = self.code.slot(slot + number);
            if !computes(opcode, op) {
                return (number, names);
            }
            names = RegisterSet(names.0 | Operands::reported(opcode, op).registers().0);
            number += 1;
            if opcode == Opcode::Jal {
                return (number, names);
            }
        }
    }

    /// A branch at `slot` goes one way or the other. Returns what the two arms need of it; `None` where branches are not reported.
    pub(super) fn predict(&mut self, slot: usize) -> Option<Prediction> {
        let (models, state) = self.models()?;
        let branches = models.core?.branches;
        let (opcode, op) = self.code.slot(slot);
        let waits = self.waits_for(Operands::reported(opcode, op).registers());
        let page = self.load_hart(I64, offset_of!(Hart, page));
        let (offset, _) = self.code.place(slot);
        let address = self.f.ins().iadd_imm_s(page, i64::from(offset));
        let half = self.f.ins().ushr_imm_u(address, 1);
        let history_at = self.state(state.history);
        let history = self.f.ins().load(I64, PLAIN, history_at, 0);
        let hashed = self.f.ins().bxor(half, history);
        let tables = [
            (state.by_address, half, branches.address_mask),
            (state.by_history, hashed, branches.history_mask),
            (state.choosers, half, branches.address_mask),
        ];
        let counters = tables.map(|(table, index, mask)| {
            let table = self.state(table);
            let place = self.f.ins().band_imm_u(index, mask as i64);
            self.f.ins().iadd(table, place)
        });
        let mut index = self.constant(0);
        for (at, shift) in counters.into_iter().zip(COUNTER_SHIFTS) {
            let counter = self.f.ins().uload8(I64, PLAIN, at, 0);
            let counter = self.f.ins().ishl_imm_u(counter, shift);
            index = self.f.ins().bor(index, counter);
        }
        Some(Prediction { branches, waits, history, history_at, counters, index })
    }

    /// The branch at `slot` goes this way.
    pub(super) fn goes(&mut self, slot: usize, prediction: Option<Prediction>, way: i64) {
        let Some(Prediction { branches, waits, history, history_at, counters, index }) = prediction else { return };
        let steps = self.constant(branches.steps.as_ptr() as i64 + (way << 6));
        let at = self.f.ins().iadd(steps, index);
        let step = self.f.ins().uload8(I64, PLAIN, at, 0);
        for (at, shift) in counters.into_iter().zip(COUNTER_SHIFTS) {
            let counter = self.f.ins().ushr_imm_u(step, shift);
            let counter = self.f.ins().band_imm_u(counter, 3);
            self.f.ins().istore8(PLAIN, counter, at, 0);
        }
        let shifted = self.f.ins().ishl_imm_u(history, 1);
        let latest = self.f.ins().bor_imm_u(shifted, way);
        let masked = self.f.ins().band_imm_u(latest, branches.history_mask as i64);
        self.f.ins().store(PLAIN, masked, history_at, 0);
        let mispredicted = self.f.ins().ushr_imm_u(step, 6);
        let matters = self.f.ins().bor(mispredicted, waits);
        self.rarely(matters, |emitter| emitter.report(called::resolved::<B>, slot, mispredicted));
    }

    /// A fence.
    pub(super) fn report_fence(&mut self, slot: usize) {
        if B::REPORTS == Reports::Instructions {
            let nothing = self.constant(0);
            self.report(called::fence::<B>, slot, nothing);
            self.read_outstanding();
        }
    }

    /// Calls a function that reports something of the micro-op at `slot`, with an accumulator that has the instructions of its block before it.
    fn report(&mut self, function: Call, slot: usize, argument: Value) {
        let acc = self.f.use_var(self.acc);
        let (_, instructions) = self.code.place(slot);
        let cost = self.constant(accumulator::cost(u32::from(instructions), 0) as i64);
        let acc = self.f.ins().iadd(acc, cost);
        self.call_with(function, slot, acc, argument);
    }

    /// What is outstanding is what the environment says: a function that was called may have changed it.
    pub(super) fn read_outstanding(&mut self) {
        if B::REPORTS == Reports::Instructions {
            let environment = self.environment();
            let at = (offset_of!(Environment<B>, outstanding) + offset_of!(Outstanding, registers)) as i32;
            let outstanding = self.f.ins().load(I64, PLAIN, environment, at);
            self.f.def_var(self.outstanding, outstanding);
        }
    }

    /// Where `condition` holds, which is rare, does what `rare` says, which calls, and goes on.
    fn rarely(&mut self, condition: Value, rare: impl FnOnce(&mut Self)) {
        let [cold, usual] = [(); 2].map(|()| self.f.create_block());
        self.f.set_cold_block(cold);
        self.f.ins().brif(condition, cold, &[], usual, &[]);
        self.begin(cold);
        rare(self);
        self.read_outstanding();
        self.f.ins().jump(usual, &[]);
        self.begin(usual);
    }

    /// Not zero where any of the registers waits.
    fn waits_for(&mut self, names: RegisterSet) -> Value {
        let outstanding = self.f.use_var(self.outstanding);
        let names = self.constant((names.0 & !1) as i64);
        self.f.ins().band(outstanding, names)
    }

    /// The address that the environment has of a part of the models' state.
    fn state(&mut self, offset: usize) -> Value {
        let environment = self.environment();
        self.f.ins().load(I64, PLAIN, environment, (offset_of!(Environment<B>, lines) + offset) as i32)
    }
}

/// Where the counters by address, by history, and the chooser are in the index of a step, and in a step.
const COUNTER_SHIFTS: [i64; 3] = [0, 2, 4];

/// What the arms of a branch need of the predictor.
#[derive(Clone, Copy)]
pub(super) struct Prediction {
    branches: BranchLayout,
    /// Not zero where a register waits that the branch reads.
    waits: Value,
    history: Value,
    history_at: Value,
    /// Where its three counters are.
    counters: [Value; 3],
    /// The index of its step, but for the way.
    index: Value,
}

/// Whether compiled code executes a micro-op that an interpreter reports as an operation.
fn computes(opcode: Opcode, op: &MicroOp) -> bool {
    match opcode.class() {
        Class::immediate | Class::register | Class::float => true,
        Class::single => match opcode {
            Opcode::Li | Opcode::Auipc => true,
            Opcode::Jal => op.rd != SINK,
            _ => false,
        },
        _ => false,
    }
}
