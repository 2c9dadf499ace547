//! `--interval`: what is counted over time adds up to what the run counted.

mod common;

use common::{Scratch, command, ended, number, run, runs_of, two_guests};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The lines of a file of intervals.
fn lines(path: &str) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"))).expect("JSON")
}

/// What says of a line which one it is. All else are counts.
const HEADING: [&str; 13] = [
    "run", "guest", "workload", "scheme", "settings", "interval", "phase", "measured", "clock_hz", "from", "to",
    "hart", "pcpu",
];

/// Adds the counts of a line to sums, by the pointer to each.
fn add(sums: &mut BTreeMap<String, i64>, pointer: &str, value: &Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map.iter().filter(|(key, _)| !pointer.is_empty() || !HEADING.contains(&key.as_str())) {
                add(sums, &format!("{pointer}/{key}"), value);
            }
        }
        Value::Number(count) => *sums.entry(pointer.to_owned()).or_insert(0) += count.as_i64().expect("a whole number"),
        Value::Null => {}
        other => panic!("{pointer}: {other}"),
    }
}

/// The sums of the measured lines are the counts of the run's report, to the unit.
#[track_caller]
fn adds_up(what: &str, lines: &[&Value], report: &Value) {
    let mut sums = BTreeMap::new();
    lines.iter().filter(|line| line["measured"] == true).for_each(|line| add(&mut sums, "", line));
    assert!(sums.len() > 40 && sums["/instructions"] > 0, "{what}: {sums:?}");
    for (pointer, sum) in sums {
        let counted = report.pointer(&pointer).and_then(Value::as_i64);
        assert_eq!(Some(sum), counted.or((sum == 0).then_some(0)), "{what}: {pointer}");
    }
}

/// The lines and the report of `compare` with `arguments`, which add up.
#[track_caller]
fn exact(interval: &str, arguments: &[&str]) -> Vec<Value> {
    let scratch = Scratch::new();
    let (file, report) = (scratch.text("i.jsonl"), scratch.text("r.json"));
    let own = ["compare", "--interval", interval, "--interval-file", &file, "--json", &report];
    run(own.iter().chain(arguments)).succeeded();
    let (lines, report) = (lines(&file), json(&report));
    for (number, report) in runs_of(&report).iter().enumerate() {
        let what = format!("{arguments:?} {}", report["scheme"]);
        let of_run: Vec<&Value> = lines.iter().filter(|line| line["run"] == number).collect();
        assert_eq!((&of_run[0]["workload"], &of_run[0]["guest"]), (&report["workload"], &report["guest"]));
        adds_up(&what, &of_run, report);
        in_order(&what, &of_run);
    }
    lines
}

/// Intervals follow each other without a gap.
#[track_caller]
fn in_order(what: &str, lines: &[&Value]) {
    let mut ends = BTreeMap::new();
    for (index, line) in lines.iter().enumerate() {
        let (from, to) = (number(line, "/from"), number(line, "/to"));
        assert!(from <= to, "{what}: {from} to {to}");
        let interval = number(line, "/interval");
        if let Some((before, end)) = ends.insert(line["hart"].to_string(), (interval, to)) {
            assert_eq!((interval, from), (before + 1, end), "{what}: line {index}");
        }
    }
}

fn jobs<'a>(harts: &'a str, settings: &[&'a str]) -> Vec<&'a str> {
    common::jobs("native,nested,shadow", harts, settings)
}

/// Under every engine the same, for one hart and for four.
fn engines_agree(fidelity: &str) {
    let fidelity = format!("fidelity={fidelity}");
    for harts in ["1", "4"] {
        let of = |engine: &str| {
            let engine = format!("engine={engine}");
            exact("100us", &jobs(harts, &["--set", &engine, "--set", &fidelity]))
        };
        let threaded = of("threaded");
        assert_eq!(threaded, of("match"), "{fidelity}, {harts} harts");
        assert_eq!(threaded, of("compiled"), "{fidelity}, {harts} harts");
        let harts: BTreeSet<String> = threaded.iter().map(|line| line["hart"].to_string()).collect();
        assert_eq!(harts.len(), harts.len().max(2), "{harts:?}");
        let intervals = threaded.iter().map(|line| number(line, "/interval")).max().unwrap();
        assert!(intervals > 10, "{fidelity}: {intervals}");
    }
}

#[test]
fn intervals_add_up_under_every_engine_with_counts() {
    engines_agree("counts");
}

#[test]
fn intervals_add_up_under_every_engine_with_cycles() {
    engines_agree("cycles");
}

#[test]
fn intervals_add_up_under_every_engine_with_a_core() {
    engines_agree("core");
}

#[test]
fn intervals_of_instructions_add_up() {
    for harts in ["1", "4"] {
        let lines = exact("100000", &jobs(harts, &[]));
        let nested: Vec<&Value> = lines.iter().filter(|line| line["run"] == 1 && line["hart"].is_null()).collect();
        assert!(nested.len() > 10, "{}", nested.len());
        // An interval ends with the turn in which it is full: a turn has 65,536 instructions at the most.
        let mut by_interval: BTreeMap<u64, u64> = BTreeMap::new();
        for line in lines.iter().filter(|line| line["run"] == 1 && !line["hart"].is_null()) {
            *by_interval.entry(number(line, "/interval")).or_default() += number(line, "/instructions");
        }
        let most = by_interval.values().max().unwrap();
        assert!(*most < 100_000 + 2 * 65_600, "{most}");
    }
}

#[test]
fn intervals_add_up_under_every_scheme() {
    let schemes = "native-segment,vmm-direct,guest-direct,dual-direct,flat,flat-hw,agile,reserved,nested:4K+2M";
    for fidelity in ["fidelity=counts", "fidelity=core"] {
        exact("50us", &["--workload", "gups:1M", "--memory", "4G", "--scheme", schemes, "--set", fidelity]);
    }
}

#[test]
fn intervals_change_no_result() {
    for fidelity in ["fidelity=counts", "fidelity=core"] {
        let arguments = jobs("4", &["--set", fidelity]);
        let scratch = Scratch::new();
        let (file, with) = (scratch.text("i.jsonl"), scratch.text("with.json"));
        let own = ["compare", "--interval", "20us", "--interval-file", &file, "--json", &with];
        run(own.iter().chain(&arguments)).succeeded();
        assert_eq!(fs::read(with).unwrap(), common::compare_bytes(&arguments), "{fidelity}");
    }
}

#[test]
fn phases_are_told_apart() {
    let gups = ["--workload", "gups:1M", "--memory", "64M", "--scheme", "nested", "--warmup", "100000"];
    let lines = exact("20us", &gups);
    let phases: Vec<&str> = lines.iter().map(|line| line["phase"].as_str().unwrap()).collect();
    let mut changes = phases.clone();
    changes.dedup();
    assert_eq!(changes, ["boot", "warm-up", "measure", "end"], "{phases:?}");
    assert!(lines.iter().all(|line| (line["measured"] == true) == (line["phase"] == "measure")));
}

#[test]
fn a_restored_guest_has_intervals() {
    let scratch = Scratch::new();
    let snapshot = scratch.text("s.pwsnap");
    run(["boot", "--run", "gups", "--append", "size=1M", "--memory", "64M", "--snapshot", &snapshot]).succeeded();
    exact("1ms", &["--restore", &snapshot, "--scheme", "native,nested,shadow"]);
}

#[test]
fn a_boot_has_intervals() {
    let scratch = Scratch::new();
    let (file, report) = (scratch.text("i.jsonl"), scratch.text("r.json"));
    run([
        "boot",
        "--run",
        "hello",
        "--scheme",
        "nested",
        "--memory",
        "64M",
        "--interval",
        "1000",
        "--interval-file",
        &file,
        "--json",
        &report,
    ])
    .succeeded();
    let (lines, report) = (lines(&file), json(&report));
    adds_up("boot", &lines.iter().collect::<Vec<_>>(), &report["runs"][0]);
}

#[test]
fn guests_that_share_processors_have_intervals_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("host.toml"), two_guests("shadow")).unwrap();
    let run = |arguments: &[&str]| {
        ended(command(["run", "host.toml"].iter().chain(arguments)).current_dir(directory.path())).succeeded()
    };
    let intervals = ["--interval", "100us", "--interval-file", "i.jsonl"];
    run(&[&["--json", "with.json"][..], &intervals].concat());
    run(&["--json", "without.json"]);
    assert_eq!(fs::read(at("with.json")).unwrap(), fs::read(at("without.json")).unwrap());
    let (lines, report) = (lines(at("i.jsonl").to_str().unwrap()), json(at("with.json").to_str().unwrap()));
    for guest in report["guests"].as_array().unwrap() {
        let of_guest: Vec<&Value> = lines.iter().filter(|line| line["guest"] == guest["name"]).collect();
        let pcpus: BTreeSet<String> = of_guest.iter().map(|line| line["pcpu"].to_string()).collect();
        assert!(pcpus.contains("0") && pcpus.contains("1"), "{pcpus:?}");
        let mut sums = BTreeMap::new();
        of_guest.iter().for_each(|line| add(&mut sums, "", line));
        // The report has the whole run for these, and the measured part for those.
        for pointer in ["/instructions", "/time/guest", "/time/translation", "/time/monitor", "/exits/shadow_fault"] {
            assert_eq!(sums[pointer] as u64, number(guest, pointer), "{pointer}");
        }
        let mut sums = BTreeMap::new();
        of_guest.iter().filter(|line| line["measured"] == true).for_each(|line| add(&mut sums, "", line));
        for pointer in ["/tlb/l1d_misses", "/walks/count", "/walks/steps"] {
            assert_eq!(sums[pointer] as u64, number(guest, pointer), "{pointer}");
        }
    }
    run(&[&["--spin", "none,rslp"][..], &intervals].concat());
    let runs: BTreeSet<String> =
        self::lines(at("i.jsonl").to_str().unwrap()).iter().map(|line| line["run"].to_string()).collect();
    assert_eq!(runs.len(), 2);
}

#[test]
fn what_cannot_be_is_said_before_anything_runs() {
    let scratch = Scratch::new();
    let missing = scratch.text("missing/i.jsonl");
    let guest = ["--memory", "64M", "--interval", "1ms", "--interval-file", &missing];
    run(["compare", "--scheme", "native", "--workload", "gups"].iter().chain(&guest)).failed(1, &[&missing]);
    run(["boot", "--run", "hello"].iter().chain(&guest)).failed(1, &[&missing]);
    run(["compare", "--interval", "1ms"]).failed(2, &["--interval-file"]);
    run(["compare", "--interval", "1ns", "--interval-file", &missing]).failed(2, &["--interval", "`1ns`", "250us"]);
    assert!(scratch.names().is_empty());
}

#[test]
fn every_key_is_documented() {
    let documented = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json-keys.md")).unwrap();
    let (_, documented) = documented.split_once("## Intervals").expect("a part on intervals");
    for key in HEADING {
        assert!(documented.contains(&format!("`{key}`")), "docs/json-keys.md does not have `{key}`");
    }
}
