//! Small guests without tables of their own, from instructions.

use super::elf;

fn immediate(imm: i32, rs1: u32, function: u32, rd: u32, opcode: u32) -> u32 {
    (imm as u32) << 20 | rs1 << 15 | function << 12 | rd << 7 | opcode
}

pub(crate) fn addi(rd: u32, rs1: u32, imm: i32) -> u32 {
    immediate(imm, rs1, 0, rd, 0x13)
}

pub(crate) fn ld(rd: u32, rs1: u32, imm: i32) -> u32 {
    immediate(imm, rs1, 3, rd, 0x03)
}

pub(crate) fn sd(rs2: u32, rs1: u32, imm: i32) -> u32 {
    let imm = imm as u32;
    (imm >> 5 & 127) << 25 | rs2 << 20 | rs1 << 15 | 3 << 12 | (imm & 31) << 7 | 0x23
}

pub(crate) fn add(rd: u32, rs1: u32, rs2: u32) -> u32 {
    rs2 << 20 | rs1 << 15 | rd << 7 | 0x33
}

/// A jump to where a register says.
pub(crate) fn jalr(rd: u32, rs1: u32) -> u32 {
    immediate(0, rs1, 0, rd, 0x67)
}

/// A branch where two registers differ.
pub(crate) fn bne(rs1: u32, rs2: u32, offset: i32) -> u32 {
    let o = offset as u32;
    let high = (o >> 12 & 1) << 31 | (o >> 5 & 63) << 25;
    let low = (o >> 1 & 15) << 8 | (o >> 11 & 1) << 7;
    high | rs2 << 20 | rs1 << 15 | 1 << 12 | low | 0x63
}

/// Hints that end the guest with a status: 0 where two registers are equal, else 1.
pub(crate) fn end_if_equal(rs1: u32, rs2: u32) -> [u32; 4] {
    [bne(rs1, rs2, 8), 0x1000_2013, 0x1010_2013, 0xffdf_f06f]
}

/// A guest at `start` that has the parameters in `x20` and those behind when it comes to `words`.
pub(crate) fn program(start: u64, words: &[u32], parameters: &[u64]) -> Vec<u8> {
    let load = (0..parameters.len()).map(|index| ld(20 + index as u32, 5, 8 * index as i32));
    // auipc x5, 0
    let words = [0x0000_0297, addi(5, 5, 0x400)].into_iter().chain(load).chain(words.iter().copied());
    let mut memory = vec![0; 4096];
    for (index, word) in words.enumerate() {
        memory[4 * index..][..4].copy_from_slice(&word.to_le_bytes());
    }
    for (index, parameter) in parameters.iter().enumerate() {
        memory[0x400 + 8 * index..][..8].copy_from_slice(&parameter.to_le_bytes());
    }
    elf(start, &memory)
}
