//! `--profile-stacks`: the call stacks of what is charged.

mod common;

use common::profiles::{TWO_ARRAYS, sums};
use common::{Scratch, command, ended, number, run, runs_of, two_guests};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// The profile of `compare` with `arguments`, and its report.
#[track_caller]
fn profiled(arguments: &[&str]) -> (Value, Vec<u8>) {
    let scratch = Scratch::new();
    let (profile, report) = (scratch.text("p.json"), scratch.text("r.json"));
    let files = ["--profile", &profile, "--profile-stacks", "--json", &report];
    run(["compare"].iter().chain(&files).chain(arguments)).succeeded();
    (serde_json::from_slice(&fs::read(profile).unwrap()).unwrap(), fs::read(report).unwrap())
}

/// Functions with arrows between them, and L1 misses.
fn stacks(run: &Value) -> BTreeMap<String, u64> {
    let mut stacks = BTreeMap::new();
    for stack in run["stacks"].as_array().expect("stacks") {
        let functions: Vec<&str> =
            stack["functions"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let misses = |name: &str| stack["counts"][name].as_u64().unwrap_or(0);
        *stacks.entry(functions.join(" > ")).or_default() += misses("l1d_misses") + misses("l1i_misses");
    }
    stacks
}

/// Stacks have all of the profile, to the unit.
#[track_caller]
fn add_up(run: &Value) {
    assert_eq!(sums(&run["stacks"]), sums(&run["symbols"]), "{}", run["scheme"]);
    assert!(number(run, "/totals/l1d_misses") > 0);
}

#[test]
fn a_function_stands_below_its_caller() {
    let (profile, _) = profiled(&["--guest", TWO_ARRAYS, "--scheme", "nested,shadow", "--memory", "128M"]);
    for run in runs_of(&profile) {
        add_up(&run);
        let stacks = stacks(&run);
        let names: Vec<&str> = stacks.keys().map(String::as_str).filter(|name| name.contains("read_")).collect();
        assert_eq!(names.len(), 3, "{stacks:#?}");
        for name in &names {
            let functions: Vec<&str> = name.split(" > ").collect();
            let caller = functions[functions.len().saturating_sub(2)];
            assert!(caller == "two_arrays" && functions.len() >= 2, "{name}");
        }
    }
}

#[test]
fn the_kernel_of_vos_stands_below_the_program_that_it_works_for() {
    let (profile, _) = profiled(&["--workload", "jobs:64K", "--memory", "64M", "--scheme", "nested"]);
    let run = &runs_of(&profile)[0];
    add_up(run);
    let stacks = stacks(run);
    // A page fault of a job, which takes a page from another one.
    let fault = "_start > program_main > jobs_job > store_touch > trap_entry > page_fault";
    let named =
        |name: &str| name.starts_with(fault) && name.ends_with("> segment_page_out > pptlb_invalidate > sbi_pptlb");
    assert!(stacks.keys().any(|name| named(name)), "{stacks:#?}");
    assert!(stacks.contains_key("_start > program_main > jobs_job > store_touch"), "{stacks:#?}");
    // What the kernel does for a program is not charged without the program.
    assert!(!stacks.keys().any(|name| name.starts_with("page_fault") || name.starts_with("trap_entry")), "{stacks:#?}");
}

#[test]
fn stacks_are_the_same_under_every_engine_and_change_no_result() {
    for fidelity in ["fidelity=counts", "fidelity=core"] {
        let of = |engine: &str| profiled(&common::jobs("native,shadow", "4", &["--set", fidelity, "--set", engine]));
        let (profile, report) = of("engine=threaded");
        runs_of(&profile).iter().for_each(add_up);
        assert_eq!(profile, of("engine=match").0, "{fidelity}");
        assert_eq!(profile, of("engine=compiled").0, "{fidelity}");
        let arguments = common::jobs("native,shadow", "4", &["--set", fidelity, "--set", "engine=threaded"]);
        assert_eq!(report, common::compare_bytes(&arguments), "{fidelity}");
    }
}

#[test]
fn flame_graphs_have_the_stacks() {
    let scratch = Scratch::new();
    let (folded, firefox, html) = (scratch.text("p.folded"), scratch.text("p.fxprof.json"), scratch.text("p.html"));
    let guest = ["compare", "--guest", TWO_ARRAYS, "--scheme", "nested", "--memory", "128M", "--profile-stacks"];
    run(guest.iter().chain(&["--profile", &folded, "--html", &html])).succeeded();
    run(guest.iter().chain(&["--profile", &firefox])).succeeded();
    let folded = fs::read_to_string(folded).unwrap();
    assert!(folded.lines().any(|line| line.contains(";two_arrays;read_at_random ")), "{folded}");
    let firefox: Value = serde_json::from_slice(&fs::read(firefox).unwrap()).unwrap();
    let thread = &firefox["threads"][0];
    // A stack has the frame of its function, and its prefix that of the caller.
    let names = firefox["shared"]["stringArray"].as_array().or(thread["stringArray"].as_array()).expect("names");
    assert!(["two_arrays", "read_at_random"].iter().all(|name| names.iter().any(|other| other == name)));
    let page = fs::read_to_string(html).unwrap();
    assert!(page.contains(r#"data-name="two_arrays""#) && page.contains(r#"data-name="read_at_random""#));
}

#[test]
fn guests_of_one_host_have_stacks_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("host.toml"), two_guests("shadow")).unwrap();
    let run = |arguments: &[&str]| {
        ended(command(["run", "host.toml"].iter().chain(arguments)).current_dir(directory.path())).succeeded()
    };
    run(&["--json", "with.json", "--profile", "p.json", "--profile-stacks"]);
    run(&["--json", "without.json"]);
    assert_eq!(fs::read(at("with.json")).unwrap(), fs::read(at("without.json")).unwrap());
    let profile: Value = serde_json::from_slice(&fs::read(at("p.json")).unwrap()).unwrap();
    runs_of(&profile).iter().for_each(add_up);
}

#[test]
fn stacks_need_a_profile() {
    run(["compare", "--workload", "hello", "--profile-stacks"]).failed(2, &["--profile"]);
}

/// Threads, system calls, page faults and interrupts of a kernel that switches stacks.
#[test]
#[ignore = "needs the fetched Linux guest"]
fn the_kernel_of_linux_stands_below_the_programs_that_it_works_for() {
    let arguments =
        ["--guest", "linux", "--workload", "gups:4M", "--harts", "2", "--memory", "512M", "--scheme", "nested"];
    let (profile, _) = profiled(&arguments);
    let run = &runs_of(&profile)[0];
    add_up(run);
    let stacks = stacks(run);
    let named = |outer: &str, inner: &str| {
        stacks.keys().any(|name| name.find(outer).is_some_and(|at| name[at + outer.len()..].contains(inner)))
    };
    assert!(named("main > ", "update"), "{stacks:#?}");
    // The scheduler's tick interrupts the program.
    assert!(named("update > handle_exception", "do_irq") || named("update > ", "irq"), "{stacks:#?}");
}

/// A table of the Firefox Profiler's format: every column has as many rows as the table.
#[track_caller]
fn rows(thread: &Value, table: &str) -> usize {
    let rows = number(&thread[table], "/length") as usize;
    for (name, column) in thread[table].as_object().expect("a table") {
        if let Some(column) = column.as_array() {
            assert_eq!(column.len(), rows, "{table}.{name}");
        }
    }
    rows
}

/// The numbers of a column that are not null, each with its row.
fn column<'v>(thread: &'v Value, table: &str, column: &str) -> impl Iterator<Item = (usize, usize)> + 'v {
    let column = thread[table][column].as_array().expect("a column").iter().enumerate();
    column.filter_map(|(row, value)| value.as_u64().map(|value| (row, value as usize)))
}

/// The Firefox Profiler follows these numbers when it loads a profile (its `src/types/profile.ts`): each is of a row that there is, and a stack comes behind
/// the one that it extends.
#[test]
fn the_tables_for_the_firefox_profiler_refer_to_rows_that_there_are() {
    let scratch = Scratch::new();
    let file = scratch.text("p.fxprof.json");
    let guest = ["--guest", TWO_ARRAYS, "--memory", "128M", "--scheme", "nested,shadow"];
    for detail in [&["--profile-stacks"][..], &[]] {
        run(["compare", "--profile", &file].iter().chain(&guest).chain(detail)).succeeded();
        let profile: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert!(number(&profile, "/meta/preprocessedProfileVersion") >= 24, "{}", profile["meta"]);
        let categories = profile["meta"]["categories"].as_array().unwrap().len();
        let threads = profile["threads"].as_array().unwrap();
        assert_eq!(threads.len(), 2);
        for thread in threads {
            let strings = thread["stringArray"].as_array().expect("names").len();
            let functions = rows(thread, "funcTable");
            let [frames, stacks, samples] = ["frameTable", "stackTable", "samples"].map(|table| rows(thread, table));
            assert!(functions > 2 && samples > 2, "{thread:#}");
            for (table, name, limit) in [
                ("funcTable", "name", strings),
                ("frameTable", "func", functions),
                ("frameTable", "category", categories),
                ("stackTable", "frame", frames),
                ("samples", "stack", stacks),
            ] {
                let outside = column(thread, table, name).find(|(_, value)| *value >= limit);
                assert_eq!(outside, None, "{table}.{name}: a row of {limit}");
            }
            let later = column(thread, "stackTable", "prefix").find(|(row, prefix)| prefix >= row);
            assert_eq!(later, None, "a stack extends a later one");
            assert_eq!(thread["samples"]["weightType"], "samples");
        }
    }
}
