//! The fidelity `cycles`, on guests: counts that belong together, time that adds up, and what does not change.

mod common;

use common::{compare, number, run, runs_of};
use serde_json::Value;

const SMALL: &str = "gups:256K,stream:32K,qsort:16K";
const SCHEMES: &str = "native,native:2M,nested,flat,shadow";

fn report(more: &[&str]) -> Value {
    compare(&[&["--workload", SMALL, "--scheme", SCHEMES, "--set", "fidelity=cycles"][..], more].concat())
}

#[test]
fn every_line_is_looked_for_where_it_was_missed_above() {
    for host in [
        "sandybridge-2012",
        "xeon-2017",
        "sapphirerapids-2023",
        "p550-2024",
        "sunway-1621",
        "alpha-1997",
        "hitachi-1985",
    ] {
        let report = compare(&[
            "--workload",
            "gups:256K",
            "--scheme",
            "native,nested,flat",
            "--set",
            "fidelity=cycles",
            "--set",
            &format!("host={host}"),
        ]);
        let has = |level: &str| !report["host"]["caches"][level].is_null();
        for run in runs_of(&report) {
            let of = |pointer: &str| number(&run, pointer);
            let cache = |level: &str, what: &str| of(&format!("/caches/{level}/{what}"));
            let walk = |found: &str| of(&format!("/caches/walk/{found}"));
            let found = ["l1d", "l2", "llc", "memory"].map(walk);
            assert_eq!(found.iter().sum::<u64>(), of("/walks/guest_refs") + of("/walks/host_refs"), "{run:#}");
            assert_eq!(cache("l1d", "accesses"), of("/loads") + of("/stores"));
            let below = cache("l1d", "misses") + cache("l1i", "misses") + found[1..].iter().sum::<u64>();
            if has("l2") {
                assert_eq!(cache("l2", "accesses"), below, "{run:#}");
            }
            if has("llc") {
                assert_eq!(cache("llc", "accesses"), cache("l2", "misses"), "{run:#}");
            }
            let latency = |level: &str| number(&report, &format!("/host/caches/{level}/latency"));
            let outer = |level| if has(level) { latency(level) } else { 0 };
            let latencies = [latency("l1d"), outer("l2"), outer("llc"), number(&report, "/host/caches/memory")];
            let cycles: u64 = found.iter().zip(latencies).map(|(count, latency)| count * latency).sum();
            assert_eq!(walk("cycles"), cycles, "{run:#}");
            let parts = ["guest", "translation", "monitor"].map(|part| of(&format!("/time/{part}")));
            assert_eq!(parts.iter().sum::<u64>(), of("/cycles"));
            let instructions = of("/instructions") * number(&report, "/host/millicycles_per_instruction") / 1000;
            let stalls = of("/caches/stalls/data") + of("/caches/stalls/fetch");
            // Each of the two roundings to a cycle is of a difference.
            assert!(parts[0].abs_diff(instructions + stalls) <= 2, "{run:#}");
            assert!(stalls > 0 && parts[1] >= cycles, "{run:#}");
        }
    }
}

/// The engines have their own code for hits, and neither time nor place of the process's memory is in the results.
#[test]
fn engines_and_repetitions_agree_to_the_byte() {
    let first = report(&[]);
    assert_eq!(first["runs"], report(&[])["runs"]);
    for engine in ["engine=match", "engine=compiled-all"] {
        assert_eq!(first["runs"], report(&["--set", engine])["runs"], "{engine}");
    }
}

/// Pairs of the threaded engine reported their operations twice, so that each waited a cycle more than under `match`.
#[test]
fn engines_report_each_instruction_once_to_a_core() {
    let of = |engine: &str| {
        let jobs = ["--workload", "jobs:64K", "--append", "iterations=25", "--scheme", "native"];
        compare(&[&jobs[..], &["--set", "fidelity=core", "--set", engine]].concat())
    };
    let first = of("engine=threaded");
    for run in runs_of(&first) {
        assert!(run["core"]["width"].is_u64(), "{run:#}");
    }
    assert_eq!(first["runs"], of("engine=match")["runs"]);
}

/// The option is the key by another name.
#[test]
fn fidelity_has_an_option_of_its_own() {
    let by_option = compare(&["--workload", "gups:64K", "--scheme", "native", "--fidelity", "core"]);
    let by_key = compare(&["--workload", "gups:64K", "--scheme", "native", "--set", "fidelity=core"]);
    assert_eq!(by_option, by_key);
}

/// Compiled code sees by itself that a line was used last, that a load waits for nothing, and that a branch was predicted.
#[test]
fn compiled_code_reports_to_a_core_what_an_interpreter_does() {
    let of = |engine: &str| {
        let workloads = "gups:256K,qsort:64K,sieve:64K,kv:256K";
        let machine = ["--scheme", "native,nested,shadow", "--set", "fidelity=core", "--set", engine];
        compare(&[&["--workload", workloads][..], &machine].concat())
    };
    let first = of("engine=match");
    assert_eq!(first["runs"], of("engine=compiled-all")["runs"]);
}

/// Loads of wrong paths begin before instructions that compiled code does not report.
#[test]
fn wrong_paths_make_a_guest_faster_and_are_the_same_under_every_engine() {
    let of = |wrong_path: &str, engine: &str| {
        let machine = ["--workload", "qsort:64K,kv:1M,bfs:10", "--scheme", "native,nested"];
        let core = ["--set", "fidelity=core", "--set", "guest_time=instructions", "--set", engine];
        let wrong_path = format!("host.core.wrong_path={wrong_path}");
        compare(&[&machine[..], &core, &["--set", &wrong_path]].concat())
    };
    let converges = of("converges", "engine=match");
    for engine in ["engine=threaded", "engine=compiled-all"] {
        assert_eq!(converges["runs"], of("converges", engine)["runs"], "{engine}");
    }
    for (off, converges) in runs_of(&of("off", "engine=compiled")).iter().zip(runs_of(&converges)) {
        let (before, after) = (number(off, "/cycles"), number(&converges, "/cycles"));
        assert!(after < before, "{after} cycles in place of {before}: {converges:#}");
        assert_eq!(number(off, "/tlb/l1d_misses"), number(&converges, "/tlb/l1d_misses"), "{converges:#}");
    }
}

/// The prefetcher finds the next page whatever translates it, and changes no TLB and no walk cache.
#[test]
fn a_stream_that_crosses_pages_is_faster_under_every_scheme_and_walks_as_much() {
    let of = |page_end: &str, engine: &str| {
        let schemes = "native,native:2M,nested,nested:2M+4K,shadow,flat,dual-direct";
        let machine = [
            "--workload",
            "stream:2M",
            "--append",
            "iterations=3",
            "--scheme",
            schemes,
            "--set",
            "guest_time=instructions",
        ];
        let core = ["--set", "host=xeon-2017", "--set", "fidelity=core", "--set", engine];
        let page_end = format!("host.core.prefetch.stream.page_end={page_end}");
        compare(&[&machine[..], &core, &["--set", &page_end]].concat())
    };
    let crosses = of("cross", "engine=compiled");
    for (stop, cross) in runs_of(&of("stop", "engine=compiled")).iter().zip(runs_of(&crosses)) {
        let (before, after) = (number(stop, "/cycles"), number(&cross, "/cycles"));
        assert!(after < before, "{after} cycles in place of {before}: {cross:#}");
        for same in ["/instructions", "/tlb/l1d_misses", "/tlb/l2_misses", "/walks/guest_refs", "/walks/host_refs"] {
            assert_eq!(number(stop, same), number(&cross, same), "{same}: {cross:#}");
        }
    }
    assert_eq!(crosses["runs"], of("cross", "engine=match")["runs"]);
}

/// Caches change the time of things, and through it the kernel's ticks; not what a program does.
#[test]
fn the_same_work_is_done_under_either_fidelity() {
    let (cycles, counts) = (report(&[]), report(&["--set", "fidelity=counts"]));
    for (cycles, counts) in runs_of(&cycles).iter().zip(runs_of(&counts)) {
        assert_eq!(cycles["outcome"], "the guest's command ended with status 0", "{cycles:#}");
        assert_eq!(cycles["outcome"], counts["outcome"]);
        assert_eq!(counts["caches"], Value::Null);
        let (own, other) = (number(cycles, "/stores"), number(&counts, "/stores"));
        assert!(own.abs_diff(other) < 200 + other / 20, "{own} and {other}: {cycles:#}");
        assert!(number(cycles, "/cycles") > number(&counts, "/instructions"));
    }
}

#[test]
fn the_ratio_of_the_1985_paper_is_there_with_caches_alone() {
    for (fidelity, there) in [("counts", false), ("cycles", true)] {
        let setting = format!("fidelity={fidelity}");
        let report = compare(&[
            "--workload",
            "jobs:128K",
            "--scheme",
            "shadow",
            "--set",
            "host=hitachi-1985",
            "--set",
            &setting,
        ]);
        let run = &runs_of(&report)[0];
        let ratio = &run["shadow"]["not_in_buffer_ratio"];
        assert_eq!(ratio.is_null(), !there, "{run:#}");
        if there {
            let ratio = ratio.as_f64().unwrap();
            let misses = number(run, "/caches/l1d/misses") + number(run, "/caches/l1i/misses");
            assert!(ratio > 0.0 && ratio < 0.5 && misses > 0, "{run:#}");
        }
    }
}

#[test]
fn a_host_without_caches_has_no_cycles() {
    let directory = tempfile::tempdir().unwrap();
    let text = include_str!("../../../hosts/sunway-1621.toml");
    let (before, after) = text.split_once("[caches]").unwrap();
    let (_, after) = after.split_once("[refill]").unwrap();
    let path = directory.path().join("plain.toml");
    std::fs::write(&path, format!("{before}[refill]{after}")).unwrap();
    let host = path.to_str().unwrap();
    let end = run([
        "compare",
        "--workload",
        "gups:64K",
        "--scheme",
        "native",
        "--set",
        &format!("host={host}"),
        "--set",
        "fidelity=cycles",
    ]);
    assert_eq!(end.code, Some(2), "{end:#?}");
    assert!(end.stderr.contains("fidelity: host model sunway-1621 has no [caches]"), "{end:#?}");
}
