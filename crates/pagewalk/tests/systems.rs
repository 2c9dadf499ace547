//! `compare` on systems that differ in more than the scheme: settings of their own, sweeps, and what each is compared with.

mod common;

use common::{compare, number, run, runs_of};
use serde_json::{Value, json};

/// A run that walks: 256 pages, and TLBs of a few entries.
const WALKS: [&str; 6] =
    ["--workload", "gups:1M", "--append", "updates=4000", "--set", "mmu.l2=[{ sizes = ['4K'], sets = 4, ways = 4 }]"];

fn runs(arguments: &[&str]) -> Vec<Value> {
    runs_of(&compare(&[&WALKS, arguments].concat()))
}

fn overhead(run: &Value, native: &Value) -> f64 {
    number(run, "/cycles") as f64 / number(native, "/cycles") as f64 - 1.0
}

/// Whether `run` says that it is compared with `native`.
fn is_over(run: &Value, native: &Value) -> bool {
    run["overhead"].as_f64().is_some_and(|reported| (reported - overhead(run, native)).abs() < 1e-9)
}

#[test]
fn each_system_has_its_own_host_and_its_own_native() {
    let systems = "native/host=xeon-2017,nested/host=xeon-2017,nested:4K+2M/host=xeon-2017/mmu.nested_tlb=off,\
                   native/host=sunway-1621,nested/host=sunway-1621,nested";
    let runs = runs(&["--scheme", systems]);
    let names = ["native:4K", "nested:4K+4K", "nested:4K+2M", "native:4K", "nested:4K+4K", "nested:4K+4K"];
    assert_eq!(runs.iter().map(|run| run["scheme"].as_str().unwrap()).collect::<Vec<_>>(), names);
    assert_eq!(runs[2]["settings"], json!({ "host": "xeon-2017", "mmu.nested_tlb": "off" }));
    assert_eq!(runs[4]["host"]["name"], "sunway-1621");
    assert_eq!((&runs[5]["settings"], &runs[5]["host"]), (&json!({}), &Value::Null));
    for (own, native) in [(0, 0), (1, 0), (2, 0), (3, 3), (4, 3)] {
        assert!(is_over(&runs[own], &runs[native]), "{:#}", runs[own]);
    }
    assert!(overhead(&runs[1], &runs[0]) > 0.0 && overhead(&runs[4], &runs[3]) > 0.0);
    assert!(runs[5]["overhead"].is_null(), "sandybridge-2012 was not run natively");
    // A setting does what it does for all: without the nested TLB, a walk reads more of the nested table.
    let alone = compare(&[&WALKS[..], &["--scheme", "nested:4K+2M", "--set", "host=xeon-2017"]].concat());
    assert!(number(&runs[2], "/walks/host_refs") > number(&runs_of(&alone)[0], "/walks/host_refs"));
}

#[test]
fn a_setting_is_the_same_for_one_system_as_for_all() {
    for setting in ["mmu.walk_caches=off", "host=alpha-1997", "paging.guest=sv48", "harts=2", "memory=64M"] {
        let own = runs(&["--scheme", &format!("nested:4K+2M/{setting}")]);
        let all = runs(&["--scheme", "nested:4K+2M", "--set", setting]);
        for key in ["scheme", "instructions", "cycles", "tlb", "walks", "exits", "time"] {
            assert_eq!(own[0][key], all[0][key], "{key} with {setting}");
        }
    }
}

#[test]
fn a_sweep_of_an_mmu_key_has_a_native_run_at_each_point() {
    let walk_caches = "mmu.walk_caches={ guest = [4, 2, 1, 1], host = [4, 2, 1, 1] },off";
    let runs = runs(&["--scheme", "native,nested", "--sweep", "mmu.nested_tlb=1..2", "--sweep", walk_caches]);
    let settings: Vec<_> = runs.iter().map(|run| (&run["scheme"], &run["settings"])).collect();
    assert_eq!(runs.len(), 6);
    let caches = json!({ "guest": [4, 2, 1, 1], "host": [4, 2, 1, 1] });
    for (index, (nested_tlb, walk_caches)) in
        [(1, &caches), (1, &json!("off")), (2, &caches), (2, &json!("off"))].into_iter().enumerate()
    {
        let expected = json!({ "mmu.nested_tlb": nested_tlb, "mmu.walk_caches": walk_caches });
        assert_eq!(settings[index + 2], (&json!("nested:4K+4K"), &expected));
    }
    // The nested TLB is nothing to a native machine, its walk caches are.
    for (index, walk_caches) in [&caches, &json!("off")].into_iter().enumerate() {
        assert_eq!(settings[index], (&json!("native:4K"), &json!({ "mmu.walk_caches": walk_caches })));
        for swept in [&runs[2 + index], &runs[4 + index]] {
            assert!(is_over(swept, &runs[index]), "{swept:#}");
        }
    }
}

#[test]
fn a_number_of_the_host_is_a_setting_of_a_system_and_is_swept() {
    // All of `hello` is measured, exits included.
    let systems = ["--scheme", "native,nested/host.tlb.l1d.sets=1", "--sweep", "host.prices.exit=500,5000"];
    let runs = runs_of(&compare(&[&["--workload", "hello"], &systems[..]].concat()));
    let names: Vec<_> = runs.iter().map(|run| (&run["scheme"], &run["settings"])).collect();
    let swept = |exit: u64| json!({ "host.prices.exit": exit, "host.tlb.l1d.sets": 1 });
    let (native, nested) = (json!("native:4K"), json!("nested:4K+4K"));
    // A native machine has no exits, so the sweep leaves it as it is.
    assert_eq!(names, [(&native, &json!({})), (&nested, &swept(500)), (&nested, &swept(5000))]);
    assert_eq!(runs[1]["host"]["prices"]["exit"], 500);
    assert_eq!(runs[2]["host"]["tlb"]["l1d"][0]["sets"], 1);
    assert!(number(&runs[2], "/time/monitor") > number(&runs[1], "/time/monitor"));
    assert!(number(&runs[1], "/tlb/l1d_misses") > number(&runs[0], "/tlb/l1d_misses"));
    let all = compare(&["--workload", "hello", "--scheme", "nested", "--set", "host.prices.exit=900"]);
    assert_eq!((&all["config"]["host.prices.exit"], &all["config"]["host"]), (&json!(900), &json!("sandybridge-2012")));
    assert_eq!(all["host"]["prices"]["exit"], 900);
    run(["compare", "--workload", "hello", "--scheme", "nested/host.prices.exti=1"])
        .failed(2, &["host.prices.exti", "did you mean `host.prices.exit`?"]);
}

#[test]
fn natives_are_added_on_request_and_shown() {
    let runs = runs(&["--scheme", "nested/host=xeon-2017,nested:4K+2M/host=xeon-2017/mmu.nested_tlb=off", "--native"]);
    assert_eq!(runs.len(), 3);
    assert_eq!((&runs[0]["scheme"], &runs[0]["settings"]), (&json!("native:4K"), &json!({ "host": "xeon-2017" })));
    for run in &runs {
        assert!(is_over(run, &runs[0]), "{run:#}");
    }
    let arguments = ["compare", "--workload", "hello", "--scheme", "nested"];
    let without = run(arguments).succeeded().stdout;
    assert!(without.contains("--native adds it") && !without.contains("native:4K"), "{without}");
    let with = run(arguments.iter().chain(&["--native"])).succeeded().stdout;
    assert!(!with.contains("--native") && with.contains("native:4K"), "{with}");
}

#[test]
fn tables_name_systems_with_their_settings() {
    let systems = "native,nested/mmu.nested_tlb=off";
    let details = run(["compare", "--workload", "hello", "--scheme", systems]).succeeded().stdout;
    assert!(details.contains("nested:4K+4K/mmu.nested_tlb=off  "), "{details}");
    let systems = "native/host=xeon-2017,nested/mmu.nested_tlb=off";
    let table = run(["compare", "--workload", "hello,gups:64K", "--scheme", systems]).succeeded().stdout;
    let rows: Vec<_> = table.lines().skip(2).take(3).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(rows, ["system", "native:4K/host=xeon-2017", "nested:4K+4K/mmu.nested_tlb=off"], "{table}");
    assert!(
        table
            .lines()
            .next()
            .unwrap()
            .ends_with("(host xeon-2017, fidelity counts; host sandybridge-2012, fidelity counts)"),
        "{table}"
    );
}

#[test]
fn what_is_wrong_with_a_system_names_it_and_the_key() {
    for (arguments, named) in [
        (&["--scheme", "native,nested/mmu.nested_tlb=maybe"][..], &["nested:4K+4K/mmu.nested_tlb=maybe", "maybe"][..]),
        (&["--scheme", "nested/harts=0"], &["nested:4K+4K/harts=0", "64"]),
        (&["--scheme", "nested/host=vax-1978"], &["nested:4K+4K/host=vax-1978", "sandybridge-2012"]),
        (&["--scheme", "nested/mmu.l1d=[]"], &["nested:4K+4K/mmu.l1d=[]", "mmu.l1d: "]),
        (&["--scheme", "native/memory=4M"], &["native:4K/memory=4M", "8 MiB"]),
        (&["--scheme", "nested/harts"], &["`harts`", "KEY=VALUE"]),
        (&["--scheme", "nested/scheme=native"], &["not a setting"]),
        (&["--scheme", "nested/mmu.l2=[1"], &["`[` has no matching bracket or quotation mark"]),
        (&["--sweep", "harts=4..1"], &["--sweep", "4..1"]),
        (&["--sweep", "harts"], &["--sweep", "`harts`"]),
        (&["--sweep", "harts=0..1"], &["native:4K/harts=0", "64"]),
        (&["--scheme", "native", "--sweep", "shadow.count=8..9"], &["--sweep", "native", "shadow.count"]),
    ] {
        run(["compare", "--workload", "hello"].iter().chain(arguments)).failed(2, named);
    }
    run(["boot", "--scheme", "nested/harts=0"]).failed(2, &["nested:4K+4K/harts=0"]);
}

#[test]
fn boot_takes_a_system_too() {
    let end = run(["boot", "--scheme", "nested/harts=2", "--append", "workload=hello"]).succeeded();
    assert!(end.stdout.contains("harts 2,"), "{end:#?}");
}
