//! What a hart counts and keeps for those who observe it, on all engines: page faults, and the pages that it accesses.

use super::common::{ENGINES, FlatBus, hart_at};
use hart::{Engine, Exit, Hart, Isa, PageUse, Registers};
use types::Gva;

const NOP: u32 = 0x0000_0013;
const ECALL: u32 = 0x0000_0073;
const SRET: u32 = 0x1020_0073;
/// `ld a0, 0(t1)`, `sd a0, 0(t2)`.
const LOAD: u32 = 0x0003_3503;
const STORE: u32 = 0x00a3_b023;
/// `li t1, 0`, `li t2, 0`.
const NO_T1: u32 = 0x0000_0313;
const NO_T2: u32 = 0x0000_0393;

const BYTES: usize = 1 << 16;
/// The size of the handler.
const HANDLER: [u32; 5] = [NOP, NO_T1, NO_T2, NOP, SRET];

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Runs a program at 0x1000, in U-mode or not. Its traps go to [`HANDLER`], which lets the accesses of `t1` and `t2` succeed.
fn run(engine: Engine, program: &[u32], supervisor: bool, prepare: impl Fn(&mut FlatBus, &mut Hart)) -> Hart {
    let mut bus = FlatBus::new(BYTES);
    bus.page_faults = true;
    bus.write(0x100, &words(&HANDLER));
    bus.write(0x1000, &words(program));
    let (mut hart, mut code) = hart_at(&bus, Isa::default(), 0x1000);
    let registers = hart.registers();
    hart.set_registers(&Registers { stvec: 0x100, supervisor, ..registers });
    prepare(&mut bus, &mut hart);
    let _: Exit = hart.run(&mut code, &mut bus, 200, engine);
    hart
}

#[test]
fn page_faults_of_programs_count_with_the_kernels_work_on_them() {
    for &engine in ENGINES {
        let beyond = |_: &mut FlatBus, hart: &mut Hart| {
            hart.set_register(6, 1 << 40);
            hart.set_register(7, 1 << 41);
        };
        let mut program = vec![LOAD, STORE];
        program.extend([NOP; 300]);
        let counts = run(engine, &program, false, beyond).counts();
        // The handler mends both registers at the first fault.
        assert_eq!((counts.page_faults, counts.page_fault_instructions), (1, HANDLER.len() as u64), "{engine:?}");
        let counts = run(engine, &program, false, |_, _| ()).counts();
        assert_eq!((counts.page_faults, counts.page_fault_instructions), (0, 0), "{engine:?}");
        let counts = run(engine, &program, true, beyond).counts();
        assert_eq!(counts.page_faults, 0, "{engine:?}: the kernel's own");
        // Another trap than a page fault.
        let counts = run(engine, &[ECALL], false, |_, _| ()).counts();
        assert_eq!((counts.page_faults, counts.page_fault_instructions), (0, 0), "{engine:?}");
    }
}

#[test]
fn accesses_are_kept_once_they_are_made() {
    for &engine in ENGINES {
        for leaves in [false, true] {
            let mut program = Vec::new();
            // Twice in one page, then in another, which traps first.
            program.extend([LOAD, LOAD, STORE]);
            program.extend([NOP; 300]);
            let prepare = |bus: &mut FlatBus, hart: &mut Hart| {
                bus.leaves = leaves;
                hart.set_register(6, 0x3008);
                hart.set_register(7, if leaves { 0x5010 } else { 1 << 40 });
                hart.log_accesses();
            };
            let mut hart = run(engine, &program, false, prepare);
            let counts = hart.counts();
            let uses: Vec<(u64, u64)> =
                hart.take_accesses().into_iter().map(|PageUse { page: Gva(page), count, .. }| (page, count)).collect();
            assert_eq!(uses.iter().map(|(_, count)| count).sum::<u64>(), counts.loads + counts.stores, "{engine:?}");
            if !leaves {
                assert_eq!(uses, [(0x3000, 2), (0, 1)], "{engine:?}");
            }
            assert!(hart.take_accesses().is_empty());
        }
    }
}
