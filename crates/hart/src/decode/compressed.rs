//! Expansion of compressed instructions to their full equivalents (volume I, chapter 28 "C" extension).

/// The full instruction that `half` expands to; `None` if it is reserved.
#[allow(clippy::too_many_lines, reason = "one table, in the order of the manual's")]
pub(super) fn expand(half: u16) -> Option<u32> {
    let h = u32::from(half);
    // A run of bits `from..=to` of the instruction, moved to bit `at`.
    let bits = |from: u32, to: u32, at: u32| (h >> from & ((1 << (to - from + 1)) - 1)) << at;
    // The registers x8 to x15 that three bits name.
    let short = |at: u32| 8 + bits(at, at + 2, 0);
    let (rd, rs2) = (bits(7, 11, 0), bits(2, 6, 0));
    // The sign-extended six-bit immediate.
    let imm6 = ((bits(12, 12, 5) | bits(2, 6, 0)) as i32) << 26 >> 26;
    let shamt = bits(12, 12, 5) | bits(2, 6, 0);
    let word_offset = bits(10, 12, 3) | bits(6, 6, 2) | bits(5, 5, 6);
    let double_offset = bits(10, 12, 3) | bits(5, 6, 6);

    Some(match (half & 3, half >> 13) {
        // c.addi4spn
        (0, 0) => {
            let imm = bits(11, 12, 4) | bits(7, 10, 6) | bits(6, 6, 2) | bits(5, 5, 3);
            if imm == 0 {
                return None;
            }
            i(OP_IMM, 0, short(2), 2, imm as i32)
        }
        (0, 1) => i(LOAD_FP, 3, short(2), short(7), double_offset as i32),
        (0, 2) => i(LOAD, 2, short(2), short(7), word_offset as i32),
        (0, 3) => i(LOAD, 3, short(2), short(7), double_offset as i32),
        (0, 5) => s(STORE_FP, 3, short(7), short(2), double_offset),
        (0, 6) => s(STORE, 2, short(7), short(2), word_offset),
        (0, 7) => s(STORE, 3, short(7), short(2), double_offset),
        // c.addi, c.nop and HINTs
        (1, 0) => i(OP_IMM, 0, rd, rd, imm6),
        // c.addiw
        (1, 1) if rd != 0 => i(OP_IMM_32, 0, rd, rd, imm6),
        // c.li
        (1, 2) => i(OP_IMM, 0, rd, 0, imm6),
        // c.addi16sp
        (1, 3) if rd == 2 => {
            let imm = bits(12, 12, 9) | bits(6, 6, 4) | bits(5, 5, 6) | bits(3, 4, 7) | bits(2, 2, 5);
            if imm == 0 {
                return None;
            }
            i(OP_IMM, 0, 2, 2, (imm as i32) << 22 >> 22)
        }
        // c.lui
        (1, 3) => {
            if imm6 == 0 {
                return None;
            }
            (imm6 as u32) << 12 | rd << 7 | LUI
        }
        (1, 4) => {
            let rd = short(7);
            match (bits(10, 11, 0), bits(12, 12, 0), bits(5, 6, 0)) {
                (0, ..) => i(OP_IMM, 5, rd, rd, shamt as i32),
                (1, ..) => i(OP_IMM, 5, rd, rd, (shamt | 0x400) as i32),
                (2, ..) => i(OP_IMM, 7, rd, rd, imm6),
                (_, 0, 0) => r(OP, 0, 0x20, rd, rd, short(2)),
                (_, 0, 1) => r(OP, 4, 0, rd, rd, short(2)),
                (_, 0, 2) => r(OP, 6, 0, rd, rd, short(2)),
                (_, 0, _) => r(OP, 7, 0, rd, rd, short(2)),
                (_, _, 0) => r(OP_32, 0, 0x20, rd, rd, short(2)),
                (_, _, 1) => r(OP_32, 0, 0, rd, rd, short(2)),
                _ => return None,
            }
        }
        // c.j
        (1, 5) => {
            let offset = bits(12, 12, 11)
                | bits(11, 11, 4)
                | bits(9, 10, 8)
                | bits(8, 8, 10)
                | bits(7, 7, 6)
                | bits(6, 6, 7)
                | bits(3, 5, 1)
                | bits(2, 2, 5);
            j((offset as i32) << 20 >> 20)
        }
        // c.beqz, c.bnez
        (1, kind @ (6 | 7)) => {
            let offset = bits(12, 12, 8) | bits(10, 11, 3) | bits(5, 6, 6) | bits(3, 4, 1) | bits(2, 2, 5);
            b(u32::from(kind) - 6, short(7), 0, (offset as i32) << 23 >> 23)
        }
        (2, 0) => i(OP_IMM, 1, rd, rd, shamt as i32),
        (2, 1) => i(LOAD_FP, 3, rd, 2, (bits(12, 12, 5) | bits(5, 6, 3) | bits(2, 4, 6)) as i32),
        (2, 2) if rd != 0 => i(LOAD, 2, rd, 2, (bits(12, 12, 5) | bits(4, 6, 2) | bits(2, 3, 6)) as i32),
        (2, 3) if rd != 0 => i(LOAD, 3, rd, 2, (bits(12, 12, 5) | bits(5, 6, 3) | bits(2, 4, 6)) as i32),
        (2, 4) => match (bits(12, 12, 0), rd, rs2) {
            (0, 0, 0) => return None,
            // c.jr
            (0, _, 0) => i(JALR, 0, 0, rd, 0),
            // c.mv
            (0, ..) => r(OP, 0, 0, rd, 0, rs2),
            (_, 0, 0) => EBREAK,
            // c.jalr
            (_, _, 0) => i(JALR, 0, 1, rd, 0),
            // c.add
            _ => r(OP, 0, 0, rd, rd, rs2),
        },
        (2, 5) => s(STORE_FP, 3, 2, rs2, bits(10, 12, 3) | bits(7, 9, 6)),
        (2, 6) => s(STORE, 2, 2, rs2, bits(9, 12, 2) | bits(7, 8, 6)),
        (2, 7) => s(STORE, 3, 2, rs2, bits(10, 12, 3) | bits(7, 9, 6)),
        _ => return None,
    })
}

const LOAD: u32 = 0x03;
const LOAD_FP: u32 = 0x07;
const OP_IMM: u32 = 0x13;
const OP_IMM_32: u32 = 0x1b;
const STORE: u32 = 0x23;
const STORE_FP: u32 = 0x27;
const OP: u32 = 0x33;
const LUI: u32 = 0x37;
const OP_32: u32 = 0x3b;
const BRANCH: u32 = 0x63;
const JALR: u32 = 0x67;
const JAL: u32 = 0x6f;
const EBREAK: u32 = 0x0010_0073;

const fn i(opcode: u32, funct3: u32, rd: u32, rs1: u32, imm: i32) -> u32 {
    (imm as u32) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

const fn s(opcode: u32, funct3: u32, rs1: u32, rs2: u32, imm: u32) -> u32 {
    (imm >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (imm & 31) << 7 | opcode
}

const fn r(opcode: u32, funct3: u32, funct7: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

const fn b(funct3: u32, rs1: u32, rs2: u32, imm: i32) -> u32 {
    let imm = imm as u32;
    (imm >> 12 & 1) << 31
        | (imm >> 5 & 0x3f) << 25
        | rs2 << 20
        | rs1 << 15
        | funct3 << 12
        | (imm >> 1 & 15) << 8
        | (imm >> 11 & 1) << 7
        | BRANCH
}

const fn j(imm: i32) -> u32 {
    let imm = imm as u32;
    (imm >> 20 & 1) << 31 | (imm >> 1 & 0x3ff) << 21 | (imm >> 11 & 1) << 20 | (imm >> 12 & 0xff) << 12 | JAL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_assembler_encodes_them() {
        // Pairs of what Debian's assembler makes of the compressed and the full form.
        for (half, full) in [
            (0x1141, 0xff01_0113), // addi sp, sp, -16
            (0x0800, 0x0101_0413), // addi s0, sp, 16
            (0x4501, 0x0000_0513), // li a0, 0
            (0x8082, 0x0000_8067), // ret
            (0xe406, 0x0011_3423), // sd ra, 8(sp)
            (0x60a2, 0x0081_3083), // ld ra, 8(sp)
            (0x952e, 0x00b5_0533), // add a0, a0, a1
            (0x9002, 0x0010_0073), // ebreak
            (0x6141, 0x0101_0113), // addi sp, sp, 16
            (0x67c1, 0x0001_07b7), // lui a5, 0x10
        ] {
            assert_eq!(expand(half), Some(full), "{half:#06x}");
        }
        assert_eq!(expand(0), None);
    }
}
