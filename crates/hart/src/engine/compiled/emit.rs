//! A unit's code: its frame, its blocks and their links.
//!
//! Guest registers are values of the compiler's: loaded from the hart where the unit is entered, and written back where it is left. The
//! accumulator is one as well.

use super::{
    host::{Compiler, trampoline_signature},
    near::Near,
    operands::{Operands, Set},
};
use crate::{
    Bus, CodeCache,
    bus::EntryLayout,
    hart::Hart,
    microop::{Link, MicroOp},
    ops::{Class, Opcode},
};
use cranelift_codegen::{
    ir::{
        AbiParam, Block as Label, InstBuilder, MemFlagsData, SigRef, Signature, Value,
        condcodes::IntCC,
        types::{F64, I8, I64},
    },
    isa::CallConv,
};
use cranelift_frontend::{FunctionBuilder, Switch, Variable};
use std::mem::offset_of;

mod values;

/// A block of a unit: where in its page it begins, and the slot of its first micro-op.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) offset: u16,
    pub(crate) slot: usize,
}

/// No access of compiled code traps or is misaligned.
pub(super) const PLAIN: MemFlagsData = MemFlagsData::trusted();

/// Where a link into a block may go.
#[derive(Clone, Copy)]
struct Labels {
    offset: u16,
    start: Label,
    /// Past the floating-point gate, if there is one.
    past_gate: Label,
}

/// What follows a micro-op.
#[derive(PartialEq, Eq)]
enum Flow {
    Next,
    /// Nothing: the block's code is complete.
    End,
}

/// Builds one unit.
pub(super) struct Emitter<'e, 'f, B: Bus> {
    pub(super) f: &'e mut FunctionBuilder<'f>,
    pub(super) code: &'e CodeCache<B>,
    pub(super) layout: EntryLayout,
    pub(super) hart: Value,
    pub(super) window: Value,
    pub(super) environment: Value,
    pub(super) acc: Variable,
    pub(super) near: Near,
    x: Vec<Variable>,
    fs: Vec<Variable>,
    blocks: Vec<Labels>,
    /// Leaves the unit; its parameter is the micro-op to go on at.
    exit: Label,
    trampoline: usize,
    trampoline_signature: SigRef,
}

impl Compiler {
    /// Compiles `blocks`, which all lie in one page; `None` where that fails. The address is that of a [`Unit`](super::Unit) whose entries are
    /// numbered as the blocks are.
    pub(crate) fn unit<B: Bus>(&mut self, code: &CodeCache<B>, blocks: &[Block]) -> Option<usize> {
        let layout = B::ENTRY?;
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend([AbiParam::new(I64); 5]);
        signature.returns.extend([AbiParam::new(I64); 2]);
        self.compile(signature, |f, trampoline| Emitter::emit(f, code, layout, trampoline, blocks))
    }
}

impl<'e, 'f, B: Bus> Emitter<'e, 'f, B> {
    fn emit(
        f: &'e mut FunctionBuilder<'f>,
        code: &'e CodeCache<B>,
        layout: EntryLayout,
        trampoline: usize,
        blocks: &[Block],
    ) {
        let entry = f.create_block();
        f.append_block_params_for_function_params(entry);
        f.switch_to_block(entry);
        f.seal_block(entry);
        let &[hart, acc_value, window, environment, number] = f.block_params(entry) else {
            unreachable!("a unit has five parameters")
        };
        let acc = f.declare_var(I64);
        f.def_var(acc, acc_value);
        let x = (0..32).map(|_| f.declare_var(I64)).collect();
        let fs = (0..32).map(|_| f.declare_var(F64)).collect();
        let exit = f.create_block();
        f.append_block_param(exit, I64);
        f.set_cold_block(exit);
        let trampoline_signature = f.import_signature(trampoline_signature());
        let labels = blocks.iter().map(|block| {
            let start = f.create_block();
            let gated = code.slot(block.slot).0 == Opcode::FloatGate;
            Labels { offset: block.offset, start, past_gate: if gated { f.create_block() } else { start } }
        });
        let labels: Vec<_> = labels.collect();
        let mut emitter = Self {
            f,
            code,
            layout,
            hart,
            window,
            environment,
            acc,
            near: Near::default(),
            x,
            fs,
            blocks: labels,
            exit,
            trampoline,
            trampoline_signature,
        };
        let used = emitter.operands(blocks);
        emitter.trampoline = super::host::trampoline(trampoline, used.read.and(used.written).floats().next().is_some());
        emitter.enter(used, number);
        for (index, block) in blocks.iter().enumerate() {
            emitter.block(index, block.slot);
        }
        emitter.leave(used.written);
    }

    /// What the code of the blocks reads and writes.
    fn operands(&self, blocks: &[Block]) -> Operands {
        let mut all = Operands::default();
        for block in blocks {
            let mut slot = block.slot;
            loop {
                let (opcode, op) = self.code.slot(slot);
                if !executes(opcode) {
                    break;
                }
                let own = Operands::of(opcode, op);
                all = Operands { read: all.read.and(own.read), written: all.written.and(own.written) };
                if matches!(opcode, Opcode::Jal | Opcode::Next) {
                    break;
                }
                slot += slots_of(opcode);
            }
        }
        all
    }

    /// Loads what the unit uses, as it writes all of it back; goes on at the block with the number given.
    fn enter(&mut self, used: Operands, number: Value) {
        let used = used.read.and(used.written);
        for register in used.integers() {
            let value = self.load_hart(I64, Hart::x_offset(register));
            self.f.def_var(self.x[usize::from(register)], value);
        }
        for register in used.floats() {
            let value = self.load_hart(F64, Hart::f_offset(register));
            self.f.def_var(self.fs[usize::from(register)], value);
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
        for register in written.integers() {
            let value = self.f.use_var(self.x[usize::from(register)]);
            self.store_hart(value, Hart::x_offset(register));
        }
        for register in written.floats() {
            let value = self.f.use_var(self.fs[usize::from(register)]);
            self.store_hart(value, Hart::f_offset(register));
        }
        let (acc, next) = (self.f.use_var(self.acc), self.f.block_params(self.exit)[0]);
        self.f.ins().return_(&[acc, next]);
    }

    fn block(&mut self, index: usize, first: usize) {
        let labels = self.blocks[index];
        self.near.begin();
        self.f.switch_to_block(labels.start);
        let mut slot = first;
        if labels.past_gate != labels.start {
            let open = self.load_hart(I8, offset_of!(Hart, float_open));
            self.unless(open, |emitter| emitter.exit_at(first));
            self.f.ins().jump(labels.past_gate, &[]);
            self.f.switch_to_block(labels.past_gate);
            slot += 1;
        }
        loop {
            let (opcode, op) = self.code.slot(slot);
            if self.micro_op(opcode, op, slot) == Flow::End {
                return;
            }
            slot += slots_of(opcode);
        }
    }

    fn micro_op(&mut self, opcode: Opcode, op: &MicroOp, slot: usize) -> Flow {
        match opcode.class() {
            Class::immediate => {
                let (a, b) = (self.x(op.rs1), self.constant(i64::from(op.imm)));
                let value = self.integer(opcode, a, b);
                if opcode == Opcode::Addi {
                    self.near.add(op.rd, op.rs1, i64::from(op.imm));
                    self.set_x_only(op.rd, value);
                } else {
                    self.set_x(op.rd, value);
                }
            }
            Class::register => {
                let (a, b) = (self.x(op.rs1), self.x(op.rs2 as u8));
                let value = self.integer(opcode, a, b);
                self.set_x(op.rd, value);
            }
            Class::load | Class::float_load => self.load(opcode, op, slot),
            Class::store | Class::float_store => self.store(opcode, op, slot),
            Class::float => self.float(opcode, op, slot),
            Class::branch => {
                let (a, b) = (self.x(op.rs1), self.x(op.rd));
                let holds = self.f.ins().icmp(condition(opcode), a, b);
                let [taken, not_taken] = [(); 2].map(|()| self.f.create_block());
                self.f.ins().brif(holds, taken, &[], not_taken, &[]);
                self.begin(taken);
                self.take(slot);
                self.begin(not_taken);
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
                Opcode::Nop => {}
                Opcode::Jal => {
                    let next = self.in_page(i64::from(op.rs2));
                    self.set_x(op.rd, next);
                    self.take(slot);
                    return Flow::End;
                }
                Opcode::Next => {
                    self.take(slot);
                    return Flow::End;
                }
                _ => return self.end_at(slot),
            },
            Class::load_reserved | Class::store_conditional | Class::atomic => return self.end_at(slot),
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
        let spent = self.f.ins().icmp_imm_s(IntCC::SignedLessThan, acc, 0);
        match self.blocks.iter().find(|labels| i32::from(labels.offset) == delta) {
            Some(labels) => {
                let label = if from_float { labels.past_gate } else { labels.start };
                self.when(spent, |emitter| emitter.exit_at(slot + 2));
                self.f.ins().jump(label, &[]);
            }
            None => {
                let link = self.constant(self.code.address(slot + 1) as i64);
                let target = self.f.ins().load(I64, PLAIN, link, offset_of!(Link, target) as i32);
                let resolver = self.constant(self.code.address(slot + 2) as i64);
                let next = self.f.ins().select(spent, resolver, target);
                self.exit(next);
            }
        }
    }
}

/// Whether compiled code executes an operation itself.
pub(crate) fn executes(opcode: Opcode) -> bool {
    match opcode.class() {
        Class::load_reserved | Class::store_conditional | Class::atomic => false,
        Class::single => {
            matches!(opcode, Opcode::Li | Opcode::Auipc | Opcode::Nop | Opcode::Jal | Opcode::Next | Opcode::FloatGate)
        }
        _ => true,
    }
}

/// Slots up to the next micro-op of the block.
pub(crate) fn slots_of(opcode: Opcode) -> usize {
    if opcode.class() == Class::branch { 3 } else { 1 }
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
