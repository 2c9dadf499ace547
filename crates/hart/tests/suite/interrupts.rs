//! Timer and software interrupts within a run, nested traps, and counters, on all engines.

use super::common::{ENGINES, FlatBus, hart_at};
use hart::{Engine, Exit, Hart, Interrupt, Isa};

const ECALL: u32 = 0x0000_0073;
const NOP: u32 = 0x0000_0013;
/// `csrr a0, sip`.
const READ_SIP: u32 = 0x1440_2573;
/// `csrs sie, t1`, `csrs sstatus, t1`, `csrs sip, t1`.
const SET_SIE: u32 = 0x1043_2073;
const SET_SSTATUS: u32 = 0x1003_2073;
const SET_SIP: u32 = 0x1443_2073;
/// `csrw stimecmp, t2`.
const WRITE_STIMECMP: u32 = 0x14d3_9073;

const TIMER: u64 = 1 << 5;
const SOFTWARE: u64 = 1 << 1;
const SIE: u64 = 1 << 1;

/// `time` of this bus is the number of instructions retired in the run. The program lies at 0x1000; its trap vector is 0, where an SBI call
/// leaves. `t1` and `t2` are given.
fn run(engine: Engine, words: &[u32], t1: u64, t2: u64, prepare: impl Fn(&mut Hart)) -> (Hart, Exit) {
    let mut bus = FlatBus::new(1 << 16);
    bus.write(0, &ECALL.to_le_bytes());
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bus.write(0x1000, &bytes);
    let (mut hart, mut code) = hart_at(&bus, Isa::default(), 0x1000);
    hart.set_register(6, t1);
    hart.set_register(7, t2);
    prepare(&mut hart);
    let exit = hart.run(&mut code, &mut bus, 10_000, engine);
    (hart, exit)
}

#[test]
fn a_timer_set_to_a_past_time_is_pending_at_once() {
    for &engine in ENGINES {
        let (hart, _) = run(engine, &[READ_SIP, ECALL], 0, 0, |hart| hart.set_timer(5, 7));
        assert_eq!(hart.register(10), TIMER, "{engine:?}");
        let (hart, _) = run(engine, &[READ_SIP, ECALL], 0, 0, |hart| {
            hart.set_timer(5, 7);
            hart.set_timer(1000, 8);
        });
        assert_eq!(hart.register(10), 0, "{engine:?}: a time in the future clears it");
    }
}

#[test]
fn a_masked_timer_becomes_pending_in_sip_within_a_run() {
    for &engine in ENGINES {
        let mut program = vec![READ_SIP, 0x0005_0593]; // a1 = a0
        program.extend([NOP; 100]);
        program.extend([READ_SIP, ECALL]);
        let (hart, _) = run(engine, &program, 0, 0, |hart| hart.set_timer(50, 0));
        assert_eq!((hart.register(11), hart.register(10)), (0, TIMER), "{engine:?}");
        assert!(!hart.wakes(), "it is masked");
    }
}

#[test]
fn a_timer_that_is_due_interrupts_when_it_is_enabled() {
    for &engine in ENGINES {
        // The vector's call leaves, with the interrupt's address in sepc.
        let program = [SET_SSTATUS, SET_SIE, NOP, NOP, ECALL];
        let (hart, exit) = run(engine, &program, TIMER | SIE, 0, |hart| hart.set_timer(1, 0));
        assert_eq!(exit, Exit::SupervisorCall);
        assert_eq!(hart.registers().scause, 1 << 63 | 5, "{engine:?}");
        assert_eq!(hart.registers().sepc, 0x1008, "{engine:?}: behind the instruction that enabled it");
    }
}

#[test]
fn a_timer_that_is_enabled_in_the_middle_of_a_run_has_its_time_looked_at() {
    for &engine in ENGINES {
        let (hart, exit) = run(engine, &[SET_SIE, NOP, ECALL], TIMER, 0, |hart| hart.set_timer(5000, 0));
        assert_eq!((exit, hart.pc()), (Exit::TimerSet, 0x1004), "{engine:?}");
        assert_eq!(hart.timer_interrupt(), Some(5000));
        // One that never comes does not leave, nor one that was enabled before.
        let (_, exit) = run(engine, &[SET_SIE, NOP, ECALL], TIMER, 0, |hart| hart.set_timer(u64::MAX, 0));
        assert_eq!(exit, Exit::SupervisorCall, "{engine:?}");
        let (_, exit) = run(engine, &[SET_SIE, NOP, ECALL], TIMER, 0, |hart| {
            let registers = hart.registers();
            hart.set_registers(&hart::Registers { sie: TIMER, ..registers });
            hart.set_timer(5000, 0);
        });
        assert_eq!(exit, Exit::SupervisorCall, "{engine:?}");
    }
}

#[test]
fn stimecmp_sets_and_clears_the_interrupt_as_the_call_does() {
    for &engine in ENGINES {
        for (at, pending) in [(0, true), (1 << 40, false)] {
            let (hart, exit) = run(engine, &[NOP, WRITE_STIMECMP, ECALL], 0, at, |hart| hart.set_timer(9, 0));
            assert_eq!((exit, hart.pending(Interrupt::Timer)), (Exit::TimerSet, pending), "{engine:?}");
        }
    }
}

#[test]
fn a_write_of_sip_interrupts_at_once() {
    for &engine in ENGINES {
        let program = [SET_SIE, SET_SSTATUS, SET_SIP, NOP, ECALL];
        let (hart, _) = run(engine, &program, SOFTWARE | SIE, 0, |_| ());
        assert_eq!(hart.registers().scause, 1 << 63 | 1, "{engine:?}");
        assert_eq!(hart.registers().sepc, 0x100c, "{engine:?}");
    }
}

/// A handler claims what interrupted it, within the same run: once it returns, the interrupt is pending no more. This one claims by a store of
/// a byte to 0x7ff.
#[test]
fn an_external_interrupt_that_was_claimed_does_not_come_again() {
    const SRET: u32 = 0x1020_0073;
    // Handler: a0 += 1; *0x7ff = a0; a1 = sip; sret.
    let handler = [0x0015_0513, 0x7ea0_0fa3, 0x1440_25f3, SRET];
    for &engine in ENGINES {
        let mut bus = FlatBus::new(1 << 16);
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        bus.external = Some(0x7ff);
        bus.write(0x100, &bytes(&handler));
        bus.write(0x1000, &bytes(&[SET_SIE, SET_SSTATUS, NOP, NOP, ECALL]));
        let (mut hart, mut code) = hart_at(&bus, Isa::default(), 0x1000);
        let registers = hart.registers();
        hart.set_registers(&hart::Registers { stvec: 0x100, ..registers });
        hart.set_register(6, 1 << 9 | SIE);
        hart.set_pending(Interrupt::External, true);
        assert_eq!(hart.run(&mut code, &mut bus, 1000, engine), Exit::SupervisorCall);
        assert_eq!(
            (hart.register(10), hart.register(11)),
            (1, 0),
            "{engine:?}: taken once, and not pending behind the claim"
        );
    }
}

/// A program at 0x1000 whose trap vector is where it begins: `csrw stvec, t1`, then `words` for ever.
fn run_trap_loop(engine: Engine, words: &[u32], budget: u32) -> (Hart, u32) {
    const WRITE_STVEC: u32 = 0x1053_1073;
    let mut bus = FlatBus::new(1 << 16);
    let words: Vec<u32> = [&[WRITE_STVEC][..], words].concat();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bus.write(0x1000, &bytes);
    let (mut hart, mut code) = hart_at(&bus, Isa::default(), 0x1000);
    hart.set_register(6, 0x1004);
    assert_eq!(hart.run(&mut code, &mut bus, budget, engine), Exit::Budget);
    (hart, bus.nested_traps)
}

#[test]
fn traps_without_instructions_between_them_take_time_and_use_up_the_budget() {
    for &engine in ENGINES {
        // An undefined instruction. A nested trap of this bus takes as long as nine instructions, and one to be taken.
        let (hart, nested) = run_trap_loop(engine, &[0], 30_000);
        assert_eq!(hart.counts().instructions, 1, "{engine:?}");
        assert!((2900..=3001).contains(&nested), "{engine:?}: {nested}");
        let said = hart.trap_loop().unwrap().to_string();
        assert!(said.starts_with("traps without retiring an instruction at pc 0x1004 (illegal instruction"), "{said}");
        // With an instruction between two traps.
        let (hart, nested) = run_trap_loop(engine, &[NOP, 0], 30_000);
        assert!(nested > 2600, "{engine:?}: {nested}");
        assert!(hart.trap_loop().unwrap().to_string().contains("after every instruction at pc 0x1008"), "{engine:?}");
        // A handler as long as one that saves its registers is not charged.
        let (hart, nested) = run_trap_loop(engine, &[&[NOP; 40][..], &[0]].concat(), 30_000);
        assert_eq!((nested, hart.trap_loop()), (0, None), "{engine:?}");
    }
}

#[test]
fn counters_are_the_buss_where_supervisor_software_may_stop_them() {
    let isa = Isa { zihpm: true, ..Isa::default() };
    for &engine in ENGINES {
        // csrr a0, cycle; csrr a1, instret; csrr a2, hpmcounter3; csrr a3, hpmcounter11, which does not exist.
        let program = [0xc000_2573u32, 0xc020_25f3, 0xc030_2673, 0xc0b0_26f3, ECALL];
        let mut bus = FlatBus::new(1 << 16);
        bus.write(0, &ECALL.to_le_bytes());
        let bytes: Vec<u8> = program.iter().flat_map(|word| word.to_le_bytes()).collect();
        bus.write(0x1000, &bytes);
        let (mut hart, mut code) = hart_at(&bus, isa, 0x1000);
        assert_eq!(hart.run(&mut code, &mut bus, 100, engine), Exit::SupervisorCall);
        assert_eq!([10, 11, 12].map(|number| hart.register(number)), [0, 2001, 3002], "{engine:?}");
        assert_eq!((hart.registers().scause, hart.registers().sepc), (2, 0x100c), "{engine:?}");
    }
    assert!(isa.string().contains("_zihpm"));
}
