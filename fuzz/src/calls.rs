//! SBI calls: what several harts call, one after the other, under every engine.

use crate::code::{self, ECALL, ENTRY, FINISH, WFI, add, addi, auipc, beq, csr, jump, ld, slli};
use crate::same;
use testing::Random;

/// Bytes of a hart's list of calls.
const LIST: u64 = 0x1000;
/// Bytes of a call: a0 to a7.
const CALL: u64 = 64;
/// The most calls of a hart; the last entry of the list ends it.
const MOST_CALLS: u64 = LIST / CALL - 1;
/// Where the lists begin, from the entry point on.
const LISTS_AT: u64 = 0x1000;
const HARTS: u64 = 3;

const STVEC: u32 = 0x105;
const SIE: u32 = 0x104;
const A0: u32 = 10;
const A7: u32 = 17;
const T0: u32 = 5;
const S0: u32 = 8;

/// Extensions that the specification has, those that Pagewalk has not among them, and Pagewalk's own.
const EXTENSIONS: [u64; 24] = [
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    0x10,
    0x5449_4d45,
    0x0073_5049,
    0x5246_4e43,
    0x0048_534d,
    0x5352_5354,
    0x4442_434e,
    0x0050_4d55,
    0x5355_5350,
    0x4e41_434c,
    0x0053_5441,
    0x4650_5043,
    0x4657_4654,
    0x4d50_5859,
    0x0850_4157,
];

/// Every hart makes the calls of its list, from the first on when it is started again, and then does `end` for ever.
fn program(end: u32) -> Vec<u8> {
    const LOOP: i32 = 7;
    const END: i32 = 20;
    let mut words = vec![
        // The list is that of the hart's number in a0.
        auipc(S0, (LISTS_AT >> 12) as u32),
        slli(T0, A0, LIST.ilog2() as i32),
        add(S0, S0, T0),
        // A trap ends the calls.
        auipc(T0, 0),
        addi(T0, T0, (END - 3) * 4),
        csr(1, 0, STVEC, T0),
        csr(6, 0, SIE, 1 << 1),
        // LOOP: the next call, unless its extension is -1.
        ld(A7, S0, 56),
        addi(T0, A7, 1),
        beq(T0, 0, (END - 9) * 4),
    ];
    words.extend((0..7).map(|argument| ld(A0 + argument, S0, 8 * argument as i32)));
    words.extend([ECALL, addi(S0, S0, CALL as i32), jump((LOOP - 19) * 4), end, jump(-4)]);
    code::bytes(&words)
}

/// An argument that a call may mean something by.
fn argument(random: &mut Random) -> u64 {
    match random.below(8) {
        0 => random.below(8),
        1 => u64::MAX - random.below(3),
        2 => 1 << random.below(64),
        // In RAM, at its end, or at a device.
        3 => ENTRY + random.below(1 << 20),
        4 => 0x8000_0000 + random.below(1 << 13) * 4096,
        5 => 0x1000_0000 + random.below(0x1_2000),
        6 => ENTRY,
        _ => random.bits(),
    }
}

fn call(random: &mut Random) -> [u64; 8] {
    let extension = if random.one_in(16) { random.bits() } else { random.pick(&EXTENSIONS) };
    let function = if random.one_in(16) { random.bits() } else { random.below(24) };
    let mut call = [0; 8];
    for argument_ in &mut call[..6] {
        *argument_ = argument(random);
    }
    call[6] = function;
    call[7] = extension;
    call
}

/// Runs the target.
///
/// # Panics
/// If the guest ends otherwise under another engine.
pub fn run(input: &[u8]) {
    let mut random = Random::of_input(input);
    let Ok(builder) = same::configuration(&mut random) else { return };
    let end = if random.one_in(2) { FINISH } else { WFI };
    let mut lists = [const { Vec::new() }; HARTS as usize];
    while random.has_input() {
        let list: &mut Vec<[u64; 8]> = &mut lists[random.index(HARTS as usize)];
        if list.len() as u64 == MOST_CALLS {
            break;
        }
        list.push(call(&mut random));
    }
    let mut content = program(end);
    for (list, at) in lists.iter().zip((LISTS_AT..).step_by(LIST as usize)) {
        content.resize(at as usize, 0);
        content.extend(list.iter().flatten().flat_map(|word| word.to_le_bytes()));
        content.extend([0xff; CALL as usize]);
    }
    same::under_every_engine(&builder, &code::kernel(&content));
}
