//! Integer computation: each operation of [`alu`](crate::ops::alu) in the compiler's terms.

use super::emit::Emitter;
use crate::{Bus, ops::Opcode};
use cranelift_codegen::ir::{
    InstBuilder, Type, Value,
    condcodes::IntCC,
    types::{I32, I64},
};

impl<B: Bus> Emitter<'_, '_, B> {
    /// What the operation makes of `a` and `b`.
    pub(super) fn integer(&mut self, opcode: Opcode, a: Value, b: Value) -> Value {
        use Opcode as O;
        match opcode {
            O::Addi | O::Add => self.f.ins().iadd(a, b),
            O::Sub => self.f.ins().isub(a, b),
            O::Xori | O::Xor => self.f.ins().bxor(a, b),
            O::Ori | O::Or => self.f.ins().bor(a, b),
            O::Andi | O::And => self.f.ins().band(a, b),
            // The compiler's shifts go by the amount modulo the width, as the guest's do.
            O::Slli | O::Sll => self.f.ins().ishl(a, b),
            O::Srli | O::Srl => self.f.ins().ushr(a, b),
            O::Srai | O::Sra => self.f.ins().sshr(a, b),
            O::Slti | O::Slt => self.compare(IntCC::SignedLessThan, a, b),
            O::Sltiu | O::Sltu => self.compare(IntCC::UnsignedLessThan, a, b),
            O::Addiw | O::Addw => self.word(a, b, |f, a, b| f.f.ins().iadd(a, b)),
            O::Subw => self.word(a, b, |f, a, b| f.f.ins().isub(a, b)),
            O::Slliw | O::Sllw => self.word(a, b, |f, a, b| f.f.ins().ishl(a, b)),
            O::Srliw | O::Srlw => self.word(a, b, |f, a, b| f.f.ins().ushr(a, b)),
            O::Sraiw | O::Sraw => self.word(a, b, |f, a, b| f.f.ins().sshr(a, b)),
            O::Mul => self.f.ins().imul(a, b),
            O::Mulw => self.word(a, b, |f, a, b| f.f.ins().imul(a, b)),
            O::Mulh => self.f.ins().smulhi(a, b),
            O::Mulhu => self.f.ins().umulhi(a, b),
            O::Mulhsu => {
                // As an unsigned number, a negative `a` is 2^64 too large.
                let (high, sign) = (self.f.ins().umulhi(a, b), self.f.ins().sshr_imm_u(a, 63));
                let excess = self.f.ins().band(sign, b);
                self.f.ins().isub(high, excess)
            }
            O::Div => self.quotient(I64, a, b),
            O::Rem => self.remainder(I64, a, b),
            O::Divu => self.unsigned_quotient(I64, a, b),
            O::Remu => self.unsigned_remainder(I64, a, b),
            O::Divw => self.word(a, b, |f, a, b| f.quotient(I32, a, b)),
            O::Remw => self.word(a, b, |f, a, b| f.remainder(I32, a, b)),
            O::Divuw => self.word(a, b, |f, a, b| f.unsigned_quotient(I32, a, b)),
            O::Remuw => self.word(a, b, |f, a, b| f.unsigned_remainder(I32, a, b)),
            _ => unreachable!("{opcode:?} does not compute on integer registers"),
        }
    }

    fn compare(&mut self, condition: IntCC, a: Value, b: Value) -> Value {
        let holds = self.f.ins().icmp(condition, a, b);
        self.f.ins().uextend(I64, holds)
    }

    /// What `operation` makes of the low words, sign-extended.
    fn word(&mut self, a: Value, b: Value, operation: impl FnOnce(&mut Self, Value, Value) -> Value) -> Value {
        let (a, b) = (self.f.ins().ireduce(I32, a), self.f.ins().ireduce(I32, b));
        let value = operation(self, a, b);
        self.f.ins().sextend(I64, value)
    }

    // Division by zero and overflow do not trap in the guest, and the host must not execute them: it divides by one then.

    fn quotient(&mut self, of: Type, a: Value, b: Value) -> Value {
        let (zero, minus_one, safe) = self.signed_divisor(of, b);
        let quotient = self.f.ins().sdiv(a, safe);
        let negated = self.f.ins().ineg(a);
        let quotient = self.f.ins().select(minus_one, negated, quotient);
        let all_ones = self.f.ins().iconst(of, ones(of));
        self.f.ins().select(zero, all_ones, quotient)
    }

    fn remainder(&mut self, of: Type, a: Value, b: Value) -> Value {
        // By one or minus one nothing remains.
        let (zero, _, safe) = self.signed_divisor(of, b);
        let remainder = self.f.ins().srem(a, safe);
        self.f.ins().select(zero, a, remainder)
    }

    /// Whether the divisor is zero, whether it is minus one, and what the host divides by.
    fn signed_divisor(&mut self, of: Type, b: Value) -> (Value, Value, Value) {
        let zero = self.f.ins().icmp_imm_s(IntCC::Equal, b, 0);
        let minus_one = self.f.ins().icmp_imm_s(IntCC::Equal, b, -1);
        let special = self.f.ins().bor(zero, minus_one);
        let one = self.f.ins().iconst(of, 1);
        (zero, minus_one, self.f.ins().select(special, one, b))
    }

    fn unsigned_quotient(&mut self, of: Type, a: Value, b: Value) -> Value {
        let (zero, safe) = self.unsigned_divisor(of, b);
        let quotient = self.f.ins().udiv(a, safe);
        let all_ones = self.f.ins().iconst(of, ones(of));
        self.f.ins().select(zero, all_ones, quotient)
    }

    fn unsigned_remainder(&mut self, of: Type, a: Value, b: Value) -> Value {
        let (zero, safe) = self.unsigned_divisor(of, b);
        let remainder = self.f.ins().urem(a, safe);
        self.f.ins().select(zero, a, remainder)
    }

    fn unsigned_divisor(&mut self, of: Type, b: Value) -> (Value, Value) {
        let zero = self.f.ins().icmp_imm_s(IntCC::Equal, b, 0);
        let one = self.f.ins().iconst(of, 1);
        (zero, self.f.ins().select(zero, one, b))
    }
}

/// All ones, as constants of the type are written.
fn ones(of: Type) -> i64 {
    if of == I32 { i64::from(u32::MAX) } else { -1 }
}
