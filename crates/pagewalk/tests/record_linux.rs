//! Recordings of Linux. `cargo xtask test` runs these.

mod common;

use common::{Scratch, run, runs};
use serde_json::Value;
use std::fs;

#[test]
#[ignore = "needs the fetched Linux guest"]
fn linux_replays_as_it_runs() {
    let scratch = Scratch::new();
    let (file, lines) = (scratch.text("linux.rec"), scratch.text("lines"));
    let guest = ["--guest", "linux", "--workload", "gups:1M", "--memory", "256M", "--set", "guest_time=instructions"];
    run(["record", "-o", &file].iter().copied().chain(guest)).succeeded();
    let schemes = "native,nested,nested:4K+2M,nested/mmu.l2=[],shadow,flat";
    let ended = run(["sweep", &file, "--scheme", schemes, "--inexact", "-o", &lines]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let replayed = fs::read_to_string(lines).unwrap();
    let ran = runs(&[&guest[..], &["--scheme", schemes]].concat());
    assert_eq!(replayed.lines().count(), ran.len());
    for (line, ran) in replayed.lines().zip(&ran) {
        let replayed: Value = serde_json::from_str(line).unwrap();
        for key in ["instructions", "loads", "stores", "cycles", "tlb", "walks", "refills", "exits", "shadow", "time"] {
            assert_eq!(replayed[key], ran[key], "{key} under {}", ran["scheme"]);
        }
    }
}
