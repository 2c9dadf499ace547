//! What `--warmup` leaves out of the measurement, and that nothing of the run changes by it.

mod common;

use common::{Scratch, number, run, runs};
use serde_json::Value;

const WORK: [&str; 6] =
    ["--workload", "gups:1M", "--append", "updates=20000", "--scheme", "native,nested,nested:4K+2M"];

fn measure(more: &[&str]) -> Vec<Value> {
    runs(&[&WORK, more].concat())
}

/// The whole run of `hello` under `scheme`, as no region is marked in it.
fn whole(scheme: &str, warmup: &str) -> Value {
    let scratch = Scratch::new();
    let json = scratch.text("out.json");
    let warmup = format!("warmup={warmup}");
    run(["boot", "--scheme", scheme, "--append", "workload=hello", "--set", &warmup, "--json", &json]).succeeded();
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    report["runs"][0].clone()
}

#[test]
fn touched_memory_faults_nowhere_from_the_first_instruction_on() {
    for scheme in ["nested:4K+4K", "nested:4K+2M", "nested:2M+2M"] {
        let (none, touch) = (whole(scheme, "none"), whole(scheme, "touch"));
        assert!(number(&none, "/exits/nested_fault") > 0, "{none:#}");
        assert_eq!(number(&touch, "/exits/nested_fault"), 0, "{touch:#}");
        assert!(number(&touch, "/time/monitor") < number(&none, "/time/monitor"), "no cost is charged for it");
    }
    let (none, touch) = (whole("native", "none"), whole("native", "touch"));
    assert_eq!(none["cycles"], touch["cycles"], "a native machine has no hypervisor that maps");
}

#[test]
fn a_count_is_left_out_of_the_region() {
    // The last block of the warmup may go over it.
    const BLOCK: u64 = 64;
    let whole = measure(&[]);
    let rest = measure(&["--warmup", "30000"]);
    for (whole, rest) in whole.iter().zip(&rest) {
        assert_eq!(rest["outcome"], whole["outcome"]);
        let left_out = number(whole, "/instructions") - number(rest, "/instructions");
        assert!((30000..=30000 + BLOCK).contains(&left_out), "{left_out} of {whole:#}");
        for count in ["/cycles", "/loads", "/stores", "/tlb/l1d_misses"] {
            assert!(number(rest, count) < number(whole, count), "{count} of {rest:#}");
        }
    }
    assert_eq!(measure(&["--set", "warmup=30000"]), rest, "the flag is the key");
}

#[test]
fn each_system_may_have_its_own_warmup_and_the_same_native() {
    let systems = "native,nested/warmup=touch,nested/warmup=30000";
    let runs = runs(&[&WORK[..4], &["--scheme", systems]].concat());
    assert!(runs[1]["overhead"].is_number(), "nothing is touched natively");
    assert!(runs[2]["overhead"].is_null(), "the native run measured more");
}

#[test]
fn a_region_within_its_warmup_is_no_measurement() {
    let end = run([&["compare"], &WORK[..], &["--warmup", "1000000000"]].concat());
    end.failed(1, &["gups:1M under native:4K", "warmup of 1000000000 instructions"]);
    // `hello` marks no region.
    run(["compare", "--workload", "hello", "--scheme", "native", "--warmup", "1"])
        .failed(1, &["hello", "warmup of 1 "]);
}

#[test]
fn warmups_that_are_none_are_named() {
    for bad in ["0", "some", "1.5"] {
        run(["compare", "--warmup", bad]).failed(2, &["--warmup", bad]);
        run(["compare", "--set", &format!("warmup={bad}")]).failed(2, &["warmup", bad]);
    }
}
