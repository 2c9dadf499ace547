//! Guests on a host with less memory than they use, and what is wrong to ask of such a host.

mod common;

use common::{Ended, compare_bytes, number, run, runs};
use serde_json::Value;

/// Workloads that use four times as much memory as the host has, each with options that make it short.
const WORK: [(&str, &str); 2] = [("gups:32M", "updates=8000"), ("kv:32M", "iterations=2000")];

fn paged(workload: &str, options: &str, schemes: &str, more: &[&str]) -> Vec<Value> {
    let arguments = [
        "--workload",
        workload,
        "--append",
        options,
        "--scheme",
        schemes,
        "--memory",
        "64M",
        "--set",
        "host_memory=8M",
    ];
    runs(&[&arguments[..], more].concat())
}

#[test]
fn a_quarter_of_the_memory_is_enough_for_a_right_result() {
    for (workload, options) in WORK {
        for harts in ["1", "4"] {
            for run in paged(workload, options, "nested:4K+4K,nested:4K+2M,flat", &["--harts", harts]) {
                assert_eq!(run["outcome"], "the guest's command ended with status 0", "{run:#}");
                // Of the region alone: every other access is to a page that is not there.
                assert!(number(&run, "/paging/in") > 500, "{run:#}");
            }
        }
    }
}

#[test]
fn a_search_through_paged_memory_finds_all() {
    for run in paged("bfs:15", "iterations=1", "nested:4K+4K,nested:2M+2M,shadow", &["--check"]) {
        assert_eq!(run["outcome"], "the guest's command ended with status 0", "{run:#}");
        assert!(number(&run, "/paging/out") > 100 && number(&run, "/paging/in") > 100, "{run:#}");
    }
}

#[test]
fn paging_costs_what_the_host_says_and_repeats_to_the_byte() {
    let arguments = ["--workload", "gups:16M", "--append", "updates=8000", "--scheme", "nested,flat-hw,shadow"];
    let paged = [&arguments[..], &["--memory", "64M", "--harts", "2", "--set", "host_memory=8M"]].concat();
    let first = compare_bytes(&[&paged[..], &["--threads", "2"]].concat());
    assert!(compare_bytes(&[&paged[..], &["--threads", "1"]].concat()) == first, "the same bytes");
    let report: Value = serde_json::from_slice(&first).unwrap();
    let price = |of: &str| number(&report, &format!("/host/prices/{of}"));
    let run = &report["runs"][0];
    let (taken, back) = (["out", "clean", "zero"], number(run, "/paging/in"));
    let taken: u64 = taken.iter().map(|kind| number(run, &format!("/paging/{kind}"))).sum();
    let paging = price("page_out") * taken + price("page_in") * back;
    let fault = price("exit") + price("entry") + price("nested_fault");
    let faults = number(run, "/exits/nested_fault") * fault;
    let exits: u64 = run["exits"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(exits, number(run, "/exits/nested_fault"), "nothing else happened: {run:#}");
    assert!(back > 300 && number(run, "/time/monitor") == paging + faults, "{run:#}");
    // Where all of it fits, nothing is paged, and nothing of it costs anything.
    for run in common::runs_of(&common::compare(&[&arguments[..], &["--memory", "64M"]].concat())) {
        let counts = run["paging"].as_object().unwrap();
        assert!(counts.len() == 5 && counts.values().all(|count| count == 0), "{run:#}");
    }
}

#[test]
fn a_guest_without_memory_says_how_much_there_was() {
    let arguments = ["--append", "updates=128", "--memory", "64M", "--set", "host_memory=8M", "--set", "swap.size=1M"];
    let gups = [&["compare", "--workload", "gups:32M", "--scheme", "nested"], &arguments[..]].concat();
    run(gups).failed(1, &["gups:32M under nested", "8388608", "the swap file is full, with 1048576 bytes"]);
    let both = [&["compare", "--workload", "hello,gups:32M", "--scheme", "flat"], &arguments[..]].concat();
    let end = run(both).failed(1, &["gups:32M under flat", "no memory left for the guest"]);
    assert!(end.stdout.contains("hello"), "the other one ran: {end:#?}");
}

fn refused(settings: &[&str], named: &[&str]) -> Ended {
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    run(["boot", "--scheme", "nested", "--memory", "64M"].into_iter().chain(settings)).failed(2, named)
}

#[test]
fn what_cannot_be_asked_of_the_host_is_named() {
    refused(&["host_memory=1M"], &["host_memory", "8M"]);
    refused(&["host_memory=8388609"], &["host_memory", "multiple of 4K"]);
    refused(&["host_memory=16M", "swap.directory=/no/such/place"], &["swap.directory", "/no/such/place"]);
    refused(&["swap.file=/tmp/x"], &["swap.file"]);
    refused(&["memory_attribute=V=Resdent"], &["V=Resdent", "V=Resident"]);
    refused(&["memory_attribute=V=R", "host_memory=32M"], &["memory_attribute", "V=R"]);
    refused(&["memory_attribute=V=Resident", "host_memory=32M"], &["V=Resident", "67108864", "33554432"]);
    refused(&["balloon.target=64M"], &["balloon.target", "64M"]);
    refused(&["balloon.target=8M"], &["balloon.target", "--balloon"]);
    refused(&["balloon.target=8M", "balloon.at=5", "balloon.until=5"], &["balloon.until", "balloon.at"]);
}

#[test]
fn a_balloon_without_a_driver_does_no_harm() {
    let arguments = ["boot", "--scheme", "nested", "--memory", "64M", "--balloon", "--append", "workload=hello"];
    for more in [&["--set", "balloon.target=8M"][..], &["--set", "balloon.target=8M", "--set", "balloon.pressure=true"]]
    {
        let end = run([&arguments[..], more].concat()).succeeded();
        assert!(end.stdout.contains("hello: ok"), "{end:#?}");
    }
}
