//! Floating-point operations.
//!
//! Those on doubles that are frequent are inline, under the conditions of the interpreters' fast path (`float::arithmetic`): the result is in a
//! range where the host's is the guest's, and NX is raised already or the result is exact. Everything else calls what the interpreters execute, on
//! the hart's registers in memory.

use super::{emit::Emitter, float_call};
use crate::{
    Bus,
    engine::operands::{Operands, gives_integer, third},
    float::{Flags, Range},
    hart::Hart,
    microop::MicroOp,
    ops::Opcode,
};
use cranelift_codegen::ir::{
    Block, InstBuilder, MemFlagsData, Value,
    condcodes::{FloatCC, IntCC},
    types::{F64, I8, I32, I64},
};
use std::mem::offset_of;

/// The `rm` field that selects `frm`.
const DYNAMIC: i32 = 7;

/// Where an operation goes on that the host does not do alone.
#[derive(Clone, Copy)]
struct Ways {
    /// With a product that is out of the range that arithmetic keeps to.
    small: Block,
    /// Where it is called.
    slow: Block,
    /// With the result.
    done: Block,
}

impl<B: Bus> Emitter<'_, '_, B> {
    pub(super) fn float(&mut self, opcode: Opcode, op: &MicroOp, slot: usize) {
        use Opcode as O;
        match opcode {
            O::FaddD | O::FsubD | O::FmulD | O::FmaddD | O::FmsubD | O::FnmsubD | O::FnmaddD
                if matches!(op.imm & 7, 0 | DYNAMIC) =>
            {
                self.rounded(opcode, op, slot);
            }
            O::FeqD => self.comparison(FloatCC::Equal, opcode, op, slot),
            O::FltD => self.comparison(FloatCC::LessThan, opcode, op, slot),
            O::FleD => self.comparison(FloatCC::LessThanOrEqual, opcode, op, slot),
            O::FsgnjD | O::FsgnjnD | O::FsgnjxD => {
                let value = self.sign_injected(opcode, op);
                self.set_fs(op.rd, value);
            }
            O::FmvXD => {
                let value = self.fs(op.rs1);
                let bits = self.f.ins().bitcast(I64, MemFlagsData::new(), value);
                self.set_x(op.rd, bits);
            }
            O::FmvDX => {
                let bits = self.x(op.rs1);
                let value = self.f.ins().bitcast(F64, MemFlagsData::new(), bits);
                self.set_fs(op.rd, value);
            }
            // Every word is a double.
            O::FcvtDW | O::FcvtDWu => {
                let source = self.x(op.rs1);
                let word = self.f.ins().ireduce(I32, source);
                let long =
                    if opcode == O::FcvtDW { self.f.ins().sextend(I64, word) } else { self.f.ins().uextend(I64, word) };
                let value = self.f.ins().fcvt_from_sint(F64, long);
                self.set_fs(op.rd, value);
            }
            _ => {
                let value = self.by_call(opcode, op, slot);
                if gives_integer(opcode) { self.set_x(op.rd, value) } else { self.set_fs(op.rd, value) }
            }
        }
    }

    /// The result of a call.
    fn by_call(&mut self, opcode: Opcode, op: &MicroOp, slot: usize) -> Value {
        let Operands { read, .. } = Operands::of(opcode, op);
        for register in read.integers() {
            let value = self.x(register);
            self.store_hart(value, Hart::x_offset(register));
        }
        for register in read.floats() {
            let value = self.fs(register);
            self.store_hart(value, Hart::f_offset(register));
        }
        let nowhere = self.constant(0);
        self.call(float_call(opcode), slot, nowhere);
        if gives_integer(opcode) {
            self.load_hart(I64, Hart::x_offset(op.rd))
        } else {
            self.load_hart(F64, Hart::f_offset(op.rd))
        }
    }

    /// A sum, product or both, rounded to nearest even if the mode says so now.
    fn rounded(&mut self, opcode: Opcode, op: &MicroOp, slot: usize) {
        use Opcode as O;
        let ways = Ways { small: self.cold_block(), slow: self.cold_block(), done: self.f.create_block() };
        let Ways { small, slow, done } = ways;
        if op.imm & 7 == DYNAMIC {
            let mode = self.load_hart(I8, offset_of!(Hart, frm));
            let nearest = self.f.ins().icmp_imm_s(IntCC::Equal, mode, 0);
            self.go_on_if(nearest, slow);
        }
        let (a, b) = (self.fs(op.rs1), self.fs(op.rs2 as u8));
        let result = match opcode {
            O::FaddD => self.sum(a, b, ways),
            O::FsubD => {
                let b = self.f.ins().fneg(b);
                self.sum(a, b, ways)
            }
            O::FmulD => self.product(a, b, ways),
            _ => {
                let c = self.fs(third(op));
                let a = if matches!(opcode, O::FnmsubD | O::FnmaddD) { self.f.ins().fneg(a) } else { a };
                let c = if matches!(opcode, O::FmsubD | O::FnmaddD) { self.f.ins().fneg(c) } else { c };
                self.fused(a, b, c, ways)
            }
        };
        self.f.ins().jump(done, &[result.into()]);
        if !matches!(opcode, O::FaddD | O::FsubD) {
            self.begin(small);
            self.zero_factor(a, b, result, ways);
        }
        self.begin(slow);
        let value = self.by_call(opcode, op, slot);
        self.f.ins().jump(done, &[value.into()]);
        let value = self.f.append_block_param(done, F64);
        self.begin(done);
        self.set_fs(op.rd, value);
    }

    fn cold_block(&mut self) -> Block {
        let block = self.f.create_block();
        self.f.set_cold_block(block);
        block
    }

    fn sum(&mut self, a: Value, b: Value, Ways { slow, done, .. }: Ways) -> Value {
        let sum = self.f.ins().fadd(a, b);
        self.in_range(Range::Finite, sum, slow);
        self.done_if_inexact(sum, done);
        self.exact_sum(a, b, sum, slow);
        sum
    }

    fn product(&mut self, a: Value, b: Value, Ways { small, slow, done }: Ways) -> Value {
        let product = self.f.ins().fmul(a, b);
        self.in_range(Range::Normal, product, small);
        self.done_if_inexact(product, done);
        self.in_range(Range::Residue, product, slow);
        self.exact_product(a, b, product, slow);
        product
    }

    fn fused(&mut self, a: Value, b: Value, c: Value, Ways { small, slow, done }: Ways) -> Value {
        let sum = self.f.ins().fma(a, b, c);
        self.in_range(Range::Normal, sum, small);
        self.done_if_inexact(sum, done);
        let product = self.f.ins().fsub(sum, c);
        self.in_range(Range::Residue, product, small);
        self.exact_sum(product, c, sum, slow);
        self.exact_product(a, b, product, slow);
        sum
    }

    /// Hands `result` on where `a` or `b` is zero and the result finite: nothing was rounded then.
    fn zero_factor(&mut self, a: Value, b: Value, result: Value, Ways { slow, done, .. }: Ways) {
        let finite = self.cold_block();
        let zero = self.f.ins().f64const(0.0);
        let [a, b] = [a, b].map(|factor| self.f.ins().fcmp(FloatCC::Equal, factor, zero));
        let either = self.f.ins().bor(a, b);
        self.f.ins().brif(either, finite, &[], slow, &[]);
        self.begin(finite);
        self.in_range(Range::Finite, result, slow);
        self.f.ins().jump(done, &[result.into()]);
    }

    /// Goes on where the exponent of `value` is in `range`.
    fn in_range(&mut self, range: Range, value: Value, slow: Block) {
        let (lowest, span) = range.exponents::<f64>();
        let bits = self.f.ins().bitcast(I64, MemFlagsData::new(), value);
        let shifted = self.f.ins().ushr_imm_u(bits, 52);
        let exponent = self.f.ins().band_imm_u(shifted, 0x7ff);
        let above = self.f.ins().iadd_imm_s(exponent, -i64::from(lowest));
        let inside = self.f.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, above, i64::from(span));
        self.go_on_if(inside, slow);
    }

    /// Hands `value` on where NX is raised: nothing that it could raise is missing.
    fn done_if_inexact(&mut self, value: Value, done: Block) {
        let flags = self.load_hart(I8, offset_of!(Hart, fflags));
        let inexact = self.f.ins().band_imm_u(flags, i64::from(Flags::INEXACT.bits()));
        let exact = self.f.create_block();
        self.f.ins().brif(inexact, done, &[value.into()], exact, &[]);
        self.begin(exact);
    }

    /// Goes on where `sum` is exactly `a + b`.
    fn exact_sum(&mut self, a: Value, b: Value, sum: Value, slow: Block) {
        for (one, other) in [(a, b), (b, a)] {
            let difference = self.f.ins().fsub(sum, one);
            let equal = self.f.ins().fcmp(FloatCC::Equal, difference, other);
            self.go_on_if(equal, slow);
        }
    }

    /// Goes on where `product` is exactly `a * b`.
    fn exact_product(&mut self, a: Value, b: Value, product: Value, slow: Block) {
        let negated = self.f.ins().fneg(product);
        let residue = self.f.ins().fma(a, b, negated);
        let zero = self.f.ins().f64const(0.0);
        let exact = self.f.ins().fcmp(FloatCC::Equal, residue, zero);
        self.go_on_if(exact, slow);
    }

    /// Numbers compare without a flag; of NaNs the call knows more.
    fn comparison(&mut self, condition: FloatCC, opcode: Opcode, op: &MicroOp, slot: usize) {
        let [slow, done] = [(); 2].map(|()| self.f.create_block());
        self.f.set_cold_block(slow);
        let (a, b) = (self.fs(op.rs1), self.fs(op.rs2 as u8));
        let ordered = self.f.ins().fcmp(FloatCC::Ordered, a, b);
        self.go_on_if(ordered, slow);
        let holds = self.f.ins().fcmp(condition, a, b);
        let value = self.f.ins().uextend(I64, holds);
        self.f.ins().jump(done, &[value.into()]);
        self.begin(slow);
        let value = self.by_call(opcode, op, slot);
        self.f.ins().jump(done, &[value.into()]);
        let value = self.f.append_block_param(done, I64);
        self.begin(done);
        self.set_x(op.rd, value);
    }

    /// The first operand with the sign that the second gives it.
    fn sign_injected(&mut self, opcode: Opcode, op: &MicroOp) -> Value {
        let (a, b) = (self.fs(op.rs1), self.fs(op.rs2 as u8));
        let same = op.rs1 == op.rs2 as u8;
        match opcode {
            Opcode::FsgnjD if same => a,
            Opcode::FsgnjD => self.f.ins().fcopysign(a, b),
            Opcode::FsgnjnD if same => self.f.ins().fneg(a),
            Opcode::FsgnjnD => {
                let negated = self.f.ins().fneg(b);
                self.f.ins().fcopysign(a, negated)
            }
            _ => {
                let [a, b] = [a, b].map(|value| self.f.ins().bitcast(I64, MemFlagsData::new(), value));
                let sign = self.f.ins().band_imm_s(b, i64::MIN);
                let bits = self.f.ins().bxor(a, sign);
                self.f.ins().bitcast(F64, MemFlagsData::new(), bits)
            }
        }
    }
}
