//! A unit's code: its frame, its blocks and their links.
//!
//! Guest registers are values of the compiler's: loaded from the hart where the unit is entered, and written back where it is left. The
//! accumulator is one as well.
//!
//! A unit is entered only with budget for each of its blocks once. Links back, to the same block or an earlier one, of which every loop has one, are taken
//! only with as much: so no other needs to look at the budget, which never ends here. Its end is an interpreter's.

use super::{
    host::{Built, Compiler, trampoline_signature},
    integer::integer,
    loops,
    near::Near,
    part::{Block, calls, compiled_part, reserve, slots_of},
};
use crate::{
    Bus,
    bus::EntryLayout,
    code::translations::Translations,
    engine::operands::{Operands, Set},
    hart::{Hart, SINK},
    host_page::HostPage,
    microop::{Link, MicroOp, accumulator},
    ops::{Class, Opcode},
};
use cranelift_codegen::{
    ir::{
        AbiParam, Block as Label, InstBuilder, MemFlagsData, SigRef, Signature, StackSlot, StackSlotData,
        StackSlotKind, Value,
        condcodes::IntCC,
        types::{F64, I8, I64},
    },
    isa::CallConv,
};
use cranelift_frontend::{FunctionBuilder, Switch, Variable};
use std::marker::PhantomData;
use std::mem::offset_of;

mod indirect;
mod values;

/// No access of compiled code traps or is misaligned.
pub(super) const PLAIN: MemFlagsData = MemFlagsData::trusted();

/// Where in the frame the address of the hart is, and that of the environment.
const FRAME_HART: i32 = 0;
const FRAME_ENVIRONMENT: i32 = 8;

/// Where a link into a block may go.
#[derive(Clone, Copy)]
struct Labels {
    page: HostPage,
    offset: u16,
    /// Slot of the first micro-op.
    first: usize,
    start: Label,
    /// Past the floating-point gate, if there is one.
    past_gate: Label,
    /// Whether it follows a call of the unit.
    is_returned_to: bool,
}

/// What follows a micro-op.
#[derive(PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// Nothing: the block's code is complete.
    End,
}

/// Builds one unit.
pub(super) struct Emitter<'e, 'f, B: Bus> {
    pub(super) f: &'e mut FunctionBuilder<'f>,
    pub(super) code: &'e Translations,
    pub(super) layout: EntryLayout,
    pub(super) view: Value,
    /// Holds the addresses of the hart and the environment, which only rare paths need: in registers they would be in the way.
    frame: StackSlot,
    pub(super) acc: Variable,
    /// What is outstanding in the modelled core.
    pub(super) outstanding: Variable,
    /// The page of the block whose code is built.
    pub(super) page: HostPage,
    /// The number of the unit.
    unit: u32,
    /// Where a jump to another page, or to a place that is not known, goes on, if the unit has one; its parameter is the guest's address.
    elsewhere: Option<Label>,
    pub(super) near: Near,
    /// The entries that are kept in registers, by the slots of the accesses.
    pub(super) kept: Vec<(usize, Variable)>,
    x: Vec<Variable>,
    fs: Vec<Variable>,
    blocks: Vec<Labels>,
    /// The number of the block whose code is built.
    current: usize,
    /// The budget, in instructions, with which the unit may be entered ([`reserve`]).
    reserve: u32,
    /// Leaves the unit; its parameter is the micro-op to go on at.
    exit: Label,
    /// Leaves it as the exchange says.
    pub(super) exit_as_told: Label,
    trampoline: usize,
    trampoline_signature: SigRef,
    bus: PhantomData<fn(&mut B)>,
}

impl Compiler {
    /// The function of the unit of that number for `blocks`; `None` where the bus has no layout for it. Its address will be that of a
    /// [`Unit`](super::Unit) whose entries are numbered as the blocks are.
    pub(crate) fn unit<B: Bus>(&mut self, code: &Translations, unit: u32, blocks: &[Block]) -> Option<Built> {
        let layout = B::ENTRY?;
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend([AbiParam::new(I64); 5]);
        signature.returns.extend([AbiParam::new(I64); 2]);
        Some(self.build(signature, |f, trampoline| {
            Emitter::<B>::emit(f, code, layout, trampoline, (unit, blocks));
        }))
    }
}

impl<'e, 'f, B: Bus> Emitter<'e, 'f, B> {
    fn emit(
        f: &'e mut FunctionBuilder<'f>,
        code: &'e Translations,
        layout: EntryLayout,
        trampoline: usize,
        (unit, blocks): (u32, &[Block]),
    ) {
        let entry = f.create_block();
        f.append_block_params_for_function_params(entry);
        f.switch_to_block(entry);
        f.seal_block(entry);
        let &[hart, acc_value, view, environment, number] = f.block_params(entry) else {
            unreachable!("a unit has five parameters")
        };
        let frame = f.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 16, 3));
        f.ins().stack_store(I64, hart, frame, FRAME_HART);
        f.ins().stack_store(I64, environment, frame, FRAME_ENVIRONMENT);
        let acc = f.declare_var(I64);
        f.def_var(acc, acc_value);
        let outstanding = f.declare_var(I64);
        let x = (0..32).map(|_| f.declare_var(I64)).collect();
        let fs = (0..32).map(|_| f.declare_var(F64)).collect();
        let kept = loops::kept(code, blocks).into_iter().map(|slot| (slot, f.declare_var(I64))).collect();
        let exit = f.create_block();
        f.append_block_param(exit, I64);
        let exit_as_told = f.create_block();
        [exit, exit_as_told].into_iter().for_each(|label| f.set_cold_block(label));
        let trampoline_signature = f.import_signature(trampoline_signature());
        let returns = return_places(code, blocks);
        let labels = blocks.iter().map(|block| {
            let start = f.create_block();
            let gated = code.slot(block.slot).0 == Opcode::FloatGate;
            Labels {
                page: block.page,
                offset: block.offset,
                first: block.slot,
                start,
                past_gate: if gated { f.create_block() } else { start },
                is_returned_to: returns.contains(&(block.page, block.offset)),
            }
        });
        let labels: Vec<_> = labels.collect();
        let mut emitter = Self {
            f,
            code,
            layout,
            view,
            frame,
            acc,
            outstanding,
            page: blocks[0].page,
            unit,
            elsewhere: None,
            near: Near::default(),
            kept,
            x,
            fs,
            blocks: labels,
            current: 0,
            reserve: reserve(code, blocks),
            bus: PhantomData,
            exit,
            exit_as_told,
            trampoline,
            trampoline_signature,
        };
        let used = emitter.operands(blocks);
        emitter.trampoline = super::host::trampoline(trampoline, used.read.and(used.written).floats().next().is_some());
        emitter.enter(used, hart, number);
        for (index, block) in blocks.iter().enumerate() {
            emitter.block(index, block.slot);
        }
        emitter.go_elsewhere();
        emitter.leave_as_told();
        emitter.leave(used.written);
    }

    /// What the code of the blocks reads and writes.
    fn operands(&self, blocks: &[Block]) -> Operands {
        let mut all = Operands::default();
        for (_, opcode, op) in blocks.iter().flat_map(|block| compiled_part(self.code, block.slot)) {
            let own = Operands::of(opcode, op);
            all = Operands { read: all.read.and(own.read), written: all.written.and(own.written) };
        }
        all
    }

    /// Loads what the unit uses, as it writes all of it back; goes on at the block with the number given.
    fn enter(&mut self, used: Operands, hart: Value, number: Value) {
        let used = used.read.and(used.written);
        for register in used.integers() {
            let value = self.f.ins().load(I64, PLAIN, hart, Hart::x_offset(register) as i32);
            self.f.def_var(self.x[usize::from(register)], value);
        }
        for register in used.floats() {
            let value = self.f.ins().load(F64, PLAIN, hart, Hart::f_offset(register) as i32);
            self.f.def_var(self.fs[usize::from(register)], value);
        }
        self.read_outstanding();
        for (slot, variable) in self.kept.clone() {
            let entry = self.slot_entry(slot);
            self.f.def_var(variable, entry);
        }
        if let [only] = self.blocks[..] {
            self.f.ins().jump(only.start, &[]);
            return;
        }
        let mut switch = Switch::new();
        for (index, labels) in self.blocks.iter().enumerate().skip(1) {
            switch.set_entry(index as u128, labels.start);
        }
        let first = self.blocks[0].start;
        switch.emit(self.f, number, first);
    }

    /// The way out, which writes back what the unit may have written.
    fn leave(&mut self, written: Set) {
        self.f.switch_to_block(self.exit);
        let hart = self.hart();
        for register in written.integers() {
            let value = self.f.use_var(self.x[usize::from(register)]);
            self.f.ins().store(PLAIN, value, hart, Hart::x_offset(register) as i32);
        }
        for register in written.floats() {
            let value = self.f.use_var(self.fs[usize::from(register)]);
            self.f.ins().store(PLAIN, value, hart, Hart::f_offset(register) as i32);
        }
        let (acc, next) = (self.f.use_var(self.acc), self.f.block_params(self.exit)[0]);
        self.f.ins().return_(&[acc, next]);
    }

    fn block(&mut self, index: usize, first: usize) {
        let labels = self.blocks[index];
        self.current = index;
        self.page = labels.page;
        self.near = Near::of(compiled_part(self.code, first));
        self.f.switch_to_block(labels.start);
        let mut slot = first;
        if labels.past_gate != labels.start {
            let open = self.load_hart(I8, offset_of!(Hart, float_open));
            self.unless(open, |emitter| emitter.exit_at(first));
            self.f.ins().jump(labels.past_gate, &[]);
            self.f.switch_to_block(labels.past_gate);
            slot += 1;
        }
        let mut reported = slot;
        loop {
            if slot >= reported {
                reported = self.report_operations(slot);
            }
            if let Some(group) = self.group_at(slot) {
                self.group(&group, slot);
                slot = group.end + 1;
                continue;
            }
            let (opcode, op) = self.code.slot(slot);
            if self.micro_op(opcode, op, slot) == Flow::End {
                return;
            }
            slot += slots_of(opcode);
        }
    }

    /// The code of one micro-op.
    pub(super) fn micro_op(&mut self, opcode: Opcode, op: &MicroOp, slot: usize) -> Flow {
        match opcode.class() {
            Class::immediate => {
                let (a, b) = (self.x(op.rs1), self.constant(i64::from(op.imm)));
                let value = integer(self.f, opcode, a, b);
                self.set_x(op.rd, value);
            }
            Class::register => {
                let (a, b) = (self.x(op.rs1), self.x(op.rs2 as u8));
                let value = integer(self.f, opcode, a, b);
                self.set_x(op.rd, value);
            }
            Class::load | Class::float_load => self.load(opcode, op, slot),
            Class::store | Class::float_store => self.store(opcode, op, slot),
            Class::float => self.float(opcode, op, slot),
            Class::branch => {
                let (a, b) = (self.x(op.rs1), self.x(op.rd));
                let holds = self.f.ins().icmp(condition(opcode), a, b);
                let prediction = self.predict(slot);
                let [taken, not_taken] = [(); 2].map(|()| self.f.create_block());
                self.f.ins().brif(holds, taken, &[], not_taken, &[]);
                self.begin(taken);
                self.goes(slot, prediction, 1);
                self.take(slot);
                self.begin(not_taken);
                self.goes(slot, prediction, 0);
            }
            Class::single => match opcode {
                Opcode::Li => {
                    let value = self.constant(i64::from(op.imm));
                    self.set_x(op.rd, value);
                }
                Opcode::Auipc => {
                    let value = self.in_page(i64::from(op.imm));
                    self.set_x(op.rd, value);
                }
                Opcode::Nop => self.report_fence(slot),
                Opcode::FetchLine => self.fetch_line(slot, op.imm),
                Opcode::Jal => {
                    if op.rd != SINK {
                        let next = self.in_page(i64::from(op.rs2));
                        self.set_x(op.rd, next);
                    }
                    self.take(slot);
                    return Flow::End;
                }
                Opcode::Next => {
                    self.take(slot);
                    return Flow::End;
                }
                Opcode::Jalr => {
                    self.jump_to_register(op, slot);
                    return Flow::End;
                }
                Opcode::Csr if self.read_csr(op, slot) => {}
                _ => return self.end_at(slot),
            },
            Class::load_reserved | Class::store_conditional | Class::atomic => self.atomic(opcode, op, slot),
        }
        Flow::Next
    }

    /// The block's code ends before a micro-op that an interpreter has to execute.
    fn end_at(&mut self, slot: usize) -> Flow {
        self.exit_at(slot);
        Flow::End
    }

    /// Takes the link behind the micro-op at `slot`, as the interpreters do.
    fn take(&mut self, slot: usize) {
        let (link, delta, from_float) = self.code.link(slot);
        let (acc, cost) = (self.f.use_var(self.acc), self.constant(link.cost as i64));
        let acc = self.f.ins().iadd(acc, cost);
        self.f.def_var(self.acc, acc);
        let known = self.blocks.iter().position(|labels| labels.page == self.page && i32::from(labels.offset) == delta);
        match known {
            Some(index) => {
                let labels = self.blocks[index];
                if index <= self.current {
                    self.when_short(acc, |emitter| emitter.exit_at(labels.first));
                }
                self.f.ins().jump(if from_float { labels.past_gate } else { labels.start }, &[]);
            }
            None if B::FETCHES && !(0..0x1000).contains(&delta) => {
                self.when_short(acc, |emitter| emitter.follow_link(slot));
                let target = self.in_page(i64::from(delta));
                self.jump_elsewhere(target);
            }
            None => self.follow_link(slot),
        }
    }

    /// Where an accumulator has less budget than each block takes once, does what `rare` says, which does not come back.
    fn when_short(&mut self, acc: Value, rare: impl FnOnce(&mut Self)) {
        let reserve = self.constant(accumulator::start(self.reserve, 0) as i64);
        let short = self.f.ins().icmp(IntCC::SignedLessThan, acc, reserve);
        self.when(short, rare);
    }

    /// Leaves the unit for where the link behind the micro-op at `slot` leads.
    fn follow_link(&mut self, slot: usize) {
        let link = self.constant(self.code.address(slot + 1) as i64);
        let target = self.f.ins().load(I64, PLAIN, link, offset_of!(Link, target) as i32);
        self.exit(target);
    }
}

/// Where calls of the blocks come back to.
fn return_places(code: &Translations, blocks: &[Block]) -> Vec<(HostPage, u16)> {
    let of_block = |block: &Block| {
        let page = block.page;
        let calls = compiled_part(code, block.slot).filter(|(_, opcode, op)| calls(*opcode, op));
        calls.map(move |(.., op)| (page, op.rs2)).collect::<Vec<_>>()
    };
    blocks.iter().flat_map(of_block).collect()
}

fn condition(opcode: Opcode) -> IntCC {
    match opcode {
        Opcode::Beq => IntCC::Equal,
        Opcode::Bne => IntCC::NotEqual,
        Opcode::Blt => IntCC::SignedLessThan,
        Opcode::Bge => IntCC::SignedGreaterThanOrEqual,
        Opcode::Bltu => IntCC::UnsignedLessThan,
        Opcode::Bgeu => IntCC::UnsignedGreaterThanOrEqual,
        _ => unreachable!("{opcode:?} is no branch"),
    }
}
