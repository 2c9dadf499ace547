//! Templates of integer operations and comparisons: what [`alu`](crate::ops::alu) says they do.

use super::host::{A, ACC, B, Code, Condition, Host, Register, add, at, at_sum, copy};
use super::templates::Templates;
use crate::{
    hart::SINK,
    microop::MicroOp,
    ops::{Class, Opcode},
};
use cranelift_assembler_x64::{Fixed, inst};

impl Templates<'_> {
    /// An operation on registers, or on one and an immediate.
    pub(super) fn integer(&mut self, opcode: Opcode, op: &MicroOp) {
        // Nothing is left of a result that goes nowhere.
        if op.rd == SINK {
            return;
        }
        if let Some(moved) = moved(opcode, op) {
            let from = self.read(moved);
            let to = self.write(op.rd);
            copy(&mut self.output.code, to, from);
            return self.written(op.rd, to);
        }
        let first = self.read(op.rs1);
        let to = if opcode.class() == Class::immediate {
            let to = self.write(op.rd);
            self.immediate(opcode, (to, first), op.imm);
            to
        } else {
            let second = self.read(op.rs2 as u8);
            let to = self.write(op.rd);
            self.registers(opcode, to, (first, second));
            to
        };
        self.written(op.rd, to);
    }

    /// `rd` becomes the immediate.
    pub(super) fn constant(&mut self, op: &MicroOp) {
        if op.rd == SINK {
            return;
        }
        let to = self.write(op.rd);
        let code = &mut self.output.code;
        match u32::try_from(op.imm) {
            Ok(value) => inst::movl_oi::<Host>::new(to, value).encode(code),
            Err(_) => inst::movq_mi_sxl::<Host>::new(to, op.imm).encode(code),
        }
        self.written(op.rd, to);
    }

    /// Compares the operands of a branch: it is taken on this condition.
    pub(super) fn compare(&mut self, opcode: Opcode, op: &MicroOp) -> Condition {
        let first = self.read(op.rs1);
        if op.rd == 0 {
            inst::cmpq_mi_sxb::<Host>::new(first, 0).encode(&mut self.output.code);
        } else {
            let second = self.read(op.rd);
            inst::cmpq_rm::<Host>::new(first, second).encode(&mut self.output.code);
        }
        match opcode {
            Opcode::Beq => Condition::Equal,
            Opcode::Bne => Condition::NotEqual,
            Opcode::Blt => Condition::Less,
            Opcode::Bge => Condition::NotLess,
            Opcode::Bltu => Condition::Below,
            _ => Condition::NotBelow,
        }
    }

    fn immediate(&mut self, opcode: Opcode, (to, from): (Register, Register), value: i32) {
        use Opcode as O;
        let code = &mut self.output.code;
        // What the instruction has room for.
        let (shift, shift_of_word) = ((value & 63) as u8, (value & 31) as u8);
        match opcode {
            O::Addi if to == from => add(code, to, value),
            O::Addi if value == 0 => copy(code, to, from),
            O::Addi => inst::leaq_rm::<Host>::new(to, at(from, value)).encode(code),
            O::Addiw => {
                inst::leal_rm::<Host>::new(A, at(from, value)).encode(code);
                inst::movslq_rm::<Host>::new(to, A).encode(code);
            }
            O::Slti | O::Sltiu => {
                inst::cmpq_mi::<Host>::new(from, value).encode(code);
                let condition = if opcode == O::Slti { Condition::Less } else { Condition::Below };
                set(code, to, condition);
            }
            O::Xori => {
                copy(code, to, from);
                inst::xorq_mi_sxl::<Host>::new(to, value).encode(code);
            }
            O::Ori => {
                copy(code, to, from);
                inst::orq_mi_sxl::<Host>::new(to, value).encode(code);
            }
            O::Andi => {
                copy(code, to, from);
                inst::andq_mi_sxl::<Host>::new(to, value).encode(code);
            }
            O::Slli => {
                copy(code, to, from);
                inst::shlq_mi::<Host>::new(to, shift).encode(code);
            }
            O::Srli => {
                copy(code, to, from);
                inst::shrq_mi::<Host>::new(to, shift).encode(code);
            }
            O::Srai => {
                copy(code, to, from);
                inst::sarq_mi::<Host>::new(to, shift).encode(code);
            }
            O::Slliw | O::Srliw | O::Sraiw => {
                inst::movl_rm::<Host>::new(A, from).encode(code);
                match opcode {
                    O::Slliw => inst::shll_mi::<Host>::new(A, shift_of_word).encode(code),
                    O::Srliw => inst::shrl_mi::<Host>::new(A, shift_of_word).encode(code),
                    _ => inst::sarl_mi::<Host>::new(A, shift_of_word).encode(code),
                }
                inst::movslq_rm::<Host>::new(to, A).encode(code);
            }
            _ => unreachable!("{opcode:?} has no immediate"),
        }
    }

    fn registers(&mut self, opcode: Opcode, to: Register, (first, second): (Register, Register)) {
        use Opcode as O;
        let code = &mut self.output.code;
        // One of the operands may be what is written: where the order does not matter, it comes first.
        let (into, other) = if to == second { (second, first) } else { (first, second) };
        match opcode {
            O::Add if to == into => inst::addq_rm::<Host>::new(to, other).encode(code),
            O::Add => inst::leaq_rm::<Host>::new(to, at_sum(first, second)).encode(code),
            O::And => {
                copy(code, to, into);
                inst::andq_rm::<Host>::new(to, other).encode(code);
            }
            O::Or => {
                copy(code, to, into);
                inst::orq_rm::<Host>::new(to, other).encode(code);
            }
            O::Xor => {
                copy(code, to, into);
                inst::xorq_rm::<Host>::new(to, other).encode(code);
            }
            O::Mul => {
                copy(code, to, into);
                inst::imulq_rm::<Host>::new(to, other).encode(code);
            }
            O::Sub => {
                copy(code, A, first);
                inst::subq_rm::<Host>::new(A, second).encode(code);
                copy(code, to, A);
            }
            O::Sll => inst::shlxq_rmv::<Host>::new(to, first, second).encode(code),
            O::Srl => inst::shrxq_rmv::<Host>::new(to, first, second).encode(code),
            O::Sra => inst::sarxq_rmv::<Host>::new(to, first, second).encode(code),
            O::Slt | O::Sltu => {
                inst::cmpq_rm::<Host>::new(first, second).encode(code);
                set(code, to, if opcode == O::Slt { Condition::Less } else { Condition::Below });
            }
            O::Mulh | O::Mulhu => {
                // The product takes the place of the accumulator.
                copy(code, B, ACC);
                copy(code, A, first);
                if opcode == O::Mulh {
                    inst::imulq_m::<Host>::new(Fixed(A), Fixed(ACC), second).encode(code);
                } else {
                    inst::mulq_m::<Host>::new(Fixed(A), Fixed(ACC), second).encode(code);
                }
                copy(code, to, ACC);
                copy(code, ACC, B);
            }
            _ => {
                match opcode {
                    O::Sllw => inst::shlxl_rmv::<Host>::new(A, first, second).encode(code),
                    O::Srlw => inst::shrxl_rmv::<Host>::new(A, first, second).encode(code),
                    O::Sraw => inst::sarxl_rmv::<Host>::new(A, first, second).encode(code),
                    O::Addw | O::Subw | O::Mulw => {
                        copy(code, A, first);
                        match opcode {
                            O::Addw => inst::addl_rm::<Host>::new(A, second).encode(code),
                            O::Subw => inst::subl_rm::<Host>::new(A, second).encode(code),
                            _ => inst::imull_rm::<Host>::new(A, second).encode(code),
                        }
                    }
                    _ => unreachable!("{opcode:?} has no template"),
                }
                inst::movslq_rm::<Host>::new(to, A).encode(code);
            }
        }
    }
}

/// The register that an addition of `x0` moves, as `c.mv` does.
fn moved(opcode: Opcode, op: &MicroOp) -> Option<u8> {
    match (opcode, op.rs1, op.rs2 as u8) {
        (Opcode::Add, 0, other) | (Opcode::Add, other, 0) => Some(other),
        _ => None,
    }
}

/// Appends `to = condition`.
fn set(code: &mut Code, to: Register, condition: Condition) {
    match condition {
        Condition::Less => inst::setl_m::<Host>::new(A).encode(code),
        _ => inst::setb_m::<Host>::new(A).encode(code),
    }
    inst::movzbl_rm::<Host>::new(to, A).encode(code);
}
