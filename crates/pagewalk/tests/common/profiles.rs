//! Profiles, as tests read them.

use super::{Scratch, number, run, runs_of};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;

/// A kernel with one function that reads an array at random, and one that reads another in order.
pub(crate) const TWO_ARRAYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/profile/two-arrays.elf");

/// The counts of a list's parts, added up, without those that are zero.
pub(crate) fn sums(list: &Value) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for part in list.as_array().expect("a list") {
        for (name, count) in part["counts"].as_object().expect("counts") {
            *sums.entry(name.clone()).or_insert(0) += count.as_i64().expect("a whole number");
        }
    }
    sums.retain(|_, sum| *sum != 0);
    sums
}

/// The lists of a profile. Each has all of it.
pub(crate) const LISTS: [&str; 6] = ["spaces", "symbols", "instructions", "pages", "objects", "symbols_and_objects"];

pub(crate) fn json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"))).expect("JSON")
}

/// The profile and the report of `compare` with `arguments`.
#[track_caller]
pub(crate) fn compared(arguments: &[&str]) -> (Value, Value) {
    let scratch = Scratch::new();
    let (profile, report) = (scratch.text("p.json"), scratch.text("r.json"));
    run(["compare", "--profile", &profile, "--json", &report].iter().chain(arguments)).succeeded();
    (json(&profile), json(&report))
}

pub(crate) fn totals(profile: &Value) -> BTreeMap<String, i64> {
    let counts: &Map<String, Value> = profile["totals"].as_object().expect("totals");
    let counts = counts.iter().map(|(name, count)| (name.clone(), count.as_i64().expect("a whole number")));
    counts.filter(|(_, count)| *count != 0).collect()
}

/// Every list adds up to the totals, to the unit, in every counter.
#[track_caller]
pub(crate) fn adds_up(what: &str, profile: &Value) {
    let totals = totals(profile);
    assert!(totals.get("l1d_misses").is_some_and(|misses| *misses > 0), "{what}: nothing was charged");
    for list in LISTS {
        assert_eq!(sums(&profile[list]), totals, "{what}: {list}");
    }
}

/// The totals are what the report of the run says.
#[track_caller]
pub(crate) fn is_what_was_reported(what: &str, profile: &Value, report: &Value) {
    let total = |name: &str| profile["totals"][name].as_i64().unwrap_or(0);
    let reported = |pointer: &str| number(report, pointer) as i64;
    for (name, pointer) in [
        ("l1d_misses", "/tlb/l1d_misses"),
        ("l1i_misses", "/tlb/l1i_misses"),
        ("l2_misses", "/tlb/l2_misses"),
        ("walks", "/walks/count"),
        ("guest_refs", "/walks/guest_refs"),
        ("host_refs", "/walks/host_refs"),
        ("steps", "/walks/steps"),
        ("segment_hits", "/segments/both"),
        ("guest_segment_hits", "/segments/guest"),
        ("hypervisor_segment_hits", "/segments/monitor_steps"),
        ("escape_hits", "/segments/escaped"),
        ("refills", "/refills/count"),
        ("refill_instructions", "/refills/instructions"),
        ("nested_faults", "/exits/nested_fault"),
        ("shadow_faults", "/exits/shadow_fault"),
        ("table_writes", "/exits/table_write"),
        ("hypervisor_cycles", "/time/monitor"),
    ] {
        assert_eq!(total(name), reported(pointer), "{what}: {name}");
    }
    let exits = report["exits"].as_object().unwrap().values().map(|count| count.as_i64().unwrap()).sum::<i64>();
    assert_eq!(total("exits"), exits, "{what}");
    let ticks = number(profile, "/ticks_per_cycle") as i64;
    assert_eq!(total("hypervisor_ticks"), ticks * reported("/time/monitor"), "{what}");
    match report["core"].as_object() {
        Some(core) if core["width"].as_i64() == Some(ticks) => {
            assert_eq!(total("translation_ticks"), core["translation"].as_i64().unwrap(), "{what}");
        }
        None if ticks == 1 => assert_eq!(total("translation_ticks"), reported("/time/translation"), "{what}"),
        // Refills by software have parts of ticks. A report has whole cycles.
        _ => {
            let cycles = total("translation_ticks") / ticks;
            assert!((cycles - reported("/time/translation")).abs() <= 4, "{what}: {cycles}");
        }
    }
}

/// What is checked of every comparison: the profile of each run adds up to what was reported of it.
#[track_caller]
pub(crate) fn exact(arguments: &[&str]) -> Value {
    let (profile, report) = compared(arguments);
    let (profiles, reports) = (runs_of(&profile), runs_of(&report));
    assert_eq!(profiles.len(), reports.len());
    for (profile, report) in profiles.iter().zip(&reports) {
        let what = format!("{arguments:?} {}", report["scheme"]);
        assert_eq!((&profile["workload"], &profile["guest"]), (&report["workload"], &report["guest"]));
        adds_up(&what, profile);
        is_what_was_reported(&what, profile, report);
    }
    profile
}
