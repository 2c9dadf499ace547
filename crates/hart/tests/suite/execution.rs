//! Small programs on all engines: counting, traps, self-modification, pages, reservations.

use super::common::{ENGINES, FlatBus, hart_at};
use hart::{Engine, Exit, Hart, Hotness, Isa};

/// Runs `words` placed at `at` until the program makes an SBI call.
pub(super) fn run_at(
    engine: Engine,
    isa: Isa,
    at: usize,
    words: &[u32],
    prepare: impl Fn(&mut Hart, &mut FlatBus),
) -> (Hart, FlatBus) {
    let mut bus = FlatBus::new(1 << 20);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bus.write(at, &bytes);
    let (mut hart, mut code) = hart_at(&bus, isa, at as u64);
    prepare(&mut hart, &mut bus);
    for _ in 0..10_000 {
        if hart.run(&mut code, &mut bus, 10_000, engine) == Exit::SupervisorCall {
            return (hart, bus);
        }
    }
    panic!("the program did not end: pc {:#x}", hart.pc());
}

pub(super) const ECALL: u32 = 0x0000_0073;

pub(super) fn addi(rd: u32, rs1: u32, imm: i32) -> u32 {
    (imm as u32) << 20 | rs1 << 15 | rd << 7 | 0x13
}

pub(super) fn bne(rs1: u32, rs2: u32, offset: i32) -> u32 {
    let o = offset as u32;
    (o >> 12 & 1) << 31
        | (o >> 5 & 63) << 25
        | rs2 << 20
        | rs1 << 15
        | 1 << 12
        | (o >> 1 & 15) << 8
        | (o >> 11 & 1) << 7
        | 0x63
}

fn sw(rs1: u32, rs2: u32) -> u32 {
    rs2 << 20 | rs1 << 15 | 2 << 12 | 0x23
}

fn ld(rd: u32, rs1: u32) -> u32 {
    rs1 << 15 | 3 << 12 | rd << 7 | 0x03
}

#[test]
fn a_loop_counts_its_instructions_loads_and_stores_exactly() {
    for &engine in ENGINES {
        // a0 = 1000; a1 = 0x8000; loop { *a1 = a0; a2 = *a1; a0 -= 1 } while a0 != 0
        let program =
            [addi(10, 0, 1000), 0x0000_85b7, sw(11, 10), ld(12, 11), addi(10, 10, -1), bne(10, 0, -12), ECALL];
        let (hart, _) = run_at(engine, Isa::default(), 0x1000, &program, |_, _| ());
        let counts = hart.counts();
        assert_eq!((counts.instructions, counts.loads, counts.stores), (2 + 4 * 1000 + 1, 1000, 1000), "{engine:?}");
        assert_eq!(hart.register(12), 1);
    }
}

#[test]
fn an_instruction_across_two_pages_executes() {
    for &engine in ENGINES {
        // A compressed nop moves the rest of the program by two bytes, to the end of the page.
        let program = [
            addi(10, 0, 5) << 16 | 0x0001,
            addi(11, 10, 7) << 16 | addi(10, 0, 5) >> 16,
            addi(11, 10, 7) >> 16 | ECALL << 16,
            ECALL >> 16,
        ];
        let (hart, _) = run_at(engine, Isa::default(), 0x1ff8, &program, |_, _| ());
        assert_eq!((hart.register(10), hart.register(11)), (5, 12), "{engine:?}");
        assert_eq!(hart.counts().instructions, 4);
    }
}

/// A bus whose pages move makes the hart leave in the middle of anything; what it does and counts is the same.
#[test]
fn leaving_at_every_miss_changes_nothing() {
    // a0 = 100; a1 = 0x8001, so that every access misses; loop { *a1 = a0; a2 = *a1; a3 += a2; a0 -= 1 } while a0 != 0
    let program = [
        addi(10, 0, 100),
        0x0000_85b7,
        addi(11, 11, 1),
        sw(11, 10),
        ld(12, 11),
        0x00c6_86b3,
        addi(10, 10, -1),
        bne(10, 0, -16),
        ECALL,
    ];
    // As it is, and with the store, then the load, lying across the end of a page.
    for (at, shift) in [(0x1000, false), (0x1ff0, true), (0x1fec, true)] {
        let mut words = program.to_vec();
        if shift {
            // A compressed nop before it, and half of each instruction in the next word.
            let mut bytes = vec![1, 0];
            bytes.extend(program.iter().flat_map(|word| word.to_le_bytes()));
            bytes.extend([0, 0]);
            words = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        }
        for &engine in ENGINES {
            let (still, _) = run_at(engine, Isa::default(), at, &words, |_, _| ());
            let (moving, bus) = run_at(engine, Isa::default(), at, &words, |_, bus| bus.leaves = true);
            assert!(bus.left > 200, "{}", bus.left);
            assert_eq!(moving.counts(), still.counts(), "{engine:?} {at:#x}");
            assert_eq!((moving.register(13), still.register(13)), (5050, 5050), "{engine:?} {at:#x}");
        }
    }
}

#[test]
fn code_that_overwrites_itself_runs_what_it_wrote() {
    for &engine in ENGINES {
        // Patches the instruction behind fence.i, twice round: first `a2 += 1`, then `a2 += 100`.
        let program = [
            addi(13, 0, 2),
            addi(12, 12, 1), // +4: patched
            sw(11, 10),      // a1 = address of +4, a0 = new instruction
            0x0000_100f,     // fence.i
            addi(13, 13, -1),
            bne(13, 0, -16),
            ECALL,
        ];
        let (hart, _) = run_at(engine, Isa::default(), 0x1000, &program, |hart, _| {
            hart.set_register(10, u64::from(addi(12, 12, 100)));
            hart.set_register(11, 0x1004);
        });
        assert_eq!(hart.register(12), 101, "{engine:?}");
    }
}

#[test]
fn a_trap_handler_that_traps_uses_up_the_budget() {
    for &engine in ENGINES {
        let mut bus = FlatBus::new(1 << 16);
        let (mut hart, mut code) = hart_at(&bus, Isa::default(), 0x8000_0000);
        assert_eq!(hart.run(&mut code, &mut bus, 10_000, engine), Exit::Budget);
        assert_eq!(hart.counts().instructions, 0);
    }
}

#[test]
fn a_faulting_load_leaves_everything_before_it_done_and_nothing_after() {
    for &engine in ENGINES {
        // stvec = 0x2000, where an ecall waits; then a load from nowhere in the middle of a block.
        let program = [0x1051_1073, addi(12, 0, 1), ld(13, 11), addi(12, 0, 2), ECALL];
        let (hart, _) = run_at(engine, Isa::default(), 0x1000, &program, |hart, bus| {
            hart.set_register(2, 0x2000);
            hart.set_register(11, 1 << 40);
            hart.set_register(13, 77);
            bus.write(0x2000, &[0x73, 0x25, 0x10, 0x14, 0xf3, 0x25, 0x30, 0x14, 0x73, 0, 0, 0]); // a0 = sepc, a1 = stval
        });
        let registers = [10, 11, 12, 13].map(|number| hart.register(number));
        assert_eq!(registers, [0x1008, 1 << 40, 1, 77], "{engine:?}");
        assert_eq!(hart.counts().instructions, 2 + 3);
    }
}

#[test]
fn what_is_switched_off_is_illegal() {
    let isa = Isa { c: false, f: false, d: false, zicntr: false, sstc: false, ..Isa::default() };
    // fadd.d, a compressed nop, rdtime, csrr stimecmp: each traps to 0x2000, which counts and skips four bytes.
    let program = [0x02a5_7553, 0x0001_0001, 0xc010_2573, 0x14d0_2573, ECALL];
    for &engine in ENGINES {
        let (hart, _) = run_at(engine, isa, 0x1000, &program, |hart, bus| {
            hart.set_register(12, 0);
            let handler = [addi(12, 12, 1), 0x1410_22f3, addi(5, 5, 4), 0x1412_9073, 0x1020_0073];
            bus.write(0x0, &handler.iter().flat_map(|word: &u32| word.to_le_bytes()).collect::<Vec<_>>());
        });
        assert_eq!(hart.register(12), 4, "{engine:?}");
    }
}

/// `rdinstret a0`, in place and in the run loop, after one and after many runs.
#[test]
fn counters_read_what_was_retired_before_them() {
    for &engine in ENGINES {
        // rdinstret a0; rdtime a1; nop; csrw sie, x0 (run loop); rdinstret a2; rdtime a3
        let program = [0xc020_2573, 0xc010_25f3, addi(0, 0, 0), 0x1040_1073, 0xc020_2673, 0xc010_26f3, ECALL];
        let mut bus = FlatBus::new(1 << 16);
        let bytes: Vec<u8> = program.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        bus.write(0x1000, &bytes);
        let (mut hart, mut code) = hart_at(&bus, Isa::default(), 0x1000);
        for round in 0..3_u64 {
            hart.set_pc(0x1000);
            assert_eq!(hart.run(&mut code, &mut bus, 10_000, engine), Exit::SupervisorCall);
            // The bus of these tests says that `time` is what was retired in the run.
            let seen = [10, 11, 12, 13].map(|number| hart.register(number));
            assert_eq!(seen, [7 * round, 1, 7 * round + 4, 5], "{engine:?}, round {round}");
        }
    }
}

/// A block that turns floating point off must not go on with it.
#[test]
fn floating_point_ends_with_the_write_that_turns_it_off() {
    for &engine in ENGINES {
        // csrs sstatus, t1 (on); fadd.d; csrc sstatus, t1 (off); fadd.d: traps to 0, which leaves with sepc in a0.
        let program = [0x1003_2073, 0x02a5_7553, 0x1003_3073, 0x02a5_7553, ECALL];
        let (hart, _) = run_at(engine, Isa::default(), 0x1000, &program, |hart, bus| {
            hart.set_register(6, 3 << 13);
            bus.write(0, &[0x73, 0x25, 0x10, 0x14, 0x73, 0, 0, 0]);
        });
        assert_eq!(hart.register(10), 0x100c, "{engine:?}");
    }
}

/// Where the host is one that code is compiled for, hot loops are, at the hotness asked for; a store into one ends it.
#[test]
#[cfg_attr(miri, ignore = "makes code for the host")]
fn a_loop_is_compiled_once_it_is_hot_and_again_once_it_is_overwritten() {
    /// Enough for a unit of the loop to be worth it over baseline code.
    const ROUNDS: u64 = 2_000_000;
    let compiles = u64::from(cfg!(all(target_arch = "x86_64", target_os = "linux")));
    // a0 = a1; loop { a2 += 1; a0 -= 1 } while a0 != 0; *a3 = a4, over the addition
    let program = [addi(10, 11, 0), addi(12, 12, 1), addi(10, 10, -1), bne(10, 0, -8), sw(13, 14), ECALL];
    let mut bus = FlatBus::new(1 << 16);
    let bytes: Vec<u8> = program.iter().flat_map(|word| word.to_le_bytes()).collect();
    bus.write(0x1000, &bytes);
    let (mut hart, mut code) = hart_at(&bus, Isa::default(), 0x1000);
    hart.set_register(11, ROUNDS);
    hart.set_register(13, 0x1004);
    hart.set_register(14, u64::from(addi(12, 12, 100)));
    let mut sums = Vec::new();
    for units in [1, 2] {
        hart.set_pc(0x1000);
        while hart.run(&mut code, &mut bus, 10_000, Engine::Compiled(Hotness(50_000))) != Exit::SupervisorCall {}
        sums.push(hart.register(12));
        assert_eq!(code.units(), units * compiles);
        // A build with debug assertions executes no handlers, which count.
        let baseline = if cfg!(debug_assertions) { 0 } else { units * compiles };
        assert!(code.baseline_blocks() >= baseline, "{}", code.baseline_blocks());
    }
    assert_eq!(sums, [ROUNDS, ROUNDS + 100 * ROUNDS]);
    assert_eq!(hart.counts().instructions, 2 * (1 + 3 * ROUNDS + 2));
}

/// A loop in another is compiled first; the unit of the outer one takes its block over. A store into it ends both.
#[test]
#[cfg_attr(miri, ignore = "makes code for the host")]
fn a_loop_that_is_compiled_belongs_to_the_unit_of_the_loop_around_it() {
    const ROUNDS: u64 = 4_000_000;
    let compiles = u64::from(cfg!(all(target_arch = "x86_64", target_os = "linux")));
    // loop { a0 = a1; loop { a2 += 1; a0 -= 1 } while a0 != 0; a5 -= 1 } while a5 != 0; *a3 = a4, over the addition to a2
    let inner = [addi(12, 12, 1), addi(10, 10, -1), bne(10, 0, -8)];
    let program: Vec<u32> =
        [&[addi(10, 11, 0)], &inner[..], &[addi(15, 15, -1), bne(15, 0, -20), sw(13, 14), ECALL]].concat();
    let run = |engine| {
        let mut bus = FlatBus::new(1 << 16);
        bus.write(0x1000, &program.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>());
        let (mut hart, mut code) = hart_at(&bus, Isa::default(), 0x1000);
        hart.set_register(14, u64::from(inner[0]));
        let mut seen = Vec::new();
        // Few long loops, many short ones; and so again once the addition is another.
        for (store, outer) in [(0x8000, 1), (0x8000, ROUNDS / 2), (0x1004, ROUNDS / 2), (0x8000, ROUNDS / 2)] {
            hart.set_pc(0x1000);
            for (number, value) in [(11, ROUNDS / outer), (13, store), (15, outer)] {
                hart.set_register(number, value);
            }
            while hart.run(&mut code, &mut bus, 10_000, engine) != Exit::SupervisorCall {}
            seen.push((hart.register(12), hart.counts()));
            hart.set_register(14, u64::from(addi(12, 12, 100)));
        }
        (seen, code.units())
    };
    let (expected, _) = run(Engine::Matching);
    assert_eq!(expected.last().map(|&(sum, _)| sum), Some(3 * ROUNDS + 100 * ROUNDS));
    let (seen, units) = run(Engine::Compiled(Hotness(50_000)));
    assert_eq!(seen, expected);
    assert!(units >= 2 * compiles, "{units}");
}
