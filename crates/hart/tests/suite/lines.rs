//! Which lines a program uses, as the bus hears of them.

use super::common::{FlatBus, hart_at};
use hart::{CodeCache, Engine, Exit, Isa};
use types::Access;

const ENGINES: [Engine; 2] = [Engine::Threaded, Engine::Matching];
const ECALL: [u16; 2] = [0x0073, 0];
/// `c.nop`.
const NOP: u16 = 0x0001;
/// `addi a0, a0, 1`, in halves.
const ADDI: [u16; 2] = [0x0513, 0x0015];
/// `jal x0, 128`, in halves.
const JUMP: [u16; 2] = [0x006f, 0x0800];

/// The lines of 64 bytes that are used when `program`, at `at`, runs to its call: a further use of the line used last is left out, as caches leave it.
fn lines(engine: Engine, at: u64, program: &[u16], access: impl Fn(Access) -> bool) -> Vec<u64> {
    let mut bus = FlatBus::new(1 << 20);
    bus.uses = Some(Vec::new());
    let bytes: Vec<u8> = program.iter().flat_map(|half| half.to_le_bytes()).collect();
    bus.write(at as usize, &bytes);
    let (mut hart, code) = hart_at(&bus, Isa::default(), at);
    hart.set_register(10, 0x8000);
    let mut code: CodeCache<FlatBus> = code.with_fetch_lines(64);
    while hart.run(&mut code, &mut bus, 1000, engine) != Exit::SupervisorCall {}
    let uses = bus.uses.unwrap();
    let mut lines: Vec<u64> = uses.iter().filter(|(_, of)| access(*of)).map(|(address, _)| address & !63).collect();
    lines.dedup();
    lines
}

fn fetched(engine: Engine, at: u64, program: &[u16]) -> Vec<u64> {
    lines(engine, at, program, |access| access == Access::Execute)
}

#[test]
fn straight_code_fetches_each_line_once_and_in_order() {
    for engine in ENGINES {
        let program = [&[NOP; 100][..], &ECALL].concat();
        assert_eq!(fetched(engine, 0x1000, &program), [0x1000, 0x1040, 0x1080, 0x10c0]);
        assert_eq!(fetched(engine, 0x103e, &program), [0x1000, 0x1040, 0x1080, 0x10c0, 0x1100]);
    }
}

#[test]
fn an_instruction_across_lines_fetches_both() {
    for engine in ENGINES {
        let program = [&[NOP; 30][..], &[NOP], &ADDI, &ECALL].concat();
        assert_eq!(fetched(engine, 0x1000, &program), [0x1000, 0x1040]);
        // And across pages.
        assert_eq!(fetched(engine, 0x1fc0, &program), [0x1fc0, 0x2000]);
    }
}

#[test]
fn a_jump_fetches_its_target_and_not_what_is_between() {
    for engine in ENGINES {
        let program = [&JUMP[..], &[NOP; 62], &ECALL].concat();
        assert_eq!(fetched(engine, 0x1000, &program), [0x1000, 0x1080]);
        assert_eq!(fetched(engine, 0x1f80, &program), [0x1f80, 0x2000]);
    }
}

#[test]
fn loads_stores_and_atomics_use_their_lines_once_each() {
    // ld a1, 0(a0); sd a1, 64(a0); addi a2, a0, 128; amoadd.d a3, a1, (a2); lr.d a3, (a2)
    let words: [u32; 5] = [0x0005_3583, 0x04b5_3023, 0x0805_0613, 0x00b6_36af, 0x1006_36af];
    let program: Vec<u16> = words.iter().flat_map(|word| [*word as u16, (word >> 16) as u16]).chain(ECALL).collect();
    for engine in ENGINES {
        assert_eq!(lines(engine, 0x1000, &program, |access| access == Access::Read), [0x8000, 0x8080]);
        assert_eq!(lines(engine, 0x1000, &program, |access| access == Access::Write), [0x8040, 0x8080]);
    }
}

/// The two engines execute the same micro-ops, but one of them in pairs.
#[test]
fn nothing_is_used_unless_the_bus_asks_for_lines_of_code() {
    for engine in ENGINES {
        let mut bus = FlatBus::new(1 << 20);
        bus.uses = Some(Vec::new());
        bus.write(0x1000, &[NOP.to_le_bytes(), ECALL[0].to_le_bytes(), ECALL[1].to_le_bytes()].concat());
        let (mut hart, mut code) = hart_at(&bus, Isa::default(), 0x1000);
        while hart.run(&mut code, &mut bus, 1000, engine) != Exit::SupervisorCall {}
        // The call itself is executed by the run loop, which reads it again.
        assert_eq!(bus.uses.unwrap(), [(0x1002, Access::Execute), (0x1004, Access::Execute)]);
    }
}
