//! What a RISC-V instruction is to a trace: its length, its branch and its registers (RISC-V Unprivileged 20240411, chapters 2, 27 and 35).

use crate::operands::{Operands, float, integer};
use crate::record::BranchKind;

/// What an encoding says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decoded {
    /// Bytes: 2 or 4.
    pub bytes: u8,
    /// Whether it is a branch.
    pub branch: Option<BranchKind>,
    /// Its registers. `x0` is left out.
    pub operands: Operands,
}

/// Decodes an instruction; of a compressed one, `bits` has the low 16.
#[must_use]
pub fn decode(bits: u32) -> Decoded {
    if bits & 3 == 3 { full(bits) } else { compressed(bits & 0xffff) }
}

/// `ra` and `t0` hold return addresses (section 2.5.1).
const fn is_link(register: u32) -> bool {
    register == 1 || register == 5
}

fn full(bits: u32) -> Decoded {
    let field = |shift: u32| bits >> shift & 31;
    let (rd, rs1, rs2, rs3) = (field(7), field(15), field(20), field(27));
    let (x, f) = (integer, float);
    let (reads, writes, branch): ([u8; 3], u8, Option<BranchKind>) = match bits & 0x7f {
        // load, floating-point load
        0x03 => ([x(rs1), 0, 0], x(rd), None),
        0x07 => ([x(rs1), 0, 0], f(rd), None),
        // operations with an immediate
        0x13 | 0x1b => ([x(rs1), 0, 0], x(rd), None),
        // auipc, lui
        0x17 | 0x37 => ([0; 3], x(rd), None),
        // store, floating-point store
        0x23 => ([x(rs1), x(rs2), 0], 0, None),
        0x27 => ([x(rs1), f(rs2), 0], 0, None),
        // atomic operations, operations of two registers
        0x2f | 0x33 | 0x3b => ([x(rs1), x(rs2), 0], x(rd), None),
        // fused multiply-add
        0x43 | 0x47 | 0x4b | 0x4f => ([f(rs1), f(rs2), f(rs3)], f(rd), None),
        0x53 => floating_point(bits, (rd, rs1, rs2)),
        0x63 => ([x(rs1), x(rs2), 0], 0, Some(BranchKind::Conditional)),
        0x67 => {
            let kind = match (is_link(rd), is_link(rs1)) {
                (true, _) => BranchKind::IndirectCall,
                (false, true) => BranchKind::Return,
                (false, false) => BranchKind::IndirectJump,
            };
            ([x(rs1), 0, 0], x(rd), Some(kind))
        }
        0x6f => ([0; 3], x(rd), Some(if is_link(rd) { BranchKind::Call } else { BranchKind::Jump })),
        // CSR accesses; those with an immediate have bit 14
        0x73 if bits >> 12 & 3 != 0 => ([if bits >> 14 & 1 == 0 { x(rs1) } else { 0 }, 0, 0], x(rd), None),
        _ => ([0; 3], 0, None),
    };
    Decoded { bytes: 4, branch, operands: Operands::new(&reads, &[writes]) }
}

/// Computations on floating-point registers: some read or write an integer register.
fn floating_point(bits: u32, (rd, rs1, rs2): (u32, u32, u32)) -> ([u8; 3], u8, Option<BranchKind>) {
    let function = bits >> 27;
    let unary = matches!(function, 0x0b | 0x08 | 0x18 | 0x1a | 0x1c | 0x1e);
    let second = if unary { 0 } else { float(rs2) };
    let first = if matches!(function, 0x1a | 0x1e) { integer(rs1) } else { float(rs1) };
    let written = if matches!(function, 0x14 | 0x18 | 0x1c) { integer(rd) } else { float(rd) };
    ([first, second, 0], written, None)
}

fn compressed(bits: u32) -> Decoded {
    let short = |shift: u32| 8 + (bits >> shift & 7);
    let (rd, rs2) = (bits >> 7 & 31, bits >> 2 & 31);
    let (first, second) = (short(7), short(2));
    let (x, f) = (integer, float);
    let stack = integer(2);
    let (reads, writes, branch): ([u8; 2], u8, Option<BranchKind>) = match (bits & 3, bits >> 13) {
        (0, 0) => ([stack, 0], x(second), None),
        (0, 1) => ([x(first), 0], f(second), None),
        (0, 2 | 3) => ([x(first), 0], x(second), None),
        (0, 5) => ([x(first), f(second)], 0, None),
        (0, 6 | 7) => ([x(first), x(second)], 0, None),
        (1, 0 | 1) | (2, 0) => ([x(rd), 0], x(rd), None),
        (1, 3) if rd == 2 => ([stack, 0], stack, None),
        (1, 2 | 3) => ([0; 2], x(rd), None),
        (1, 4) => ([x(first), if bits >> 10 & 3 == 3 { x(second) } else { 0 }], x(first), None),
        (1, 5) => ([0; 2], 0, Some(BranchKind::Jump)),
        (1, _) => ([x(first), 0], 0, Some(BranchKind::Conditional)),
        (2, 1) => ([stack, 0], f(rd), None),
        (2, 2 | 3) => ([stack, 0], x(rd), None),
        (2, 4) => match (bits >> 12 & 1, rd, rs2) {
            (0, rs1, 0) => {
                let kind = if is_link(rs1) { BranchKind::Return } else { BranchKind::IndirectJump };
                ([x(rs1), 0], 0, Some(kind))
            }
            (0, rd, rs2) => ([x(rs2), 0], x(rd), None),
            // ebreak
            (_, 0, 0) => ([0; 2], 0, None),
            (_, rs1, 0) => ([x(rs1), 0], x(1), Some(BranchKind::IndirectCall)),
            (_, rd, rs2) => ([x(rd), x(rs2)], x(rd), None),
        },
        (2, 5) => ([stack, f(rs2)], 0, None),
        (2, 6 | 7) => ([stack, x(rs2)], 0, None),
        _ => ([0; 2], 0, None),
    };
    Decoded { bytes: 2, branch, operands: Operands::new(&reads, &[writes]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_decodes(bits: u32, bytes: u8, branch: Option<BranchKind>, reads: &[u8], writes: &[u8]) {
        assert_eq!(decode(bits), Decoded { bytes, branch, operands: Operands::new(reads, writes) }, "{bits:#x}");
    }

    #[test]
    fn instructions_say_what_they_read_and_write() {
        // ld a0, 8(sp); sd a1, 0(a0); add a0, a1, a2; fmv.x.d a0, fa0
        assert_decodes(0x0081_3503, 4, None, &[6], &[74]);
        assert_decodes(0x00b5_3023, 4, None, &[74, 75], &[]);
        assert_decodes(0x00c5_8533, 4, None, &[75, 76], &[74]);
        assert_decodes(0xe205_0553, 4, None, &[138], &[74]);
        // amoadd.d a0, a1, (a2); csrrw x0, satp, a0
        assert_decodes(0x00b6_352f, 4, None, &[76, 75], &[74]);
        assert_decodes(0x1805_1073, 4, None, &[74], &[]);
    }

    #[test]
    fn branches_have_their_kind() {
        // beq a0, a1, 8; jal ra, 0; jal x0, 0; jalr x0, 0(ra); jalr ra, 0(a5); jalr x0, 0(a5)
        assert_decodes(0x00b5_0463, 4, Some(BranchKind::Conditional), &[74, 75], &[]);
        assert_decodes(0x0000_00ef, 4, Some(BranchKind::Call), &[], &[65]);
        assert_decodes(0x0000_006f, 4, Some(BranchKind::Jump), &[], &[]);
        assert_decodes(0x0000_8067, 4, Some(BranchKind::Return), &[65], &[]);
        assert_decodes(0x0007_80e7, 4, Some(BranchKind::IndirectCall), &[79], &[65]);
        assert_decodes(0x0007_8067, 4, Some(BranchKind::IndirectJump), &[79], &[]);
        // c.jr ra; c.jalr a5; c.j 0; c.beqz a0, 0
        assert_decodes(0x8082, 2, Some(BranchKind::Return), &[65], &[]);
        assert_decodes(0x9782, 2, Some(BranchKind::IndirectCall), &[79], &[65]);
        assert_decodes(0xa001, 2, Some(BranchKind::Jump), &[], &[]);
        assert_decodes(0xc101, 2, Some(BranchKind::Conditional), &[74], &[]);
    }

    #[test]
    fn compressed_instructions_say_what_they_read_and_write() {
        // c.ldsp ra, 8(sp); c.sdsp ra, 8(sp); c.mv a0, a1; c.add a0, a1; c.ld a0, 0(a1)
        assert_decodes(0x60a2, 2, None, &[6], &[65]);
        assert_decodes(0xe406, 2, None, &[6, 65], &[]);
        assert_decodes(0x852e, 2, None, &[75], &[74]);
        assert_decodes(0x952e, 2, None, &[74, 75], &[74]);
        assert_decodes(0x6188, 2, None, &[75], &[74]);
    }
}
