//! Handlers of the threaded engine go on to the next one by a jump. By a call, each would keep a frame, and a guest could use up the stack.
#![cfg(all(target_arch = "x86_64", not(debug_assertions)))]

mod common;

use common::{compare, number};
use std::process::Command;

/// What is compiled is called: its entry from the handler of a compiled block, which comes back.
const COMPILED: &str = "handlers::Compiled";

/// Whether an instruction in a handler calls another handler: by name, or by an address in a micro-op. Other calls through registers and through
/// the table of the dynamic linker are of functions that come back.
fn calls_a_handler(instruction: &str) -> bool {
    let Some((_, called)) = instruction.split_once("call ") else { return false };
    let called = called.trim();
    called.contains("hart::engine::threaded::handlers::")
        || called.contains("hart::engine::threaded::misses::")
        || called.contains("hart::engine::threaded::searches::")
        || called.contains("hart::engine::threaded::pairs::")
        || (called.starts_with('*') && called.contains("(%r") && !called.contains("(%rip)"))
}

#[test]
#[ignore = "needs objdump (binutils)"]
fn no_handler_of_the_threaded_engine_calls_the_next_one() {
    let listing = Command::new("objdump")
        .args(["--disassemble", "--no-show-raw-insn", "--demangle", env!("CARGO_BIN_EXE_pagewalk")])
        .output()
        .expect("objdump is installed");
    let listing = String::from_utf8_lossy(&listing.stdout);
    let (mut handlers, mut calls) = (0, Vec::new());
    let mut inside = None;
    for line in listing.lines() {
        if line.ends_with(">:") {
            inside = line.contains("<hart::engine::threaded::").then_some(line);
            handlers += usize::from(inside.is_some());
        } else if let Some(handler) = inside
            && !handler.contains(COMPILED)
            && calls_a_handler(line)
        {
            calls.push(format!("{handler} {line}"));
        }
    }
    assert!(handlers > 1000, "{handlers} handlers were found");
    assert!(calls.is_empty(), "{} calls:\n{}", calls.len(), calls[..calls.len().min(40)].join("\n"));
}

/// Nearly every access misses the L1: a miss kept a frame until the hart's turn ended, and the process ended by an overflow of its stack.
#[test]
fn a_guest_that_misses_all_the_time_does_not_use_up_the_stack() {
    for (fidelity, workload) in [("counts", "triad:1M"), ("cycles", "triad:1M"), ("core", "triad:256K")] {
        for engine in ["threaded", "compiled"] {
            let report = compare(&[
                "--workload",
                workload,
                "--scheme",
                "native:4K",
                "--set",
                "mmu.l1d=[{sizes=['4K'],sets=128,ways=1}]",
                "--set",
                &format!("fidelity={fidelity}"),
                "--set",
                &format!("engine={engine}"),
            ]);
            let of = |pointer: &str| number(&report, &format!("/runs/0/{pointer}"));
            assert!(of("tlb/l1d_misses") * 2 > of("loads") + of("stores"), "{report:#}");
        }
    }
}
