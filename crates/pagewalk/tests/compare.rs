//! `compare` on vos: what its JSON holds, that it repeats to the byte, and that no switch changes a workload's result.

mod common;

use common::{Scratch, compare, compare_bytes, ended, number, run, runs, runs_of, slow_host, unchanged};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Every workload but `cg`, at a size that takes a fraction of a second.
const SMALL: &str = "gups:64K,bfs:6,stream:32K,kv:64K,sieve:64K,triad:32K,triadp:32K,qsort:32K,mcf:64";

/// A short run that fetches, walks, exits and is preempted.
const SHORT: [&str; 6] =
    ["--workload", "gups:1M", "--append", "updates=4000", "--set", "mmu.l2=[{ sizes = ['4K'], sets = 16, ways = 4 }]"];

/// What every run of a report has to have, by JSON pointer.
const NUMBERS: [&str; 20] = [
    "/instructions",
    "/loads",
    "/stores",
    "/cycles",
    "/overhead_ideal",
    "/tlb/l1d_misses",
    "/tlb/l1i_misses",
    "/tlb/l2_misses",
    "/walks/count",
    "/walks/guest_refs",
    "/walks/host_refs",
    "/walks/max_refs",
    "/walks/steps",
    "/walks/max_steps",
    "/segment_hits",
    "/escape_hits",
    "/time/guest",
    "/time/translation",
    "/time/monitor",
    "/exits/nested_fault",
];

fn with<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [arguments, more].concat()
}

/// What a workload itself says in its line, without the time it took.
fn result(run: &Value) -> (u64, u64, u64) {
    (number(run, "/instructions"), number(run, "/loads"), number(run, "/stores"))
}

#[test]
fn every_workload_is_right_under_every_scheme() {
    let schemes = "native:4K,native:2M,native:1G,nested:4K+4K,nested:4K+1G,nested:2M+2M,nested:1G+2M";
    let runs = runs(&["--workload", SMALL, "--scheme", schemes, "--set", "mmu.ad=hardware"]);
    assert_eq!(runs.len(), SMALL.split(',').count() * schemes.split(',').count());
    for run in &runs {
        assert_eq!(run["outcome"], "the guest's command ended with status 0", "{run:#}");
        let native = runs.iter().find(|other| {
            other["workload"] == run["workload"]
                && other["guest_page"] == run["guest_page"]
                && other["host_page"].is_null()
        });
        let native = native.expect("each guest page size was run natively");
        // The same program does the same work, but for the kernel's ticks, which follow simulated time.
        let (own, other) = (result(run), result(native));
        assert!(own.0.abs_diff(other.0) < 200 + other.0 / 100, "{own:?} and {other:?}: {run:#}");
        assert!(own.2.abs_diff(other.2) < 200 + other.2 / 100, "{own:?} and {other:?}: {run:#}");
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes 350 million instructions at the least: `cargo test --release`")]
fn conjugate_gradients_reach_their_published_value() {
    assert_eq!(runs(&["--workload", "cg:S", "--scheme", "native,nested:4K+1G"]).len(), 2);
}

#[test]
fn a_report_has_every_key_and_its_numbers_agree() {
    let report = compare(&with(&SHORT, &["--scheme", "native:4K,nested:4K+4K,nested:2M+4K", "--memory", "1G"]));
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["host"]["name"], "sandybridge-2012");
    for (pointer, value) in [
        ("/config/memory", json!("1G")),
        ("/config/harts", json!(1)),
        ("/config/paging/guest", json!("sv39")),
        ("/config/mmu/walk_caches", json!("on")),
        ("/config/isa/sstc", json!(true)),
    ] {
        assert_eq!(report.pointer(pointer), Some(&value), "{pointer}");
    }
    let runs = runs_of(&report);
    for run in &runs {
        for pointer in NUMBERS {
            assert!(run.pointer(pointer).is_some_and(Value::is_number), "{pointer} of {run:#}");
        }
        let of = |pointer| number(run, pointer);
        assert_eq!(of("/cycles"), of("/time/guest") + of("/time/translation") + of("/time/monitor"));
        assert!(of("/loads") + of("/stores") <= of("/instructions"));
        assert!(of("/tlb/l1d_misses") <= of("/loads") + of("/stores"));
        assert!(of("/tlb/l2_misses") <= of("/tlb/l1d_misses") + of("/tlb/l1i_misses"));
        assert_eq!(of("/walks/count"), of("/tlb/l2_misses"));
        // Each step of today's walks is one reference.
        assert_eq!(of("/walks/steps"), of("/walks/guest_refs") + of("/walks/host_refs"));
        assert_eq!(of("/walks/max_steps"), of("/walks/max_refs"));
        assert!(of("/walks/max_refs") <= of("/walks/guest_refs") + of("/walks/host_refs"));
        assert_eq!(run["guest"], "vos");
        assert_eq!(run["workload"], "gups:1M");
        let nested = run["scheme"].as_str().unwrap().starts_with("nested");
        assert_eq!(run["host_page"].is_null(), !nested);
        assert_eq!(nested, of("/walks/host_refs") > 0);
        let (cycles, guest) = (of("/cycles") as f64, of("/time/guest") as f64);
        assert!((run["overhead_ideal"].as_f64().unwrap() - (cycles / guest - 1.0)).abs() < 1e-9);
    }
    let (native, nested, large) = (&runs[0], &runs[1], &runs[2]);
    assert_eq!(native["overhead"], 0.0);
    let ratio = number(nested, "/cycles") as f64 / number(native, "/cycles") as f64;
    assert!((nested["overhead"].as_f64().unwrap() - (ratio - 1.0)).abs() < 1e-9);
    assert!(large["overhead"].is_null(), "native:2M was not run");
    assert!(native["exits"].as_object().unwrap().values().all(|count| *count == 0), "no machine to exit from");
}

#[test]
fn two_runs_are_the_same_bytes_whatever_the_host_does() {
    let arguments = with(&SHORT, &["--scheme", "native,nested,nested:2M", "--harts", "2"]);
    let first = compare_bytes(&arguments);
    assert!(compare_bytes(&with(&arguments, &["--threads", "1"])) == first, "one host thread");
    assert!(compare_bytes(&with(&arguments, &["--threads", "3"])) == first, "three host threads");
    let over = AtomicBool::new(false);
    let loaded = thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let loaded = compare_bytes(&arguments);
        over.store(true, Ordering::Relaxed);
        loaded
    });
    assert!(loaded == first, "with the host loaded");
}

#[test]
fn output_is_the_same_text_twice() {
    let arguments = with(&["compare"], &with(&SHORT, &["--scheme", "native,nested"]));
    assert_eq!(run(&arguments).succeeded().stdout, run(&arguments).succeeded().stdout);
}

#[test]
fn several_harts_share_the_work_of_several_processes() {
    for harts in ["1", "4"] {
        for scheme in ["native", "nested:2M+4K"] {
            let append = "workload=kv size=64K procs=3";
            let end = run(["boot", "--harts", harts, "--scheme", scheme, "--append", append]).succeeded();
            assert!(end.stdout.contains(&format!("harts {harts},")), "{end:#?}");
            assert_eq!(end.stdout.matches("kv: ok").count(), 3, "{end:#?}");
        }
    }
}

#[test]
fn four_harts_do_the_work_of_one() {
    let retired = |harts| {
        let scratch = Scratch::new();
        let json = scratch.text("out.json");
        let append = "workload=qsort size=64K procs=4";
        run(["boot", "--append", append, "--harts", harts, "--json", &json]).succeeded();
        let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
        number(&report, "/runs/0/instructions")
    };
    // The work is the same: what the harts retire together hardly differs.
    let (one, four) = (retired("1"), retired("4"));
    assert!(four.abs_diff(one) < one / 2, "{one} and {four}");
}

/// The figure `name=` in the line that workload jobs prints.
#[track_caller]
fn figure(end: &common::Ended, name: &str) -> u64 {
    let value = end.stdout.split(&format!(" {name}=")).nth(1).unwrap_or_else(|| panic!("no {name} in {end:#?}"));
    value
        .split_whitespace()
        .next()
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_else(|| panic!("{name} in {end:#?}"))
}

#[test]
fn jobs_page_switch_and_purge_and_keep_their_data() {
    for (scheme, harts) in
        [("native", "1"), ("native", "4"), ("nested", "1"), ("nested:4K+2M", "4"), ("shadow", "1"), ("shadow", "4")]
    {
        for options in ["", "ad=fault", "validate=retry ticks=20000", "pptlb=plain", "pptlb=off"] {
            let append = format!("workload=jobs size=64K common=32K frames=60 iterations=20 spaces=4,7,3 {options}");
            let end = run(["boot", "--harts", harts, "--scheme", scheme, "--append", &append]).succeeded();
            assert!(end.stdout.contains("jobs: ok spaces=4,7,3 "), "{end:#?}");
            // A call of the control space after each round: 3 + 6 + 2 jobs.
            assert_eq!(figure(&end, "touches"), 11 * 20, "{end:#?}");
            assert_eq!(figure(&end, "purges"), 11, "one for each segment released: {end:#?}");
            assert!(figure(&end, "switches") > 11 * 20, "{end:#?}");
            let (out, back) = (figure(&end, "page_outs"), figure(&end, "page_ins"));
            assert!(out > 50 && back > 50, "frames are short: {end:#?}");
            let invalidated = figure(&end, "pptlbs") + figure(&end, "fences");
            assert!(invalidated <= out && invalidated > out / 2, "one for each page that was mapped: {end:#?}");
        }
    }
}

#[test]
fn jobs_without_ticks_and_reference_bits_are_the_same_instructions_under_every_scheme() {
    let append = "size=64K common=32K frames=60 iterations=20 spaces=4,7,3 replace=fifo ticks=0";
    let schemes = "native,nested,nested:4K+2M,shadow,flat";
    let results = runs(&["--workload", "jobs", "--append", append, "--scheme", schemes]);
    let retired: Vec<_> = results.iter().map(|run| number(run, "/instructions")).collect();
    assert!(retired.iter().all(|&instructions| instructions == retired[0]), "{retired:?}");
}

#[test]
fn jobs_run_in_little_memory_and_in_much() {
    for (memory, options) in [
        ("8M", "size=32K common=16K frames=20 spaces=7"),
        ("16M", "size=256K spaces=3,5"),
        ("8G", "size=4M frames=3000 spaces=2,4,2 iterations=10"),
        ("64M", "size=16K common=8K spaces=32,2,32 iterations=5"),
        ("64M", "size=4K common=4K spaces=2 iterations=5"),
    ] {
        let append = format!("workload=jobs iterations=20 {options}");
        let end = run(["boot", "--memory", memory, "--scheme", "nested", "--append", &append]).succeeded();
        assert!(end.stdout.contains("jobs: ok"), "{memory}: {end:#?}");
    }
    // A data set that does not fit: a process is killed, and no process waits for it.
    let append = "workload=jobs size=4M frames=100 spaces=7";
    let end = run(["boot", "--memory", "16M", "--append", append]).failed(1, &["status 139"]);
    assert!(end.stdout.contains("no free memory block"), "{end:#?}");
}

#[test]
fn jobs_with_options_that_make_no_sense_are_refused_by_the_guest() {
    for (options, named) in [
        ("spaces=1", "spaces=: must be"),
        ("spaces=7,,7", "spaces=: must be"),
        ("spaces=33", "spaces=: must be"),
        ("frames=13", "frames=13: must be at least 14"),
        ("size=257M", "size=269484032: must be"),
        ("common=17M", "common=17825792: must be"),
    ] {
        let end = run(["boot", "--append", &format!("workload=jobs {options}")]).failed(1, &["status 2"]);
        assert!(end.stdout.contains(named), "{end:#?}");
    }
    let end = run(["boot", "--append", "workload=jobs procs=2"]).failed(1, &["status 1"]);
    assert!(end.stdout.contains("jobs: FAILED"), "{end:#?}");
}

#[test]
fn every_extension_can_be_switched_off() {
    for (setting, workload) in [
        ("isa.zihintpause=false", "gups:64K"),
        ("isa.zawrs=false", "gups:64K"),
        ("isa.sstc=false", "gups:64K"),
        ("isa.svnapot=false", "stream:32K"),
    ] {
        let runs = runs(&["--workload", workload, "--scheme", "native,nested", "--set", setting]);
        assert_eq!(runs.len(), 2, "{setting}");
    }
    // vos itself reads `time`, and loads and stores the registers of D.
    for settings in [&["isa.zicntr=false"][..], &["isa.d=false"], &["isa.d=false", "isa.f=false"]] {
        let settings: Vec<&str> = settings.iter().flat_map(|&setting| ["--set", setting]).collect();
        let end = run(with(&["boot"], &settings)).failed(1, &["status 255"]);
        assert!(end.stdout.contains("vos: panic: trap in the kernel: cause 2"), "{end:#?}");
    }
    // And it is compressed: its first instruction traps, and so does its trap handler, for ever.
    let scratch = Scratch::new();
    let host = slow_host(&scratch);
    let host = host.each_ref().map(String::as_str);
    let end = run(with(&["boot", "--set", "isa.c=false", "--timeout", "1"], &host));
    end.failed(1, &["the time limit of 1 guest second"]);
}

#[test]
fn the_timer_comes_by_sbi_call_where_stimecmp_is_missing() {
    let append = "workload=kv size=64K procs=2";
    let stdout = |setting| run(["boot", "--append", append, "--set", setting]).succeeded().stdout;
    assert!(stdout("isa.sstc=true").contains("timer sstc"));
    let without = stdout("isa.sstc=false");
    assert!(without.contains("timer sbi") && without.matches("kv: ok").count() == 2, "{without}");
}

#[test]
fn dirty_bits_are_set_by_hardware_or_by_the_guest() {
    let measure = |policy: &str| {
        let setting = format!("mmu.ad={policy}");
        let append = "updates=4000 ad=fault";
        let arguments = ["--workload", "gups:1M", "--append", append, "--scheme", "native,nested", "--set", &setting];
        runs(&arguments)
    };
    let (hardware, fault) = (measure("hardware"), measure("fault"));
    for (hardware, fault) in hardware.iter().zip(&fault) {
        assert_eq!(hardware["outcome"], fault["outcome"]);
    }
    // The faults come before the region of interest, while memory is touched: whole runs show them.
    let whole = |policy: &str| {
        let scratch = Scratch::new();
        let json = scratch.text("out.json");
        let setting = format!("mmu.ad={policy}");
        run(["boot", "--append", "workload=hello ad=fault", "--set", &setting, "--json", &json]).succeeded();
        let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
        number(&report, "/runs/0/instructions")
    };
    assert!(whole("hardware") < whole("fault"), "a fault for each page that is written");
}

#[test]
fn paging_modes_change_no_result() {
    for mode in ["sv39", "sv48", "sv57"] {
        let append = format!("workload=bfs size=6 paging={mode}");
        let setting = format!("paging.guest={mode}");
        let end = run(["boot", "--scheme", "nested", "--set", &setting, "--append", &append]).succeeded();
        assert!(end.stdout.contains(&format!(" {mode},")) && end.stdout.contains("bfs: ok"), "{end:#?}");
    }
    let end = run(["boot", "--set", "paging.guest=sv39", "--append", "paging=sv48"]).failed(1, &["status 255"]);
    assert!(end.stdout.contains("sv48"), "the guest says what it does not find: {end:#?}");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes in this build: `cargo test --release`")]
fn all_engines_give_the_same_report() {
    let report = |engine: &str| {
        let setting = format!("engine={engine}");
        let arguments = [
            "--workload",
            "bfs:6,stream:32K,kv:64K",
            "--harts",
            "2",
            "--append",
            "procs=2",
            "--scheme",
            "native,nested,shadow,flat,dual-direct",
        ];
        let mut report = compare(&with(&arguments, &["--set", &setting]));
        assert_eq!(report["config"]["engine"].take(), engine);
        report
    };
    let oracle = report("match");
    for engine in ["threaded", "compiled", "baseline-all", "compiled-all"] {
        assert_eq!(report(engine), oracle, "{engine}");
    }
}

#[test]
fn configuration_comes_from_a_file_then_settings_then_flags() {
    let scratch = Scratch::new();
    let file = scratch.write("c.toml", "harts = 2\nmemory = '64M'\n[mmu]\nwalk_caches = 'off'\n");
    let arguments =
        ["--workload", "hello", "--scheme", "native", "--config", &file, "--set", "memory=128M", "--harts", "3"];
    let config = compare(&arguments)["config"].clone();
    assert_eq!((&config["harts"], &config["memory"]), (&json!(3), &json!("128M")));
    assert_eq!(config["mmu"]["walk_caches"], "off");
}

/// What the JSON says of the fidelity, and of that of each run, after `compare` with `arguments` as they are.
fn fidelities(arguments: &[&str]) -> (String, Vec<Value>) {
    let scratch = Scratch::new();
    let json = scratch.text("out.json");
    let short = ["compare", "--workload", "gups:64K", "--append", "updates=1000", "--memory", "64M", "--json", &json];
    ended(&mut unchanged([&short, arguments].concat())).succeeded();
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let fidelity = report["config"]["fidelity"].as_str().expect("a name").to_owned();
    (fidelity, runs_of(&report).iter().map(|run| run["settings"]["fidelity"].clone()).collect())
}

#[test]
fn the_default_fidelity_is_the_most_detailed_one_that_all_host_models_have() {
    let scratch = Scratch::new();
    let file = scratch.write("cycles.toml", "fidelity = 'cycles'");
    for (expected, arguments) in [
        ("core", &["--scheme", "native,nested"][..]),
        ("core", &["--scheme", "native,nested/host=xeon-2017"]),
        ("cycles", &["--scheme", "native,flat/host=sunway-1621"]),
        ("cycles", &["--scheme", "native", "--set", "host=hitachi-1985"]),
        ("cycles", &["--scheme", "native", "--config", &file]),
        ("counts", &["--scheme", "native", "--set", "fidelity=counts"]),
        ("counts", &["--scheme", "native", "--fidelity", "counts"]),
    ] {
        let (fidelity, own) = fidelities(arguments);
        assert_eq!(fidelity, expected, "{arguments:?}");
        assert!(own.iter().all(Value::is_null), "{arguments:?}");
    }
    let (fidelity, own) = fidelities(&["--scheme", "nested/fidelity=counts,nested"]);
    assert_eq!((fidelity.as_str(), own), ("core", vec![json!("counts"), Value::Null]));
}

#[test]
fn the_default_workloads_are_short_and_say_so() {
    let list = ended(&mut unchanged(["compare", "--scheme", "native:2M", "--fidelity", "counts"])).succeeded().stdout;
    let caption = list.lines().find(|line| line.starts_with("workloads are short: ")).expect("a line");
    let short = ["gups updates=1M", "bfs iterations=1", "stream iterations=2", "kv iterations=100000"];
    assert!(short.iter().all(|each| caption.contains(each)), "{list}");
    assert!(
        ["gups ", "bfs ", "stream ", "kv ", "sieve:4M "].iter().all(|name| list.contains(&format!("\n{name}"))),
        "{list}"
    );
    let named = run(["compare", "--scheme", "native:2M", "--workload", "sieve:4M"]).succeeded().stdout;
    assert!(!named.contains("workloads are short"), "{named}");
}
