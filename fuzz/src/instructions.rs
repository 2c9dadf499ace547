//! Machine code that may be anything, in U-mode on every engine.

use hart::{Engine, Hotness};
use testing::Random;
use torture::generate;
use torture::opcode::OPCODES;
use torture::trace::{CODE, DATA, DATA_BYTES, Start};

/// The most bytes of code.
const MOST_CODE: usize = 0x400;

/// A value of a register: a small number, an address in the code or the data, or anything.
fn value(random: &mut Random) -> u64 {
    match random.below(5) {
        0 => random.below(64),
        1 => CODE + random.below(MOST_CODE as u64),
        2 => DATA + random.below(DATA_BYTES as u64),
        3 => u64::MAX - random.below(64),
        _ => random.bits(),
    }
}

fn code(random: &mut Random) -> Vec<u8> {
    let mut code = Vec::new();
    while random.has_input() && code.len() < MOST_CODE {
        if random.one_in(4) {
            code.extend((random.bits() as u32).to_le_bytes());
        } else {
            let opcode = &OPCODES[random.index(OPCODES.len())];
            let instruction = generate::operands(random, opcode);
            code.extend(&instruction.encode().to_le_bytes()[..opcode.size()]);
        }
    }
    code
}

/// Runs the target.
///
/// # Panics
/// If an engine does otherwise than the `match` engine.
pub fn run(input: &[u8]) {
    let mut random = Random::of_input(input);
    let x = std::array::from_fn(|_| value(&mut random));
    let f = std::array::from_fn(|_| if random.one_in(2) { 0 } else { random.bits() });
    let start = Start { data: random.bytes(64), code: code(&mut random), x, f };
    let expected = start.run(Engine::Matching);
    for engine in [Engine::Threaded, Engine::Compiled(Hotness::ALL), Engine::Compiled(Hotness(1))] {
        let trace = start.run(engine);
        assert!(trace == expected, "{engine:?} differs:\n{trace:?}\ninstead of\n{expected:?}");
    }
}
