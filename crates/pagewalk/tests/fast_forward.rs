//! The key `fast_forward`: caches and cores, or cores alone, are modelled in regions of interest only, and what is counted there is the same.

mod common;

use common::{Scratch, number, run, runs};
use serde_json::Value;

/// The guest's timer follows instructions, so that it is due at the same ones whatever they take.
const WORK: [&str; 6] = [
    "--workload",
    "gups:1M,qsort:64K,sieve:64K",
    "--scheme",
    "native,nested,shadow",
    "--set",
    "guest_time=instructions",
];

fn measure(fidelity: &str, more: &[&str]) -> Vec<Value> {
    let fidelity = format!("fidelity={fidelity}");
    runs(&[&WORK, &["--set", &fidelity][..], more].concat())
}

const ON: [&str; 2] = ["--set", "fast_forward=on"];
const WARM: [&str; 2] = ["--set", "fast_forward=warm"];

#[test]
fn what_does_not_depend_on_time_is_the_same() {
    for fidelity in ["cycles", "core"] {
        for (all, some) in measure(fidelity, &[]).iter().zip(&measure(fidelity, &ON)) {
            for count in ["instructions", "loads", "stores", "tlb", "walks", "exits", "outcome"] {
                assert_eq!(some[count], all[count], "{count} under {fidelity}: {some:#}");
            }
            // Caches are empty when the region begins, so that its first uses of lines are misses.
            let memory = |run: &Value| number(run, "/caches/llc/misses");
            assert!(memory(some) > memory(all), "{some:#}");
            assert!(number(some, "/cycles") > number(all, "/cycles"), "{some:#}");
        }
    }
}

/// Without a prefetcher the caches hold what the program used, whether there is a core or not.
#[test]
fn warm_caches_are_those_of_a_run_that_models_all() {
    let without = ["--set", "host.core.prefetch.next_line=0", "--set", "host.core.prefetch.stream.entries=0"];
    let all = measure("core", &without);
    for (all, warm) in all.iter().zip(&measure("core", &[&without[..], &WARM].concat())) {
        for count in ["instructions", "loads", "stores", "tlb", "walks", "exits", "outcome", "caches"] {
            assert_eq!(warm[count], all[count], "{count}: {warm:#}");
        }
        // The branch predictor has seen less of the program.
        let cycles = number(warm, "/cycles") as f64 / number(all, "/cycles") as f64;
        assert!((0.95..1.05).contains(&cycles), "{cycles}: {warm:#}");
    }
    assert_eq!(measure("cycles", &WARM), measure("cycles", &[]), "no core is modelled");
}

#[test]
fn each_engine_gives_the_same() {
    for (fidelity, how) in [("cycles", ON), ("core", ON), ("core", WARM)] {
        let compiled = measure(fidelity, &how);
        for engine in ["engine=threaded", "engine=match", "engine=compiled-all"] {
            assert_eq!(
                measure(fidelity, &[&how, &["--set", engine][..]].concat()),
                compiled,
                "{engine} under {fidelity}, {how:?}"
            );
        }
    }
}

#[test]
fn fixed_costs_are_not_changed_by_it() {
    assert_eq!(measure("counts", &ON), measure("counts", &[]));
    assert_eq!(measure("counts", &WARM), measure("counts", &[]));
    run(["compare", "--workload", "hello", "--scheme", "native", "--fidelity", "counts", "--set", "fast_forward=on"])
        .succeeded();
}

/// Its first instructions fill the caches and are left out.
#[test]
fn a_warmup_is_part_of_the_region_where_models_are_in_use() {
    let work = ["--workload", "qsort:64K", "--scheme", "native", "--fidelity", "core", "--warmup", "500000"];
    let (all, some) = (runs(&work), runs(&[&work[..], &ON].concat()));
    assert_eq!(some[0]["instructions"], all[0]["instructions"]);
    assert_eq!(some[0]["caches"]["llc"], all[0]["caches"]["llc"], "all lines are in the L2 by then");
}

#[test]
fn captions_and_notes_name_it() {
    let end = run(["compare", "--workload", "qsort:4K", "--scheme", "native", "--fidelity", "cycles", ON[0], ON[1]]);
    let shown = end.succeeded().stdout;
    assert!(shown.contains("fidelity cycles, fast-forward"), "{shown}");
    assert!(shown.contains("cold start: modelled caches are empty when a region begins (fast_forward=on)"), "{shown}");
    let end = run(["compare", "--workload", "qsort:4K", "--scheme", "native", "--fidelity", "core", WARM[0], WARM[1]]);
    let shown = end.succeeded().stdout;
    assert!(shown.contains("fidelity core, fast-forward with warm caches"), "{shown}");
    assert!(!shown.contains("cold start"), "{shown}");
}

#[test]
fn a_run_without_a_region_has_no_results() {
    for (fidelity, how) in [("cycles", ON), ("core", ON), ("core", WARM)] {
        run(["compare", "--workload", "hello", "--scheme", "native", "--fidelity", fidelity, how[0], how[1]])
            .failed(1, &["hello under native:4K", "no region of interest ended", how[1]]);
    }
    run(["compare", "--workload", "hello", "--scheme", "native", "--fidelity", "cycles", WARM[0], WARM[1]]).succeeded();
    run(["compare", "--set", "fast_forward=maybe"]).failed(2, &["fast_forward", "maybe"]);
}

/// A snapshot is taken in the region, so that a machine that goes on from it begins with models in use.
#[test]
fn a_snapshot_of_a_region_goes_on_in_it() {
    let scratch = Scratch::new();
    let snapshot = scratch.text("gups.snapshot");
    run([
        "boot",
        "--scheme",
        "native",
        "--append",
        "workload=gups size=1M",
        "--snapshot-at",
        "region:1",
        "--snapshot",
        &snapshot,
    ])
    .succeeded();
    let restored = ["--restore", &snapshot, "--scheme", "nested", "--fidelity", "core"];
    let (all, some) = (runs(&restored), runs(&[&restored[..], &ON].concat()));
    assert_eq!(some, all, "the caches of both are empty when the region begins");
}

#[test]
fn guests_that_are_measured_as_a_whole_refuse_it() {
    let host = "processors = 1\n[config]\nfidelity = \"cycles\"\nfast_forward = \"on\"\n[[guest]]\nname = \"one\"\nworkload = \"qsort:4K\"\n";
    let scratch = Scratch::new();
    let file = scratch.text("host.toml");
    std::fs::write(&file, host).unwrap();
    run(["run", &file]).failed(2, &["host.toml", "fast_forward", "from start to end"]);
}
