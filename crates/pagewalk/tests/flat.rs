//! Flat tables, reserved memory and refill by software, on guests: results that no scheme changes, references and refill instructions by
//! their closed forms, and what is refused.

mod common;

use common::{compare, number, run, runs, runs_of};
use serde_json::Value;
use std::thread;

/// Every workload but `cg`, at a size that takes a fraction of a second.
const SMALL: &str = "gups:64K,bfs:6,stream:32K,kv:64K,sieve:64K,triad:32K,triadp:32K,qsort:32K,mcf:64";

const SETTINGS: [&str; 4] =
    ["mmu.walk_caches=off", "mmu.nested_tlb=off", "mmu.l1d=[{ sizes = ['4K'], sets = 1, ways = 64 }]", "mmu.l2=[]"];

/// Random updates of 1 MiB, measured with TLBs that hold 64 pages of 4K and nothing larger, and with no other cache of translations.
fn measure(guest_mode: &str, schemes: &str) -> Value {
    let (guest, host) = (format!("paging.guest={guest_mode}"), format!("paging.host={guest_mode}x4"));
    let mut arguments = vec!["--workload", "gups:1M", "--append", "updates=10000", "--scheme", schemes];
    for setting in SETTINGS.into_iter().chain([guest.as_str(), &host, "host=sunway-1621"]) {
        arguments.extend(["--set", setting]);
    }
    compare(&arguments)
}

#[test]
fn every_workload_is_right_under_every_scheme() {
    let schemes = "native,flat,flat:4K+2M,flat:1G+2M,flat-hw:2M+2M,reserved:2M,native/mmu.refill=software,\
                   nested/host=alpha-1997,flat/memory_attribute=V=R,reserved/memory_attribute=V=R";
    let runs = runs(&["--workload", SMALL, "--scheme", schemes, "--set", "mmu.ad=hardware"]);
    assert_eq!(runs.len(), SMALL.split(',').count() * 10);
    for run in &runs {
        assert_eq!(run["outcome"], "the guest's command ended with status 0", "{run:#}");
        let native = runs.iter().find(|other| other["workload"] == run["workload"] && other["scheme"] == "native:4K");
        // The same program does the same work, but for the kernel's ticks, which follow simulated time, and for what it does to larger pages.
        if run["guest_page"] == "4K" {
            let (own, other) = (number(run, "/stores"), number(native.unwrap(), "/stores"));
            assert!(own.abs_diff(other) < 200 + other / 100, "{own} and {other}: {run:#}");
        }
        let refills = number(run, "/refills/count");
        let software = run["settings"]["host"].is_string()
            || run["settings"]["mmu.refill"].is_string()
            || run["scheme"].as_str().unwrap().starts_with("flat:");
        assert_eq!(refills, if software { number(run, "/walks/count") } else { 0 }, "{run:#}");
    }
}

/// References of a walk, and instructions of the routine that makes it, by closed form.
#[test]
fn every_refill_is_as_long_as_its_closed_form() {
    thread::scope(|scope| {
        for (mode, levels, worst) in
            [("sv39", 3, [3, 15, 7, 3]), ("sv48", 4, [4, 24, 9, 4]), ("sv57", 5, [5, 35, 11, 5])]
        {
            scope.spawn(move || {
                let report = measure(mode, "native,nested,flat,reserved,flat:4K+2M");
                let step = |name: &str| number(&report, &format!("/host/refill/{name}"));
                let price = |name: &str| number(&report, &format!("/host/prices/{name}"));
                let (nested, flat) = (step("nested_lookup") + levels * step("nested_level"), step("flat_lookup"));
                let lookup = [0, nested, flat, step("reserved_lookup"), flat];
                let host_refs = [0, levels, 1, 0, 1];
                for (index, run) in runs_of(&report).iter().enumerate() {
                    let of = |pointer| number(run, pointer);
                    let (walks, guest_refs) = (of("/walks/count"), of("/walks/guest_refs"));
                    assert!(walks > 1000, "the region walks: {run:#}");
                    assert_eq!(guest_refs, levels * walks);
                    let lookups = guest_refs + walks;
                    assert_eq!(of("/walks/host_refs"), lookups * host_refs[index], "{run:#}");
                    assert_eq!(of("/walks/max_refs"), worst[index % 4 + if index == 4 { 2 } else { 0 }], "{run:#}");
                    assert_eq!(of("/refills/count"), walks);
                    let instructions = walks * (step("begin") + step("fill"))
                        + guest_refs * step("guest_level")
                        + lookups * lookup[index];
                    assert_eq!(of("/refills/instructions"), instructions, "{run:#}");
                    // One cycle an instruction on this host, and no second level of TLB.
                    let cycles = (guest_refs + of("/walks/host_refs")) * price("table_reference")
                        + walks * (price("refill_entry") + price("refill_exit"))
                        + instructions;
                    assert_eq!(of("/time/translation"), cycles, "{run:#}");
                }
            });
        }
    });
}

#[test]
fn a_hardware_walker_makes_the_same_references_and_no_refills() {
    let report = measure("sv48", "flat-hw,reserved/mmu.refill=hardware,nested/mmu.refill=hardware");
    for (run, worst) in runs_of(&report).iter().zip([9, 4, 24]) {
        assert_eq!(number(run, "/walks/max_refs"), worst, "{run:#}");
        assert_eq!((number(run, "/refills/count"), number(run, "/refills/instructions")), (0, 0));
        let refs = number(run, "/walks/guest_refs") + number(run, "/walks/host_refs");
        assert_eq!(number(run, "/time/translation"), refs * number(&report, "/host/prices/table_reference"));
    }
}

#[test]
fn a_nested_tlb_and_walk_caches_serve_the_hardware_walker_of_flat_tables() {
    let arguments = ["--workload", "gups:1M", "--append", "updates=10000", "--set", "mmu.l2=[]", "--scheme"];
    let runs = runs(
        &[&arguments[..], &["flat-hw/mmu.walk_caches=off/mmu.nested_tlb=off,flat-hw/mmu.nested_tlb=off,flat-hw"]]
            .concat(),
    );
    let refs = |run: &Value| number(run, "/walks/guest_refs") + number(run, "/walks/host_refs");
    assert!(refs(&runs[0]) > refs(&runs[1]) && refs(&runs[1]) > refs(&runs[2]), "{runs:#?}");
}

/// 512 equal entries, of which any one tells the TLB of the superpage; one nested fault writes them all.
#[test]
fn a_superpage_of_the_flat_table_fills_the_tlb_with_a_superpage() {
    let one_array = ["--set", "mmu.l1d=[{ sizes = ['4K', '2M'], sets = 1, ways = 16 }]", "--set", "mmu.l2=[]"];
    let arguments = ["--workload", "gups:8M", "--append", "updates=20000", "--scheme"];
    for scheme in ["flat", "flat-hw"] {
        let systems = format!("{scheme}:2M+4K,{scheme}:2M+2M,{scheme}:4K+2M");
        let runs = runs(&[&arguments[..], &[&systems], &one_array].concat());
        let misses: Vec<u64> = runs.iter().map(|run| number(run, "/tlb/l1d_misses")).collect();
        assert!(misses[0] > 15_000 && misses[1] < 100 && misses[2] > 15_000, "{misses:?}");
        let faults = |scheme: &str| {
            let scratch = common::Scratch::new();
            let json = scratch.text("out.json");
            let append = "workload=hello page=2M";
            run(["boot", "--scheme", scheme, "--append", append, "--json", &json]).succeeded();
            let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
            number(&report, "/runs/0/exits/nested_fault")
        };
        let (small, large) = (faults(&format!("{scheme}:2M+4K")), faults(&format!("{scheme}:2M+2M")));
        assert!(large * 4 < small, "{small} faults, and {large} with superpages");
    }
}

#[test]
fn several_harts_share_a_flat_table() {
    for scheme in ["flat", "flat-hw:2M+2M"] {
        for harts in ["1", "4"] {
            let append = "workload=kv size=64K procs=3";
            let end = run(["boot", "--harts", harts, "--scheme", scheme, "--append", append]).succeeded();
            assert!(end.stdout.contains(&format!("harts {harts},")), "{end:#?}");
            assert_eq!(end.stdout.matches("kv: ok").count(), 3, "{end:#?}");
        }
    }
}

#[test]
fn a_native_machine_of_the_same_host_is_what_flat_is_compared_with() {
    let schemes =
        "native/host=sunway-1621,flat/host=sunway-1621,native,flat,flat-hw/host=sunway-1621,nested/mmu.refill=software";
    let runs = runs(&["--workload", "gups:1M", "--append", "updates=4000", "--set", "mmu.l2=[]", "--scheme", schemes]);
    let cycles = |index: usize| number(&runs[index], "/cycles") as f64;
    for (run, native) in [(1, Some(0)), (3, Some(2)), (4, Some(0)), (5, None)] {
        let expected = native.map(|native: usize| cycles(run) / cycles(native) - 1.0);
        let found = runs[run]["overhead"].as_f64();
        assert_eq!(found.is_some(), expected.is_some(), "{:#}", runs[run]);
        assert!(found.zip(expected).is_none_or(|(found, expected)| (found - expected).abs() < 1e-9));
    }
    assert!(number(&runs[0], "/refills/count") > 0 && number(&runs[2], "/refills/count") == 0);
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let refused = |scheme: &str, settings: &[&str], named: &[&str]| {
        let settings: Vec<&str> = settings.iter().flat_map(|&setting| ["--set", setting]).collect();
        run([&["boot", "--append", "workload=hello", "--scheme", scheme], &settings[..]].concat()).failed(2, named);
    };
    refused("flat-hw", &["mmu.refill=software"], &["mmu.refill", "flat-hw"]);
    refused("flat", &["mmu.nested_tlb=16"], &["mmu.nested_tlb", "walker"]);
    refused(
        "nested",
        &["mmu.refill=software", "mmu.walk_caches={ guest = [8, 0, 0, 0], host = [0, 0, 0, 0] }"],
        &["mmu.walk_caches", "walker"],
    );
    refused("native", &["mmu.refill=firmware"], &["mmu.refill", "firmware"]);
    refused("flat:4K+1G", &[], &["flat table", "1G"]);
    refused("reserved:4K+4K", &[], &["reserved", "one page size"]);
    // The table of 16 MiB, or RAM itself, has no piece of host memory.
    refused(
        "flat",
        &["memory='8G'", "host_memory='8M'"],
        &["flat table of 16777216 bytes", "contiguous in host memory"],
    );
    refused("reserved", &["memory='64M'", "host_memory='32M'"], &["`reserved` guest", "contiguous in host memory"]);
}

/// The first guest has 8 MiB of the host in one piece; what is left for the second is not as long.
#[test]
fn a_second_guest_whose_table_has_no_piece_is_refused() {
    let scratch = common::Scratch::new();
    let hosts = |host_memory: &str| {
        let config = format!("[config]\nscheme = 'flat'\nmemory = '4G'\nhost_memory = '{host_memory}'\n");
        let guests = "[[guest]]\nname = 'g'\nworkload = 'hello'\ncount = 2\n";
        run(["run", &scratch.write("host.toml", format!("processors = 2\n{config}{guests}"))])
    };
    hosts("12M").failed(2, &["flat table of 8388608 bytes", "contiguous in host memory"]);
    hosts("32M").succeeded();
}

#[test]
fn a_full_host_ends_the_guest_with_a_reason() {
    // Neither host memory nor swap has room for what it touches.
    let host = ["--set", "host_memory='16M'", "--set", "swap.size='4M'"];
    let arguments = [&["boot", "--scheme", "flat"], &host[..], &["--append", "workload=gups size=32M"]].concat();
    run(arguments).failed(1, &["the swap file is full"]);
}
