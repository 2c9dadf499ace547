//! `footprint = "on"`: the hypervisor's own work displaces lines and TLB entries, and changes nothing else.

mod common;

use common::{Scratch, compare, number, run, runs_of};
use serde_json::Value;

/// A guest whose work depends neither on time nor on A bits, which are set again when an entry has left the TLB.
fn report(footprint: &str, more: &[&str]) -> Value {
    let set = format!("footprint={footprint}");
    let common = ["--workload", "jobs:16K", "--append", "replace=fifo ticks=0 iterations=25", "--set", &set];
    compare(&[&common[..], more].concat())
}

#[test]
fn exits_displace_entries_and_lines_of_guests_and_change_no_other_work() {
    for fidelity in ["counts", "cycles", "core"] {
        let more = ["--scheme", "nested,shadow", "--set", &format!("fidelity={fidelity}")];
        let [off, on] = ["off", "on"].map(|footprint| runs_of(&report(footprint, &more)));
        let mut more_misses = [0, 0];
        for (off, on) in off.iter().zip(&on) {
            assert!(off.get("footprint").is_none());
            for same in ["/instructions", "/loads", "/stores"] {
                assert_eq!(off.pointer(same), on.pointer(same), "{fidelity} {same}");
            }
            if on["scheme"] == "nested:4K+4K" {
                assert_eq!(off["exits"], on["exits"]);
                let exits: u64 = on["exits"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
                assert_eq!(number(on, "/footprint/events"), 2 * exits, "each exit, and what it is for");
            }
            for (more, misses) in more_misses.iter_mut().zip(["/tlb/l1d_misses", "/tlb/l2_misses"]) {
                let [off, on] = [off, on].map(|run| number(run, misses));
                assert!(off <= on, "{fidelity} {misses}: {off}, {on}");
                *more += on - off;
            }
            let of = |what: &str| number(on, &format!("/footprint/{what}"));
            assert!(of("events") > 0 && of("pages") >= of("page_misses") && of("page_misses") > 0, "{on:#}");
            assert_eq!(of("lines") > 0, fidelity != "counts", "{on:#}");
            assert!(of("lines") >= of("line_misses"));
        }
        assert!(more_misses.iter().all(|&more| more > 0), "{fidelity}: {more_misses:?}");
    }
}

/// A native machine has no hypervisor.
#[test]
fn a_native_machine_has_no_footprint() {
    let [off, on] = ["off", "on"].map(|footprint| runs_of(&report(footprint, &["--scheme", "native"])));
    assert!(on[0].get("footprint").is_none());
    assert_eq!(off, on);
}

#[test]
fn every_engine_displaces_the_same() {
    for fidelity in ["counts", "core"] {
        let fidelity = format!("fidelity={fidelity}");
        let with = |engine: &str| {
            let engine = format!("engine={engine}");
            let more = ["--scheme", "nested,shadow,flat", "--set", &fidelity, "--set", &engine];
            runs_of(&report("on", &more))
        };
        let matching = with("match");
        for engine in ["threaded", "compiled", "baseline-all", "compiled-all"] {
            assert!(with(engine) == matching, "{engine}, {fidelity}");
        }
    }
}

/// What is displaced depends on accesses that a recording leaves out.
#[test]
fn a_replay_with_a_footprint_is_refused() {
    let scratch = Scratch::new();
    let recording = scratch.path("r").display().to_string();
    let record = ["record", "--workload", "gups:64K", "--set", "guest_time=instructions", "--output", &recording];
    run(record).succeeded();
    let sweep = ["sweep", &recording, "--scheme", "nested", "--set", "footprint=on"];
    run(sweep).failed(2, &["footprint", "a recording leaves out"]);
}
