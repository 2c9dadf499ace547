//! `--reuse` and `--heatmap`: which pages are used, and when.

mod common;

use common::{Scratch, number, run, runs_of};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// A kernel with one function that reads an array at random, and one that reads another in order.
const TWO_ARRAYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/profile/two-arrays.elf");

fn json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"))).expect("JSON")
}

/// What `compare` writes with these options, each of which names a file of its own, and its report.
#[track_caller]
fn compared<const N: usize>(options: [&str; N], arguments: &[&str]) -> ([Value; N], Value) {
    let scratch = Scratch::new();
    let report = scratch.text("r.json");
    let files = options.map(|option| (option, scratch.text(&format!("{}.json", &option[2..]))));
    let own = files.iter().flat_map(|(option, file)| [*option, file.as_str()]);
    run(["compare", "--json", &report].into_iter().chain(own).chain(arguments.iter().copied())).succeeded();
    (files.map(|(_, file)| json(&file)), json(&report))
}

fn jobs<'a>(harts: &'a str, settings: &[&'a str]) -> Vec<&'a str> {
    common::jobs("native,nested,shadow", harts, settings)
}

/// Every load and store has a distance, and every curve falls to the first uses.
#[track_caller]
fn has_all_accesses(reuse: &Value, report: &Value) {
    for (reuse, report) in runs_of(reuse).iter().zip(&runs_of(report)) {
        let accesses = number(report, "/loads") + number(report, "/stores");
        assert_eq!(number(reuse, "/all/accesses"), accesses, "{}", report["scheme"]);
        for part in reuse["harts"].as_array().unwrap().iter().chain([&reuse["all"]]) {
            let pairs: Vec<u64> =
                part["distances"].as_array().unwrap().iter().map(|entry| number(entry, "/2")).collect();
            assert_eq!(pairs.iter().sum::<u64>() + number(part, "/first_uses"), number(part, "/accesses"));
            let misses: Vec<u64> =
                part["lru_misses"].as_array().unwrap().iter().map(|entry| number(entry, "/1")).collect();
            assert!(misses.is_sorted_by(|one, next| one >= next), "{misses:?}");
            assert_eq!(misses.last(), Some(&number(part, "/first_uses")));
        }
        let harts = reuse["harts"].as_array().unwrap();
        assert_eq!(harts.iter().map(|hart| number(hart, "/accesses")).sum::<u64>(), accesses);
    }
}

#[test]
fn every_access_has_a_distance_under_every_engine() {
    for harts in ["1", "4"] {
        let of = |engine: &str| {
            let engine = format!("engine={engine}");
            let ([reuse], report) = compared(["--reuse"], &jobs(harts, &["--set", &engine]));
            has_all_accesses(&reuse, &report);
            reuse
        };
        let threaded = of("threaded");
        assert_eq!(threaded, of("match"), "{harts} harts");
        assert_eq!(threaded, of("compiled"), "{harts} harts");
    }
}

/// A TLB with one set that replaces the least recently used entry misses what the distances say.
#[test]
fn a_fully_associative_tlb_misses_what_the_distances_say() {
    for entries in [16, 64] {
        let tlb = format!("mmu.l1d=[{{ sizes = [\"4K\"], sets = 1, ways = {entries} }}]");
        let settings = ["--set", "fidelity=counts", "--set", &tlb];
        let arguments = [&["--guest", TWO_ARRAYS, "--scheme", "native", "--memory", "128M"][..], &settings].concat();
        let ([reuse], report) = compared(["--reuse"], &arguments);
        has_all_accesses(&reuse, &report);
        let curve = reuse["runs"][0]["all"]["lru_misses"].as_array().unwrap().clone();
        let predicted = curve.iter().find(|entry| number(entry, "/0") == entries).unwrap();
        let missed = number(&report, "/runs/0/tlb/l1d_misses");
        assert_eq!(number(predicted, "/1"), missed, "{entries} entries");
    }
}

#[test]
fn a_heatmap_has_every_miss_and_every_reference() {
    for harts in ["1", "4"] {
        for (counts, pointers) in
            [("misses", ["/tlb/l1d_misses", "/tlb/l1i_misses"]), ("references", ["/loads", "/stores"])]
        {
            let settings = ["--heatmap-of", counts, "--set", "fidelity=core"];
            let ([map], report) = compared(["--heatmap"], &jobs(harts, &settings));
            for (map, report) in runs_of(&map).iter().zip(&runs_of(&report)) {
                let counted = pointers.iter().map(|pointer| number(report, pointer)).sum::<u64>();
                let cells = map["rows"].as_array().unwrap().iter().flat_map(|row| row["counts"].as_array().unwrap());
                assert_eq!(cells.clone().map(|cell| number(cell, "/1")).sum::<u64>(), counted, "{counts}");
                assert_eq!(number(map, "/total"), counted);
                assert!(cells.clone().count() <= 1 << 14);
                let columns: BTreeSet<u64> = cells.map(|cell| number(cell, "/0")).collect();
                assert!(columns.len() > 1 && columns.iter().all(|column| *column < 256), "{columns:?}");
            }
        }
    }
}

/// The array that is read at random misses all the time, the one that is read in order for a while only.
#[test]
fn the_map_shows_the_hostile_array() {
    let arguments = ["--guest", TWO_ARRAYS, "--scheme", "nested", "--memory", "128M"];
    let ([map, profile], _) = compared(["--heatmap", "--profile"], &arguments);
    let (map, profile) = (&map["runs"][0], &profile["runs"][0]);
    let pages = profile["pages"].as_array().unwrap().iter().filter(|page| page["object"] == "hostile");
    let hexadecimal = |value: &Value| u64::from_str_radix(&value.as_str().unwrap()[2..], 16).unwrap();
    let hostile: Vec<u64> = pages.map(|page| hexadecimal(&page["page"])).collect();
    let (first, last) = (*hostile.iter().min().unwrap(), *hostile.iter().max().unwrap());
    let row_bytes = number(map, "/row_bytes");
    let of_hostile = map["rows"].as_array().unwrap().iter().filter(|row| {
        let address = hexadecimal(&row["address"]);
        address + row_bytes > first && address <= last
    });
    let misses: u64 = of_hostile.flat_map(|row| row["counts"].as_array().unwrap()).map(|cell| number(cell, "/1")).sum();
    assert!(misses as f64 > 0.9 * number(map, "/total") as f64, "{misses}");
}

/// Compiled blocks that are interpreted had reported a micro-op of none of their instructions: under `core` and `compiled`, a core's time was another one.
#[test]
fn recordings_of_pages_change_no_result() {
    for fidelity in ["fidelity=counts", "fidelity=cycles", "fidelity=core"] {
        let arguments = jobs("4", &["--set", fidelity]);
        let scratch = Scratch::new();
        let (reuse, map, with) = (scratch.text("u.json"), scratch.text("m.json"), scratch.text("with.json"));
        let without = common::compare_bytes(&arguments);
        for counts in ["misses", "references"] {
            let own = ["compare", "--reuse", &reuse, "--heatmap", &map, "--heatmap-of", counts, "--json", &with];
            run(own.iter().chain(&arguments)).succeeded();
            assert_eq!(fs::read(&with).unwrap(), without, "{fidelity} {counts}");
        }
    }
}

#[test]
fn what_cannot_be_is_said_before_anything_runs() {
    let scratch = Scratch::new();
    let missing = scratch.text("missing/u.json");
    for option in ["--reuse", "--heatmap"] {
        run(["compare", "--scheme", "native", "--workload", "gups", "--memory", "64M", option, &missing])
            .failed(1, &[&missing]);
    }
    run(["compare", "--heatmap-of", "misses"]).failed(2, &["--heatmap"]);
    let file = scratch.text("u.json");
    run(["boot", "--run", "hello", "--memory", "64M", "--gdb", "0", "--reuse", &file]).failed(2, &["--gdb", "--reuse"]);
    assert!(scratch.names().is_empty());
}

#[test]
fn every_key_is_documented() {
    let documented = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json-keys.md")).unwrap();
    let (_, documented) = documented.split_once("## Intervals").expect("a part on intervals");
    let (both, _) =
        compared(["--reuse", "--heatmap"], &["--workload", "gups:1M", "--scheme", "native", "--memory", "64M"]);
    let mut keys = BTreeSet::new();
    both.iter().for_each(|document| collect(document, &mut keys));
    assert!(keys.len() > 20, "{keys:?}");
    for key in keys {
        assert!(documented.contains(&format!("`{key}`")), "docs/json-keys.md does not have `{key}`");
    }
}

fn collect(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            keys.insert(key.clone());
            collect(value, keys);
        }),
        Value::Array(list) => list.iter().for_each(|value| collect(value, keys)),
        _ => {}
    }
}
