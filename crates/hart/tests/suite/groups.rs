//! Accesses in a row off the same base register, which host code compares at once, on all engines: wherever the base lies, they are as they are one by one.

use super::{
    common::{ENGINES, FlatBus},
    execution::{ECALL, addi, bne, run_at},
};
use hart::{Engine, Hart, Isa};

/// The loads and stores of a block, around a base register that a loop moves on by one byte. The register of the sum is `x15`.
fn program() -> Vec<u32> {
    const ADD_13: u32 = 0x00d7_87b3;
    const ADD_14: u32 = 0x00e7_87b3;
    let body = [
        // A group with a store, of several widths.
        store(3, 12, 0),
        addi(12, 12, 3),
        store(2, 12, 12),
        load(3, 13, 0),
        load(4, 14, 15),
        ADD_13,
        ADD_14,
        // One of loads, which begins with the narrowest.
        load(4, 13, 3),
        load(5, 14, 6),
        ADD_13,
        load(2, 13, 12),
        ADD_13,
        ADD_14,
        // One of stores, far apart.
        store(0, 15, 200),
        store(1, 15, 28),
        addi(11, 11, 1),
        addi(10, 10, -1),
    ];
    let back = -4 * body.len() as i32;
    body.into_iter().chain([bne(10, 0, back), ECALL]).collect()
}

/// `lb` to `ld`, `lbu`, `lhu`, by their function, off `x11`.
fn load(function: u32, rd: u32, imm: u32) -> u32 {
    imm << 20 | 11 << 15 | function << 12 | rd << 7 | 0x03
}

/// `sb` to `sd` off `x11`.
fn store(function: u32, rs2: u32, imm: u32) -> u32 {
    imm >> 5 << 25 | rs2 << 20 | 11 << 15 | function << 12 | (imm & 31) << 7 | 0x23
}

const STVEC_IS_SP: u32 = 0x1051_1073;

/// What the program leaves behind, from the base `at` on, or up to its trap.
fn left(engine: Engine, at: u64, leaves: bool) -> (Vec<u64>, impl PartialEq + std::fmt::Debug) {
    let words: Vec<u32> = std::iter::once(STVEC_IS_SP).chain(program()).collect();
    let prepare = |hart: &mut Hart, bus: &mut FlatBus| {
        bus.leaves = leaves;
        hart.set_register(2, 0x4000);
        hart.set_register(10, 64);
        hart.set_register(11, at);
        hart.set_register(12, 0x0123_4567_89ab_cdef);
        // csrr a0, sepc; csrr a1, stval; ecall
        bus.write(0x4000, &[0x73, 0x25, 0x10, 0x14, 0xf3, 0x25, 0x30, 0x14, 0x73, 0, 0, 0]);
    };
    let (hart, _) = run_at(engine, Isa::default(), 0x1000, &words, prepare);
    ((10..16).map(|number| hart.register(number)).collect(), hart.counts())
}

#[test]
fn groups_of_accesses_are_as_their_accesses_one_by_one() {
    // In a page; across two, with each of the groups; from the program's page, which stores leave alone, to the next; up to the end of the memory, where they trap.
    for at in [0x8000, 0x8fd8, 0x8f10, 0x1f18, 0xf_ff10, 0xf_ffe0] {
        for leaves in [false, true] {
            let expected = left(Engine::Matching, at, leaves);
            for &engine in ENGINES {
                assert!(left(engine, at, leaves) == expected, "{engine:?} {at:#x} {leaves}");
            }
        }
    }
}
