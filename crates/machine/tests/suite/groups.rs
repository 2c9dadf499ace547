//! Accesses in a row off the same base register, which host code compares at once, across pages that have frames apart.

use super::common::{Transcript, config, elf, image};
use machine::{Machine, Outcome};

const CODE: u64 = 0x8020_0000;
const DATA: u64 = 0x8080_0000;
const PAGES: u64 = 600;

fn immediate(imm: i32, rs1: u32, function: u32, rd: u32, opcode: u32) -> u32 {
    (imm as u32) << 20 | rs1 << 15 | function << 12 | rd << 7 | opcode
}

fn addi(rd: u32, rs1: u32, imm: i32) -> u32 {
    immediate(imm, rs1, 0, rd, 0x13)
}

fn ld(rd: u32, rs1: u32, imm: i32) -> u32 {
    immediate(imm, rs1, 3, rd, 0x03)
}

fn sd(rs2: u32, rs1: u32, imm: i32) -> u32 {
    let imm = imm as u32;
    (imm >> 5 & 127) << 25 | rs2 << 20 | rs1 << 15 | 3 << 12 | (imm & 31) << 7 | 0x23
}

fn add(rd: u32, rs1: u32, rs2: u32) -> u32 {
    rs2 << 20 | rs1 << 15 | rd << 7 | 0x33
}

/// A branch where two registers differ.
fn bne(rs1: u32, rs2: u32, offset: i32) -> u32 {
    let o = offset as u32;
    let high = (o >> 12 & 1) << 31 | (o >> 5 & 63) << 25;
    let low = (o >> 1 & 15) << 8 | (o >> 11 & 1) << 7;
    high | rs2 << 20 | rs1 << 15 | 1 << 12 | low | 0x63
}

/// A guest without tables of its own. At each page's end it stores four words, of which two are in the next page, and changes the third by the second. Then it goes
/// over them once more and adds them up. It ends with status 0 if the sum is right, and 1 if not. `x5` is the base, `x6` counts pages, `x7` and `x8` have what is
/// stored, `x15` is the sum.
fn guest() -> Vec<u8> {
    let load_parameters = [0x0000_0297, addi(5, 5, 0x400), ld(20, 5, 0), ld(21, 5, 8), ld(22, 5, 16), ld(23, 5, 24)];
    let begin = [add(5, 20, 0), add(6, 21, 0)];
    let next = [add(5, 5, 22), addi(6, 6, -1)];
    let store = [
        sd(7, 5, 0),
        addi(8, 7, 1),
        sd(8, 5, 8),
        addi(8, 8, 1),
        sd(8, 5, 16),
        addi(8, 8, 1),
        sd(8, 5, 24),
        addi(7, 7, 7),
    ];
    let change = [ld(9, 5, 8), ld(10, 5, 16), add(10, 10, 9), sd(10, 5, 16)];
    let sum = [
        ld(9, 5, 24),
        ld(10, 5, 16),
        ld(11, 5, 8),
        ld(12, 5, 0),
        add(15, 15, 9),
        add(15, 15, 10),
        add(15, 15, 11),
        add(15, 15, 12),
    ];
    let again = |body: usize| bne(6, 0, -4 * body as i32);
    let mut words = load_parameters.to_vec();
    words.extend(begin);
    words.extend(store.into_iter().chain(change).chain(next));
    words.push(again(store.len() + change.len() + next.len()));
    words.extend(begin);
    words.extend(sum.into_iter().chain(next));
    words.push(again(sum.len() + next.len()));
    // Hints that end the guest with a status: 0 where the sum is the expected one, else 1.
    words.extend([bne(15, 23, 8), 0x1000_2013, 0x1010_2013, 0xffdf_f06f]);
    let expected = (0..PAGES).map(|page| {
        let first = 7 * page;
        first + (first + 1) + (first + 2 + first + 1) + (first + 3)
    });
    let mut memory = vec![0; 4096];
    for (index, word) in words.into_iter().enumerate() {
        memory[4 * index..][..4].copy_from_slice(&word.to_le_bytes());
    }
    for (index, parameter) in [DATA + 4096 - 16, PAGES, 4096, expected.sum()].into_iter().enumerate() {
        memory[0x400 + 8 * index..][..8].copy_from_slice(&parameter.to_le_bytes());
    }
    elf(CODE, &memory)
}

#[test]
fn groups_across_pages_reach_the_frames_of_both() {
    for engine in ["match", "threaded", "compiled", "compiled-all", "baseline-all"] {
        let settings = [
            ("scheme", "nested:4K+4K"),
            ("memory", "64M"),
            ("frame_placement", "random:1"),
            ("engine", engine),
            ("timeout", "100"),
        ];
        let mut machine = Machine::assemble(&config(&settings), &image(guest(), "")).unwrap();
        assert_eq!(machine.run(&mut Transcript::default()), Outcome::Finished(0), "{engine}");
    }
}
