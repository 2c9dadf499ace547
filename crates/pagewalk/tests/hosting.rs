//! `pagewalk run`.

mod common;

use common::{command, ended};
use serde_json::Value;
use std::fs;

const HOST: &str = r#"
processors = 2
slice_us = 250
[config]
scheme = "nested"
memory = "64M"
timeout = 20
[[guest]]
name = "work"
count = 2
workload = "qsort"
options = "size=16K procs=8 handshake=area purge=partners"
processors = 2
spin = "wapd"
"#;

#[test]
fn a_host_runs_and_its_reports_are_whole_and_repeatable() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("host.toml"), HOST).unwrap();
    let run = |json: &str| {
        let arguments = ["run", "host.toml", "--json", json, "--trace", "trace.json"];
        ended(command(arguments).current_dir(directory.path())).succeeded()
    };
    let table = run("first.json").stdout;
    assert!(table.contains("work-1") && table.contains("work-2") && table.contains("rho %"), "{table}");
    run("second.json");
    let first = fs::read(at("first.json")).unwrap();
    assert_eq!(first, fs::read(at("second.json")).unwrap());
    let report: Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(report["guests"][1]["ends"], 8);
    assert!(report["guests"][0]["waits"]["count"].as_u64().unwrap() > 0);
    let trace: Value = serde_json::from_slice(&fs::read(at("trace.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["ph"] == "X" && event["tid"] == 1), "somebody ran on processor 1");
}

#[test]
fn a_host_that_cannot_be_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    for (text, word) in
        [("processors = 1", "guest"), (&HOST.replace("wapd", "wopt"), "wopt"), ("nonsense", "host.toml")]
    {
        fs::write(directory.path().join("host.toml"), text).unwrap();
        ended(command(["run", "host.toml"]).current_dir(directory.path())).failed(2, &["host.toml", word]);
    }
}

#[test]
fn spin_methods_stand_side_by_side() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("host.toml"), HOST).unwrap();
    let run =
        |arguments: &[&str]| ended(command(["run", "host.toml"].iter().chain(arguments)).current_dir(directory.path()));
    let table = run(&["--spin", "rslp,none", "--json", "both.json"]).succeeded().stdout;
    let rows: Vec<&str> = table.lines().skip(1).take(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(rows, ["rslp", "none"], "{table}");
    let json =
        |name: &str| -> Value { serde_json::from_slice(&fs::read(directory.path().join(name)).unwrap()).unwrap() };
    run(&["--spin", "rslp", "--json", "one.json"]).succeeded();
    assert_eq!(json("both.json")["runs"][0], json("one.json"), "a method's run is the same beside others");
    assert_eq!(json("both.json")["runs"][1]["guests"][0]["spin"], "none");
    run(&["--spin", "wopt"]).failed(2, &["wopt", "wapd"]);
    run(&["--spin", "rslp,none", "--trace", "trace.json"]).failed(2, &["--trace"]);
}
