//! `--trace`: what a trace for Perfetto says adds up to what the run counted.

mod common;
mod perfetto;

use common::{Scratch, command, ended, number, run, runs_of, two_guests};
use perfetto::{Slice, Trace, read};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

fn json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"))).expect("JSON")
}

/// The trace and the report of `compare` with `arguments`.
#[track_caller]
fn traced(arguments: &[&str]) -> (Trace, Vec<u8>, Value) {
    let scratch = Scratch::new();
    let (file, report) = (scratch.text("t.pftrace"), scratch.text("r.json"));
    run(["compare", "--trace", &file, "--json", &report].iter().chain(arguments)).succeeded();
    let bytes = fs::read(file).unwrap();
    (read(&bytes), bytes, json(&report))
}

fn jobs<'a>(harts: &'a str, settings: &[&'a str]) -> Vec<&'a str> {
    common::jobs("native,nested,shadow,agile", harts, settings)
}

fn measured(slice: &Slice) -> bool {
    slice.figures.get("measured") == Some(&1)
}

/// Exits by cause are those of the report, and so is the hypervisor's time.
#[track_caller]
fn adds_up(trace: &Trace, report: &Value) {
    for report in &runs_of(report) {
        let process = format!("{} under {}", report["workload"].as_str().unwrap(), report["scheme"].as_str().unwrap());
        let of_run: Vec<&Slice> = trace.slices.iter().filter(|slice| slice.process == process).collect();
        assert!(!of_run.is_empty(), "{process}");
        let mut exits: BTreeMap<&str, u64> = BTreeMap::new();
        for slice in of_run.iter().filter(|slice| slice.category == "exit" && measured(slice)) {
            *exits.entry(&slice.name).or_default() += 1;
        }
        let counted = report["exits"].as_object().unwrap().iter();
        let counted: BTreeMap<&str, u64> = counted
            .map(|(cause, count)| (cause.as_str(), count.as_u64().unwrap()))
            .filter(|(_, count)| *count > 0)
            .collect();
        assert_eq!(exits, counted, "{process}");
        let spent = |slice: &&&Slice| {
            measured(slice)
                && (slice.track.starts_with("vCPU") || slice.track.starts_with("hypervisor"))
                && slice.category != "shadow in exit"
        };
        let cycles: u64 = of_run.iter().filter(spent).map(|slice| slice.figures["cycles"]).sum();
        assert_eq!(cycles, number(report, "/time/monitor"), "{process}");
    }
}

#[test]
fn exits_and_their_time_are_those_of_the_report() {
    for fidelity in ["counts", "cycles", "core"] {
        for harts in ["1", "4"] {
            let fidelity = format!("fidelity={fidelity}");
            let (trace, _, report) = traced(&jobs(harts, &["--set", &fidelity]));
            adds_up(&trace, &report);
        }
    }
}

#[test]
fn a_trace_is_the_same_under_every_engine() {
    let of = |engine: &str| {
        let engine = format!("engine={engine}");
        traced(&jobs("4", &["--set", &engine])).1
    };
    let threaded = of("threaded");
    assert!(threaded == of("match") && threaded == of("compiled"));
}

#[test]
fn a_trace_changes_no_result() {
    for fidelity in ["fidelity=counts", "fidelity=core"] {
        let arguments = jobs("4", &["--set", fidelity]);
        let scratch = Scratch::new();
        let (file, with) = (scratch.text("t.pftrace"), scratch.text("with.json"));
        run(["compare", "--trace", &file, "--json", &with].iter().chain(&arguments)).succeeded();
        assert_eq!(fs::read(with).unwrap(), common::compare_bytes(&arguments), "{fidelity}");
    }
}

#[test]
fn tracks_are_those_of_the_machine() {
    let (trace, _, _) = traced(&jobs("4", &[]));
    let of = |category: &str| -> BTreeSet<&str> {
        let with = trace.slices.iter().filter(|slice| slice.category == category);
        with.map(|slice| slice.track.as_str()).collect()
    };
    assert_eq!(of("vcpu"), ["processor 0", "processor 1", "processor 2", "processor 3"].into());
    assert!(of("exit").is_superset(&["vCPU 0", "vCPU 1", "vCPU 2", "vCPU 3"].into()), "{:?}", of("exit"));
    assert!(of("firmware").contains("vCPU 0"), "a native machine");
    assert!(of("shadow in exit").contains("hypervisor on processor 0"));
    assert_eq!(of("region"), ["region of interest"].into());
    assert!(!of("interrupt").is_empty());
    for name in ["instructions per cycle", "L2 TLB misses", "cycles of translation"] {
        let track = ("jobs:16K under nested:4K+4K".to_owned(), format!("vCPU 0: {name}"));
        let values = &trace.counters[&track];
        assert!(values.len() > 10 && values.iter().any(|(_, value)| *value > 0.0), "{name}");
    }
}

/// Work that happens at the same time on a pCPU is there once: a slice of an exit ends before the next one begins.
#[test]
fn exits_of_a_vcpu_do_not_overlap() {
    let (trace, _, _) = traced(&jobs("4", &[]));
    let mut ends: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for slice in trace.slices.iter().filter(|slice| slice.category == "exit") {
        let end = ends.entry((&slice.process, &slice.track)).or_default();
        assert!(slice.from >= *end, "{slice:?} begins before {end}");
        *end = slice.to.unwrap();
    }
}

#[test]
fn guests_that_share_processors_are_on_their_tracks() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("host.toml"), two_guests("nested")).unwrap();
    let run = |arguments: &[&str]| {
        ended(command(["run", "host.toml"].iter().chain(arguments)).current_dir(directory.path())).succeeded()
    };
    run(&["--json", "with.json", "--trace", "t.pftrace"]);
    run(&["--json", "without.json", "--trace", "t.json"]);
    assert_eq!(fs::read(at("with.json")).unwrap(), fs::read(at("without.json")).unwrap());
    let (trace, slices) = (read(&fs::read(at("t.pftrace")).unwrap()), json(at("t.json").to_str().unwrap()));
    // The time slices are those of the other format.
    let vcpus = trace.slices.iter().filter(|slice| slice.category == "vcpu");
    let other = slices["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    assert_eq!(vcpus.clone().count(), other.count());
    assert!(vcpus.clone().any(|slice| slice.track == "processor 1" && slice.name.ends_with("/1")));
    let report = json(at("with.json").to_str().unwrap());
    for guest in report["guests"].as_array().unwrap() {
        let name = guest["name"].as_str().unwrap();
        let of_guest = |slice: &&Slice| slice.track.starts_with(&format!("{name}/")) && slice.category == "exit";
        // The report of a host has the exits of the whole run.
        let exits = guest["exits"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum::<u64>();
        assert_eq!(trace.slices.iter().filter(of_guest).count() as u64, exits, "{name}");
    }
    run(&["--spin", "none,rslp", "--trace", "both.pftrace"]);
    let processes = read(&fs::read(at("both.pftrace")).unwrap()).slices;
    assert_eq!(processes.iter().map(|slice| slice.process.as_str()).collect::<BTreeSet<_>>().len(), 2);
}

#[test]
fn what_cannot_be_written_is_named_before_anything_runs() {
    let scratch = Scratch::new();
    let missing = scratch.text("missing/t.pftrace");
    let guest = ["--memory", "64M", "--trace", &missing];
    run(["compare", "--scheme", "native", "--workload", "gups"].iter().chain(&guest)).failed(1, &[&missing]);
    run(["boot", "--run", "hello"].iter().chain(&guest)).failed(1, &[&missing]);
    assert!(scratch.names().is_empty());
}

/// A question in SQL, over the messages as Perfetto's own definitions read them, has the numbers of the report.
#[test]
#[ignore = "needs Python with the package perfetto"]
fn sql_has_the_numbers_of_the_report() {
    let scratch = Scratch::new();
    let (file, report) = (scratch.text("t.pftrace"), scratch.text("r.json"));
    run(["compare", "--trace", &file, "--json", &report].iter().chain(&jobs("4", &[]))).succeeded();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perfetto/exits_by_cause.py");
    let python = std::env::var("PAGEWALK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let asked = Command::new(python).arg(script).arg(&file).output().unwrap();
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    let rows: Vec<Value> =
        String::from_utf8(asked.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let trace = read(&fs::read(&file).unwrap());
    for report in &runs_of(&json(&report)) {
        let process = format!("{} under {}", report["workload"].as_str().unwrap(), report["scheme"].as_str().unwrap());
        for (cause, count) in report["exits"].as_object().unwrap() {
            let row = rows.iter().find(|row| row["process"] == process && row["cause"] == *cause);
            assert_eq!(row.map_or(0, |row| number(row, "/exits")), count.as_u64().unwrap(), "{process}: {cause}");
            let of_cause = trace.slices.iter().filter(|slice| {
                slice.process == process && slice.category == "exit" && slice.name == *cause && measured(slice)
            });
            let cycles: u64 = of_cause.map(|slice| slice.figures["cycles"]).sum();
            assert_eq!(row.map_or(0, |row| number(row, "/cycles")), cycles, "{process}: {cause}");
        }
    }
}
