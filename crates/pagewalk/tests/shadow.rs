//! Shadow tables end to end: every way of keeping them, checked entry by entry, and what is reported of them.

mod common;

use common::{Ended, Scratch, compare, compare_bytes, number, run, runs};
use serde_json::Value;

/// Every pair of tables and coherence, with what a fence invalidates.
const WAYS: [&str; 6] = [
    "shadow/shadow.tables=single",
    "shadow/shadow.count=3",
    "shadow/shadow.invalidation=full/shadow.selection_flag=off",
    "shadow/shadow.assist=msa/shadow.count=4",
    "shadow/shadow.coherence=write-protect",
    "shadow/shadow.tables=single/shadow.coherence=write-protect",
];

/// A load with many address spaces, which pages, and checks every word that it has written.
const JOBS: [&str; 4] = ["--workload", "jobs:128K", "--append", "replace=fifo ticks=1 iterations=8 common=64K"];

fn jobs(arguments: &[&str]) -> Vec<Value> {
    runs(&[&JOBS, arguments].concat())
}

/// Time that the hypervisor spent on tables, and the rest.
fn parts(run: &Value) -> [u64; 5] {
    ["validation", "pptlb", "load_control", "purge_tlb", "rest"]
        .map(|part| number(run, &format!("/shadow/time/{part}")))
}

#[test]
fn jobs_that_page_find_every_word_whatever_keeps_the_tables() {
    for (harts, host_page) in [("1", ""), ("3", ":4K+2M")] {
        let schemes = WAYS.join(",").replace("shadow/", &format!("shadow{host_page}/"));
        let runs = jobs(&["--scheme", &schemes, "--harts", harts, "--check"]);
        assert_eq!(runs.len(), WAYS.len());
        for run in runs {
            let parts = parts(&run);
            assert_eq!(parts.iter().sum::<u64>(), number(&run, "/time/monitor"), "{run:#}");
            assert!(number(&run, "/shadow/validations") > 100, "{run:#}");
        }
    }
}

#[test]
fn assists_do_in_hardware_mode_what_exits_without_them() {
    let run = |assist: &str| jobs(&["--scheme", &format!("shadow/shadow.assist={assist}"), "--check"]).remove(0);
    let [none, vm_assist, msa] = ["none", "vm-assist", "msa"].map(run);
    let maintenance = |run: &Value| parts(run)[..4].iter().sum::<u64>();
    assert!(maintenance(&vm_assist) < maintenance(&none) && maintenance(&msa) < maintenance(&vm_assist));
    for (run, [validations, switches, invalidations]) in
        [(&none, [false; 3]), (&vm_assist, [true, false, false]), (&msa, [true; 3])]
    {
        for (what, assisted) in [("validations", validations), ("switches", switches), ("invalidations", invalidations)]
        {
            assert_eq!(number(run, &format!("/shadow/assisted/{what}")) > 0, assisted, "{what} of {run:#}");
        }
    }
    // Switches and invalidations that exit still are those which found nothing, or were for everything.
    assert!(number(&msa, "/exits/satp") < number(&none, "/exits/satp") / 10, "{msa:#}");
    assert_eq!(number(&none, "/instructions"), number(&msa, "/instructions"), "the same work");
}

#[test]
fn more_tables_than_spaces_are_not_stolen() {
    let run = |count: u32| jobs(&["--scheme", &format!("shadow/shadow.count={count}")]).remove(0);
    let [few, enough] = [3, 8].map(run);
    let steals = |run: &Value| number(run, "/shadow/switches/stolen");
    assert!(steals(&few) > 100 && steals(&enough) < 10, "{few:#}\n{enough:#}");
    assert!(number(&few, "/shadow/validations") > number(&enough, "/shadow/validations"));
}

/// The measurement of docs/shadow-results.md, "The paper's figures", with fewer rounds.
#[test]
fn more_tables_pay_with_the_multi_shadow_assist_and_not_without() {
    let old = "shadow/shadow.assist=vm-assist/shadow.invalidation=conventional/shadow.selection_flag=off/shadow.count=";
    let new = "shadow/shadow.assist=msa/shadow.count=";
    let schemes = [format!("{old}2"), format!("{old}6"), format!("{new}3"), format!("{new}7")].join(",");
    let arguments = [
        ["--workload", "jobs"],
        ["--append", "spaces=7 frames=850 validate=retry replace=fifo ticks=1 iterations=30"],
        ["--set", "host=hitachi-1985"],
        ["--set", "memory_attribute=V=Resident"],
        ["--scheme", &schemes],
    ];
    let runs = runs(&arguments.concat());
    let [old_few, old_many, new_few, new_many] = &runs[..] else { panic!("{} runs", runs.len()) };
    let cycles = |run: &Value| number(run, "/cycles");
    assert!(cycles(old_few) < cycles(old_many), "conventionally the best is less than the active spaces");
    assert!(cycles(new_many) < cycles(new_few), "with the assist it is as many");
    let maintenance = |run: &Value| parts(run)[..4].iter().sum::<u64>();
    assert!(maintenance(new_many) < maintenance(old_few) / 5, "almost all maintenance goes: {old_few:#}\n{new_many:#}");
    assert_eq!(number(old_few, "/shadow/assisted/switches"), 0);
    // Fences name virtual pages, and find them; PPTLB does not.
    assert!(number(old_few, "/shadow/invalidations/selective") > 0, "{old_few:#}");
    assert!(number(old_few, "/shadow/invalidations/full") > number(old_few, "/exits/sbi_paravirtual"), "{old_few:#}");
}

#[test]
fn shadow_tables_win_where_tables_stay_and_lose_where_they_are_edited() {
    let runs = runs(&["--workload", "gups:4M,jobs:64K", "--scheme", "nested,shadow"]);
    let [gups_nested, gups_shadow, jobs_nested, jobs_shadow] =
        [0, 1, 2, 3].map(|run: usize| number(&runs[run], "/cycles"));
    assert!(gups_shadow < gups_nested, "{runs:#?}");
    assert!(jobs_shadow > jobs_nested, "{runs:#?}");
}

#[test]
fn a_walk_of_a_shadow_table_is_as_long_as_a_native_one() {
    let arguments = [
        ["--workload", "gups:1M"],
        ["--append", "updates=10000"],
        ["--scheme", "native,shadow,native:2M,shadow:2M+2M,shadow:4K+2M"],
        ["--set", "mmu.walk_caches=off"],
        ["--set", "mmu.l1d=[{ sizes = ['4K'], sets = 1, ways = 64 }]"],
        ["--set", "mmu.l2=[]"],
    ];
    for run in runs(&arguments.concat()) {
        let (walks, refs) = (number(&run, "/walks/count"), number(&run, "/walks/guest_refs"));
        let levels = if run["scheme"] == "native:2M" || run["scheme"] == "shadow:2M+2M" { 2 } else { 3 };
        assert!(refs >= levels * walks && refs < levels * walks + 10, "{run:#}");
        assert_eq!(number(&run, "/walks/host_refs"), 0);
    }
}

#[test]
fn the_guests_own_table_serves_where_memory_is_real() {
    let real = ["--set", "memory_attribute=V=R", "--memory", "256M"];
    let runs = jobs(&[&["--scheme", "native,shadow/shadow.ves=true,shadow", "--check"][..], &real].concat());
    let [native, equal, shadow] = &runs[..] else { panic!("{} runs", runs.len()) };
    assert_eq!(equal["shadow"], Value::Null, "no table is kept");
    assert_eq!(number(equal, "/exits/shadow_fault") + number(equal, "/exits/nested_fault"), 0);
    assert_eq!(number(equal, "/time/translation"), number(native, "/time/translation"), "as native");
    assert!(number(equal, "/exits/sbi_paravirtual") > 0, "what else exits, exits");
    assert!(number(equal, "/cycles") < number(shadow, "/cycles"));
}

#[test]
fn the_report_is_the_same_whatever_the_threads() {
    let ways = WAYS.join(",");
    let arguments = [&JOBS[..], &["--scheme", &ways, "--harts", "2"]].concat();
    let [one, two] = ["1", "3"].map(|threads| compare_bytes(&[&arguments[..], &["--threads", threads]].concat()));
    assert!(one == two, "the reports differ");
    let report = compare(&[&JOBS[..], &["--scheme", "native,shadow"]].concat());
    assert_eq!(report["runs"][0]["shadow"], Value::Null);
}

#[test]
fn the_table_of_maintenance_has_a_line_for_each_run() {
    let arguments =
        ["compare", "--workload", "hello", "--scheme", "native,shadow,shadow/shadow.tables=single", "--details"];
    let end = run(arguments).succeeded();
    let (_, maintenance) = end.stdout.split_once("maintenance of shadow tables").expect("the table is there");
    assert_eq!(maintenance.matches("hello").count(), 2, "{maintenance}");
    let end = run(["compare", "--workload", "hello", "--scheme", "native", "--details"]).succeeded();
    assert!(!end.stdout.contains("maintenance"), "{end:#?}");
}

#[test]
fn impossible_tables_are_refused_with_the_key() {
    let refused = |scheme: &str, more: &[&str], named: &[&str]| {
        let arguments = ["compare", "--workload", "hello", "--scheme", scheme];
        run([&arguments[..], more].concat()).failed(2, named);
    };
    refused("shadow", &["--harts", "17"], &["shadow.count", "17 harts"]);
    refused("shadow/shadow.count=0", &[], &["shadow.count", "1 to 1024"]);
    refused("shadow/shadow.ves=true", &[], &["shadow.ves", "V=R"]);
    refused("shadow/shadow.coherence=magic", &[], &["shadow.coherence", "magic"]);
    refused("shadow/shadow.tabels=single", &[], &["tabels", "shadow.tables"]);
    // One table for each hart is always enough, and a scheme without tables does not look at the keys.
    run(["compare", "--workload", "hello", "--scheme", "shadow/shadow.tables=single,native", "--harts", "17"])
        .succeeded();
}

#[test]
fn a_host_without_room_for_tables_says_so() {
    let arguments =
        ["boot", "--scheme", "shadow", "--memory", "64M", "--set", "host_memory=48K", "--append", "workload=hello"];
    let end = run(arguments);
    assert!(end.code == Some(1) || end.code == Some(2), "{end:#?}");
    assert!(end.stderr.starts_with("pagewalk: ") && !end.stderr.contains("panicked"), "{end:#?}");
}

/// Boots Linux in every way.
fn linux(harts: &str, command: &str, more: &[&str]) -> Vec<Ended> {
    let mut ends = Vec::new();
    for tables in ["single", "multiple"] {
        for coherence in ["fence", "write-protect"] {
            for invalidation in ["full", "selective"] {
                let settings = [
                    format!("shadow.tables={tables}"),
                    format!("shadow.coherence={coherence}"),
                    format!("shadow.invalidation={invalidation}"),
                ];
                let settings = settings.iter().flat_map(|setting| ["--set", setting]);
                let arguments =
                    ["boot", "--guest", "linux", "--scheme", "shadow", "--check", "--harts", harts, "--run", command];
                ends.push(run(arguments.into_iter().chain(settings).chain(more.iter().copied())));
            }
        }
    }
    ends
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn linux_boots_on_every_kind_of_shadow_table() {
    for harts in ["1", "4"] {
        for end in linux(harts, "uname -m; nproc", &[]) {
            assert_eq!(end.succeeded().stdout, format!("riscv64\n{harts}\n"));
        }
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn processes_come_and_go_under_linux() {
    let script =
        "for i in $(seq 40); do (echo $i | sed s/1/2/ | sort > /tmp/$i) & done; wait; cat /tmp/[0-9]* | md5sum";
    let mut printed = None;
    for end in linux("2", script, &["--memory", "256M"]) {
        let stdout = end.succeeded().stdout;
        assert_eq!(printed.get_or_insert(stdout.clone()), &stdout);
    }
}

#[test]
fn the_json_of_a_boot_has_the_maintenance() {
    let scratch = Scratch::new();
    let json = scratch.text("boot.json");
    run(["boot", "--scheme", "shadow", "--append", "workload=hello", "--check", "--json", &json]).succeeded();
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert!(number(&report, "/runs/0/shadow/validations") > 0, "{report:#}");
}
