//! Integer computation: each operation of [`alu`](crate::ops::alu) in the compiler's terms.

use crate::ops::Opcode;
use cranelift_codegen::ir::{
    InstBuilder, Type, Value,
    condcodes::IntCC,
    types::{I32, I64},
};
use cranelift_frontend::FunctionBuilder;

/// What the operation makes of `a` and `b`.
pub(super) fn integer(f: &mut FunctionBuilder, opcode: Opcode, a: Value, b: Value) -> Value {
    use Opcode as O;
    match opcode {
        O::Addi | O::Add => f.ins().iadd(a, b),
        O::Sub => f.ins().isub(a, b),
        O::Xori | O::Xor => f.ins().bxor(a, b),
        O::Ori | O::Or => f.ins().bor(a, b),
        O::Andi | O::And => f.ins().band(a, b),
        // The compiler's shifts go by the amount modulo the width, as the guest's do.
        O::Slli | O::Sll => f.ins().ishl(a, b),
        O::Srli | O::Srl => f.ins().ushr(a, b),
        O::Srai | O::Sra => f.ins().sshr(a, b),
        O::Slti | O::Slt => compare(f, IntCC::SignedLessThan, a, b),
        O::Sltiu | O::Sltu => compare(f, IntCC::UnsignedLessThan, a, b),
        O::Addiw | O::Addw => word(f, a, b, |f, a, b| f.ins().iadd(a, b)),
        O::Subw => word(f, a, b, |f, a, b| f.ins().isub(a, b)),
        O::Slliw | O::Sllw => word(f, a, b, |f, a, b| f.ins().ishl(a, b)),
        O::Srliw | O::Srlw => word(f, a, b, |f, a, b| f.ins().ushr(a, b)),
        O::Sraiw | O::Sraw => word(f, a, b, |f, a, b| f.ins().sshr(a, b)),
        O::Mul => f.ins().imul(a, b),
        O::Mulw => word(f, a, b, |f, a, b| f.ins().imul(a, b)),
        O::Mulh => f.ins().smulhi(a, b),
        O::Mulhu => f.ins().umulhi(a, b),
        O::Mulhsu => {
            // As an unsigned number, a negative `a` is 2^64 too large.
            let (high, sign) = (f.ins().umulhi(a, b), f.ins().sshr_imm_u(a, 63));
            let excess = f.ins().band(sign, b);
            f.ins().isub(high, excess)
        }
        O::Div => quotient(f, I64, a, b),
        O::Rem => remainder(f, I64, a, b),
        O::Divu => unsigned_quotient(f, I64, a, b),
        O::Remu => unsigned_remainder(f, I64, a, b),
        O::Divw => word(f, a, b, |f, a, b| quotient(f, I32, a, b)),
        O::Remw => word(f, a, b, |f, a, b| remainder(f, I32, a, b)),
        O::Divuw => word(f, a, b, |f, a, b| unsigned_quotient(f, I32, a, b)),
        O::Remuw => word(f, a, b, |f, a, b| unsigned_remainder(f, I32, a, b)),
        _ => unreachable!("{opcode:?} does not compute on integer registers"),
    }
}

fn compare(f: &mut FunctionBuilder, condition: IntCC, a: Value, b: Value) -> Value {
    let holds = f.ins().icmp(condition, a, b);
    f.ins().uextend(I64, holds)
}

/// What `operation` makes of the low words, sign-extended.
fn word(
    f: &mut FunctionBuilder,
    a: Value,
    b: Value,
    operation: impl FnOnce(&mut FunctionBuilder, Value, Value) -> Value,
) -> Value {
    let (a, b) = (f.ins().ireduce(I32, a), f.ins().ireduce(I32, b));
    let value = operation(f, a, b);
    f.ins().sextend(I64, value)
}

// Division by zero and overflow do not trap in the guest, and the host must not execute them: it divides by one then.

fn quotient(f: &mut FunctionBuilder, of: Type, a: Value, b: Value) -> Value {
    let (zero, minus_one, safe) = signed_divisor(f, of, b);
    let quotient = f.ins().sdiv(a, safe);
    let negated = f.ins().ineg(a);
    let quotient = f.ins().select(minus_one, negated, quotient);
    let all_ones = f.ins().iconst(of, ones(of));
    f.ins().select(zero, all_ones, quotient)
}

fn remainder(f: &mut FunctionBuilder, of: Type, a: Value, b: Value) -> Value {
    // By one or minus one nothing remains.
    let (zero, _, safe) = signed_divisor(f, of, b);
    let remainder = f.ins().srem(a, safe);
    f.ins().select(zero, a, remainder)
}

/// Whether the divisor is zero, whether it is minus one, and what the host divides by.
fn signed_divisor(f: &mut FunctionBuilder, of: Type, b: Value) -> (Value, Value, Value) {
    let zero = f.ins().icmp_imm_s(IntCC::Equal, b, 0);
    let minus_one = f.ins().icmp_imm_s(IntCC::Equal, b, -1);
    let special = f.ins().bor(zero, minus_one);
    let one = f.ins().iconst(of, 1);
    (zero, minus_one, f.ins().select(special, one, b))
}

fn unsigned_quotient(f: &mut FunctionBuilder, of: Type, a: Value, b: Value) -> Value {
    let (zero, safe) = unsigned_divisor(f, of, b);
    let quotient = f.ins().udiv(a, safe);
    let all_ones = f.ins().iconst(of, ones(of));
    f.ins().select(zero, all_ones, quotient)
}

fn unsigned_remainder(f: &mut FunctionBuilder, of: Type, a: Value, b: Value) -> Value {
    let (zero, safe) = unsigned_divisor(f, of, b);
    let remainder = f.ins().urem(a, safe);
    f.ins().select(zero, a, remainder)
}

fn unsigned_divisor(f: &mut FunctionBuilder, of: Type, b: Value) -> (Value, Value) {
    let zero = f.ins().icmp_imm_s(IntCC::Equal, b, 0);
    let one = f.ins().iconst(of, 1);
    (zero, f.ins().select(zero, one, b))
}

/// All ones, as constants of the type are written.
fn ones(of: Type) -> i64 {
    if of == I32 { i64::from(u32::MAX) } else { -1 }
}
