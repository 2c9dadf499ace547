//! Guests that never end, each in a loop of its own kind: a time limit ends every one of them, and says what it was doing.

mod common;

use common::kernel::{A7, CODE_ADDRESS, ECALL, addi, image, jump_back};
use common::{Ended, Scratch, host_with_clock, run};

const ENGINES: [&str; 5] = ["threaded", "match", "compiled", "baseline-all", "compiled-all"];
const SCHEMES: [&str; 3] = ["native", "nested", "shadow"];

/// `csrw stvec, zero`, and an undefined instruction.
const CLEAR_STVEC: u32 = 0x1050_1073;
const UNIMP: u32 = 0xc000_1073;

/// Boots a kernel of these instructions for a second.
fn boot(code: &[u32], scheme: &str, engine: &str, more: &[String]) -> Ended {
    let scratch = Scratch::new();
    let guest = scratch.write("guest.img", image(code));
    let engine = format!("engine={engine}");
    let arguments = ["boot", "--guest", &guest, "--scheme", scheme, "--timeout", "1", "--set", &engine];
    run(arguments.into_iter().map(str::to_owned).chain(more.iter().cloned()))
}

/// With the clock of the shipped host, whose second has 2.4 billion cycles: what takes no simulated time never comes to its end.
#[test]
fn a_guest_that_only_traps_meets_its_time_limit() {
    let nowhere = "traps without retiring an instruction at pc 0x0 (instruction access fault";
    for engine in ENGINES {
        for scheme in SCHEMES {
            let end = boot(&[CLEAR_STVEC, UNIMP], scheme, engine, &[]);
            end.failed(1, &["the time limit of 1 guest seconds is over: hart 0 ", nowhere]);
        }
    }
}

#[test]
fn a_trap_vector_that_traps_meets_its_time_limit() {
    // auipc t0, 0; addi t0, t0, 12; csrw stvec, t0; then the vector: an instruction, and one that is undefined.
    let code = [0x0000_0297, addi(5, 5, 12), 0x1052_9073, addi(0, 0, 0), UNIMP];
    let said = format!("traps after every instruction at pc {:#x} (illegal instruction", CODE_ADDRESS + 16);
    for engine in ENGINES {
        boot(&code, "native", engine, &[]).failed(1, &["the time limit of 1 guest seconds is over", &said]);
    }
}

#[test]
fn loops_of_every_kind_meet_their_time_limit() {
    /// Few cycles make a guest second, because a fence that empties every TLB takes a microsecond of ours.
    const CLOCK_HZ: u64 = 1_000_000;
    const SFENCE_VMA: u32 = 0x1200_0073;
    const FENCE_I: u32 = 0x100f;
    const READ_SATP: u32 = 0x1800_2573;
    let loops: [(&str, &[u32]); 5] = [
        ("jumps", &[jump_back(0)]),
        ("fences", &[SFENCE_VMA, jump_back(4)]),
        ("instruction fences", &[FENCE_I, jump_back(4)]),
        ("calls", &[addi(A7, 0, 0x10), ECALL, jump_back(4)]),
        ("registers", &[READ_SATP, jump_back(4)]),
    ];
    let machines =
        ENGINES.map(|engine| ("nested", engine)).into_iter().chain(SCHEMES.map(|scheme| (scheme, "compiled")));
    for (scheme, engine) in machines {
        for (name, code) in loops {
            let scratch = Scratch::new();
            let end = boot(code, scheme, engine, &host_with_clock(&scratch, CLOCK_HZ));
            let said = "the time limit of 1 guest seconds is over: hart 0 executes in S-mode at pc 0x802000";
            assert!(end.code == Some(1) && end.stderr.contains(said), "{name} {scheme} {engine}: {end:#?}");
        }
    }
}

#[test]
fn a_guest_that_waits_for_nothing_is_said_to_be_halted() {
    const WFI: u32 = 0x1050_0073;
    for engine in ENGINES {
        boot(&[WFI, jump_back(4)], "nested", engine, &[]).failed(1, &["waits for an interrupt that never comes"]);
    }
}
