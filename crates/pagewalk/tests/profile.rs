//! `--profile`: what is charged to parts of a run adds up to what the run counted.

mod common;

use common::profiles::{TWO_ARRAYS, adds_up, compared, exact, json, sums, totals};
use common::{Scratch, command, ended, number, run, runs_of, two_guests};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// Under every engine the same, for one hart and for four.
fn engines_agree(fidelity: &str) {
    for harts in ["1", "4"] {
        let of = |engine: &str| {
            let (engine, fidelity) = (format!("engine={engine}"), format!("fidelity={fidelity}"));
            exact(&common::jobs("native,nested,shadow", harts, &["--set", &engine, "--set", &fidelity]))
        };
        let threaded = of("threaded");
        assert_eq!(threaded, of("match"), "{fidelity}, {harts} harts");
        assert_eq!(threaded, of("compiled"), "{fidelity}, {harts} harts");
    }
}

#[test]
fn a_profile_adds_up_under_every_engine_with_counts() {
    engines_agree("counts");
}

#[test]
fn a_profile_adds_up_under_every_engine_with_cycles() {
    engines_agree("cycles");
}

#[test]
fn a_profile_adds_up_under_every_engine_with_a_core() {
    engines_agree("core");
}

#[test]
fn a_profile_adds_up_under_every_scheme() {
    let schemes = "native-segment,vmm-direct,guest-direct,dual-direct,flat,flat-hw,agile,reserved,nested:4K+2M";
    exact(&[
        "--workload",
        "gups:1M,kv:1M",
        "--fidelity",
        "core",
        "--set",
        "fast_forward=on",
        "--scheme",
        "native,nested",
    ]);
    for fidelity in ["fidelity=counts", "fidelity=core"] {
        let size = ["--workload", "gups:1M", "--memory", "4G", "--scheme", schemes, "--set", fidelity];
        exact(&size);
    }
}

#[test]
fn a_profile_changes_no_result() {
    for fidelity in ["fidelity=counts", "fidelity=core"] {
        let arguments = common::jobs("native,nested,shadow,agile", "4", &["--set", fidelity]);
        let scratch = Scratch::new();
        let (profile, with) = (scratch.text("p.json"), scratch.text("with.json"));
        run(["compare", "--profile", &profile, "--json", &with].iter().chain(&arguments)).succeeded();
        assert_eq!(fs::read(with).unwrap(), common::compare_bytes(&arguments), "{fidelity}");
    }
}

/// An earlier attempt left no file where there were several harts.
#[test]
fn four_harts_leave_a_file() {
    let scratch = Scratch::new();
    for command in ["compare", "boot"] {
        let file = scratch.text(&format!("{command}.json"));
        let work = if command == "boot" { "--run" } else { "--workload" };
        run([command, work, "jobs", "--harts", "4", "--memory", "64M", "--profile", &file]).code.unwrap();
        assert!(runs_of(&json(&file)).iter().all(|run| !run["symbols"].as_array().unwrap().is_empty()), "{command}");
    }
}

/// The first of a list, with its part of the L2's misses.
fn first<'v>(profile: &'v Value, list: &str) -> (&'v Value, f64) {
    let first = &profile[list][0];
    (first, number(first, "/counts/l2_misses") as f64 / number(profile, "/totals/l2_misses") as f64)
}

#[test]
fn the_hostile_array_and_its_function_are_named() {
    let profile = exact(&["--guest", TWO_ARRAYS, "--scheme", "nested,shadow", "--memory", "128M"]);
    for profile in runs_of(&profile) {
        let (symbol, part) = first(&profile, "symbols");
        assert!(symbol["name"] == "read_at_random" && part > 0.9, "{symbol:#}");
        let (object, part) = first(&profile, "objects");
        assert!(object["name"] == "hostile" && part > 0.9, "{object:#}");
        let (instruction, part) = first(&profile, "instructions");
        assert!(instruction["symbol"] == "read_at_random" && part > 0.9, "{instruction:#}");
        let both = &profile["symbols_and_objects"];
        let of = |symbol: &str, object: &str| {
            let found =
                both.as_array().unwrap().iter().find(|part| part["symbol"] == symbol && part["object"] == object);
            found.map_or(0, |part| number(part, "/counts/l1d_misses"))
        };
        // 1.6 MB in order are 391 pages.
        assert_eq!(of("read_in_order", "sequential"), 391, "{both:#}");
        assert!(of("read_at_random", "hostile") > 100_000, "{both:#}");
        assert_eq!(of("read_named", "named by the program") + of("two_arrays", "named by the program"), 8, "{both:#}");
        assert_eq!((of("read_in_order", "hostile"), of("read_at_random", "sequential")), (0, 0));
    }
}

#[test]
fn the_line_that_reads_the_hostile_array_is_named() {
    let source = fs::read_to_string(TWO_ARRAYS.replace(".elf", ".c")).unwrap();
    let line_of = |text: &str| 1 + source.lines().position(|line| line.contains(text)).expect("a line of the source");
    let scratch = Scratch::new();
    let file = scratch.text("p.json");
    let arguments = ["--guest", TWO_ARRAYS, "--scheme", "nested", "--memory", "128M", "--profile", &file];
    let shown = run(["compare"].iter().chain(&arguments)).succeeded().stdout;
    let profile = &json(&file)["runs"][0];
    assert_eq!(sums(&profile["lines"]), totals(profile));
    let (line, part) = first(profile, "lines");
    let hostile = format!("two-arrays.c:{}", line_of("sum += hostile["));
    assert!(line["symbol"] == "read_at_random" && part > 0.9, "{line:#}");
    assert!(line["line"].as_str().unwrap().ends_with(&format!("/{hostile}")), "{line:#}");
    assert_eq!(profile["instructions"][0]["line"], line["line"]);
    let sequential = format!("two-arrays.c:{} read_in_order", line_of("sum += sequential["));
    assert!(shown.contains(&format!("\n{hostile} read_at_random ")) && shown.contains(&sequential), "{shown}");
}

#[test]
fn functions_of_vos_and_of_its_workloads_are_named() {
    let scratch = Scratch::new();
    let file = scratch.text("p.json");
    let arguments = ["--workload", "gups:16M", "--scheme", "nested", "--memory", "128M", "--profile", &file];
    let shown = run(["compare"].iter().chain(&arguments)).succeeded().stdout;
    let profile = &json(&file)["runs"][0];
    assert_eq!(first(profile, "symbols").0["name"], "update", "{:#}", profile["symbols"]);
    assert_eq!(first(profile, "objects").0["name"], "heap");
    assert_eq!(profile["spaces"][0]["name"], "gups:16M");
    let tables: Vec<&str> = shown.split("by what they are charged to").collect();
    assert_eq!(tables.len(), 2, "{shown}");
    assert!(tables[1].contains("\nupdate ") && tables[1].contains(" heap "), "{shown}");
}

#[test]
fn stacks_weigh_what_the_profile_has() {
    let scratch = Scratch::new();
    let arguments = ["compare", "--workload", "gups:1M", "--memory", "64M", "--scheme", "native,nested", "--profile"];
    let written = |name: &str| {
        let file = scratch.text(name);
        run(arguments.iter().chain(&[file.as_str()])).succeeded();
        fs::read(file).unwrap()
    };
    let of_json: Value = serde_json::from_slice(&written("p.json")).unwrap();
    let weight = |run: &Value| number(run, "/totals/translation_ticks") + number(run, "/totals/hypervisor_ticks");
    let whole: u64 = runs_of(&of_json).iter().map(weight).sum();

    let folded = String::from_utf8(written("p.folded")).unwrap();
    let stacks: Vec<(&str, u64)> = folded
        .lines()
        .map(|line| line.rsplit_once(' ').map(|(stack, weight)| (stack, weight.parse().unwrap())).unwrap())
        .collect();
    assert_eq!(stacks.iter().map(|(_, weight)| weight).sum::<u64>(), whole);
    assert!(stacks.iter().any(|(stack, _)| *stack == "gups:1M under nested:4K+4K;gups:1M;update"), "{folded}");

    let of_firefox = |bytes: &[u8]| -> Value { serde_json::from_slice(bytes).unwrap() };
    let plain = written("p.fxprof.json");
    let threads = of_firefox(&plain)["threads"].as_array().unwrap().clone();
    let samples = threads.iter().flat_map(|thread| thread["samples"]["weight"].as_array().unwrap());
    assert_eq!(samples.map(|weight| weight.as_u64().unwrap()).sum::<u64>(), whole);
    let packed = written("p.json.gz");
    assert_eq!(packed[..3], [0x1f, 0x8b, 8]);
    let unpacked = std::process::Command::new("gzip").args(["-dc", &scratch.text("p.json.gz")]).output().unwrap();
    assert!(unpacked.status.success());
    assert_eq!(unpacked.stdout, plain);
    assert_eq!(packed, written("p.json.gz"), "equal runs give equal bytes");
}

#[test]
fn guests_that_share_processors_have_profiles_of_their_own() {
    for scheme in ["nested", "shadow"] {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("host.toml"), two_guests(scheme)).unwrap();
        let run = |arguments: &[&str]| {
            ended(command(["run", "host.toml"].iter().chain(arguments)).current_dir(directory.path())).succeeded()
        };
        run(&["--json", "with.json", "--profile", "p.json"]);
        run(&["--json", "without.json"]);
        assert_eq!(fs::read(at("with.json")).unwrap(), fs::read(at("without.json")).unwrap());
        let (profile, report) = (json(at("p.json").to_str().unwrap()), json(at("with.json").to_str().unwrap()));
        let profiles = runs_of(&profile);
        assert_eq!(profiles.len(), 2);
        for (guest, profile) in profiles.iter().enumerate() {
            adds_up(scheme, profile);
            let of = |pointer: &str| number(&report["guests"][guest], pointer);
            assert_eq!(number(profile, "/totals/l1d_misses"), of("/tlb/l1d_misses"));
            assert_eq!(number(profile, "/totals/walks"), of("/walks/count"));
        }
        run(&["--spin", "none,rslp", "--profile", "both.json"]);
        assert_eq!(runs_of(&json(at("both.json").to_str().unwrap())).len(), 4);
    }
}

#[test]
fn a_restored_guest_has_a_profile() {
    let scratch = Scratch::new();
    let snapshot = scratch.text("s.pwsnap");
    run(["boot", "--run", "gups", "--memory", "64M", "--snapshot", &snapshot]).succeeded();
    exact(&["--restore", &snapshot, "--scheme", "native,nested,shadow"]);
}

#[test]
fn a_warm_up_is_not_in_the_profile() {
    let jobs = ["--workload", "gups:1M", "--memory", "64M", "--scheme", "nested", "--warmup"];
    for warmup in ["touch", "100000"] {
        exact(&[&jobs[..], &[warmup]].concat());
    }
}

#[test]
fn what_cannot_be_written_is_named_before_anything_runs() {
    let scratch = Scratch::new();
    let missing = scratch.text("missing/p.json");
    let guest = ["--memory", "64M", "--profile"];
    run(["compare", "--scheme", "native", "--workload", "gups"].iter().chain(&guest).chain(&[missing.as_str()]))
        .failed(1, &[&missing]);
    run(["boot", "--run", "hello"].iter().chain(&guest).chain(&[missing.as_str()])).failed(1, &[&missing]);
    let directory = scratch.text("");
    run(["compare", "--scheme", "native", "--profile-format", "json", "--workload", "gups"]
        .iter()
        .chain(&guest)
        .chain(&[directory.as_str()]))
    .failed(1, &[&directory]);
    let host = scratch.write("host.toml", two_guests("shadow"));
    run(["run", &host, "--profile", &missing]).failed(1, &[&missing]);
    let nameless = scratch.text("profile");
    run(["compare", "--scheme", "native", "--workload", "gups"].iter().chain(&guest).chain(&[nameless.as_str()]))
        .failed(2, &["--profile", &nameless, "--profile-format"]);
    assert_eq!(scratch.names(), ["host.toml"]);
}

#[test]
fn the_user_may_say_the_format() {
    let scratch = Scratch::new();
    let file = scratch.text("profile");
    let guest = ["compare", "--workload", "hello", "--scheme", "native", "--memory", "64M", "--profile", &file];
    run(guest.iter().chain(&["--profile-format", "folded"])).succeeded();
    assert!(fs::read_to_string(&file).unwrap().lines().all(|line| line.contains(';')));
    run(guest.iter().chain(&["--profile-format", "json"])).succeeded();
    assert_eq!(json(&file)["format"], "pagewalk-profile");
}

#[test]
fn every_key_is_documented() {
    let documented = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json-keys.md")).unwrap();
    let (_, documented) = documented.split_once("## Profiles").expect("a part on profiles");
    let (profile, _) = compared(&["--workload", "jobs:64K", "--memory", "64M", "--scheme", "nested,shadow,flat"]);
    let mut keys = BTreeMap::new();
    collect(&profile, &mut keys);
    assert!(keys.len() > 30, "{keys:?}");
    for key in keys.keys() {
        assert!(documented.contains(&format!("`{key}`")), "docs/json-keys.md does not have `{key}`");
    }
}

fn collect(value: &Value, keys: &mut BTreeMap<String, ()>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            keys.insert(key.clone(), ());
            collect(value, keys);
        }),
        Value::Array(list) => list.iter().for_each(|value| collect(value, keys)),
        _ => {}
    }
}
