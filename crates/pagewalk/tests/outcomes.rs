//! Runs that fail: what is refused before a guest boots, and what `compare`, its reports and `advise` make of the rest.

mod common;

use common::{Scratch, run};
use serde_json::Value;
use std::fs;

#[test]
fn a_size_that_no_guest_could_run_with_is_refused_before_one_boots() {
    for (size, says) in [("0", "4096"), ("-1", "not a number"), ("16X", "not a number"), ("900T", "not a number")] {
        let workload = format!("gups:{size}");
        run(["compare", "--workload", &workload]).failed(2, &["--workload", &workload, says]);
        run(["bench", "--workload", &workload]).failed(2, &["--workload", &workload, says]);
    }
    run(["compare", "--workload", "gups:8G", "--memory", "4G"]).failed(2, &["gups:8G", "memory of 4G"]);
    run(["compare", "--workload", "hello,kv:3M"]).failed(2, &["kv:3M", "power of two"]);
}

#[test]
fn a_failed_run_says_so_in_its_row_and_is_no_measurement() {
    let scratch = Scratch::new();
    let (json, html) = (scratch.text("r.json"), scratch.text("r.html"));
    let arguments = ["--workload", "hello,crash", "--scheme", "native,nested,shadow", "--native", "--details"];
    let ended = run(["compare", "--json", &json, "--html", &html].iter().chain(&arguments));
    let said = ended.said(1, &["crash under native:4K: ", "(and 2 more runs)"]);
    let rows: Vec<&str> = said.stdout.lines().filter(|line| line.contains("  failed  ")).collect();
    assert_eq!(rows.len(), 3, "{}", said.stdout);
    assert!(rows.iter().all(|row| row.contains("status")), "each has why: {rows:#?}");
    assert!(!said.stdout.contains("--native adds it"), "{}", said.stdout);

    let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    for run in report["runs"].as_array().unwrap() {
        let failed = run["workload"] == "crash";
        assert_eq!(run["failed"].is_string(), failed, "{run:#}");
        assert_eq!(run["overhead"].is_null() && run["overhead_ideal"].is_null(), failed, "{run:#}");
    }
    let page = fs::read_to_string(&html).unwrap();
    assert!(page.contains("Remarks on runs") && page.contains("is in no chart and in no mean"));
    run(["advise", &json]).failed(2, &["crash", "two virtualized systems"]);
}

#[test]
fn the_table_of_several_workloads_has_failed_in_the_place_of_a_figure() {
    let arguments = ["compare", "--workload", "hello,crash", "--scheme", "native,nested"];
    let said = run(arguments).said(1, &["crash under native:4K: "]);
    let crash = said.stdout.lines().find(|line| line.starts_with("crash")).unwrap();
    assert_eq!(crash.split_whitespace().collect::<Vec<_>>(), ["crash", "-", "failed", "failed"], "{}", said.stdout);
    assert!(said.stdout.contains("note: crash under nested:4K+4K: failed: "), "{}", said.stdout);
}

#[test]
fn a_segment_that_no_access_hits_is_noted() {
    let scratch = Scratch::new();
    let json = scratch.text("r.json");
    // What allocates nothing has nothing in a primary region.
    let arguments = ["compare", "--workload", "hello", "--scheme", "native,guest-direct", "--json", &json];
    let ended = run(arguments).succeeded();
    let note = "note: hello under guest-direct:4K+4K: no access hit the direct segment of the guest";
    assert!(ended.stdout.contains(note), "{}", ended.stdout);
    let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(report["runs"][1]["segments"]["idle"], serde_json::json!(["guest"]));
    assert_eq!(report["runs"][0]["segments"]["idle"], serde_json::json!([]));
}
