use super::*;
use crate::observe::Recordings;
use crate::systems::{Configured, configured};
use config::ConfigBuilder;
use config::system::SystemList;
use machine::{Outcome, Time};
use std::collections::BTreeMap;
use std::sync::Arc;
use types::Cycles;

fn systems() -> Vec<Arc<Configured>> {
    let systems: SystemList = "native,nested,dual-direct".parse().unwrap();
    configured(&ConfigBuilder::default(), systems.0, &[]).unwrap()
}

/// A run of this many instructions, transactions and cycles.
fn run(on: &Arc<Configured>, instructions: u64, transactions: u64, cycles: u64) -> Finished {
    let time = Time { guest: Cycles(cycles), ..Time::default() };
    Finished {
        work: "p".to_owned(),
        on: on.clone(),
        outcome: Outcome::Finished(0),
        failed: None,
        statistics: Statistics { instructions, transactions, time, ..Statistics::default() },
        output: Vec::new(),
        refused: (0, Vec::new()),
        walk: None,
        saturated: None,
        recordings: Recordings::default(),
        sections: serde_json::Value::Null,
        figures: BTreeMap::new(),
    }
}

#[test]
fn cycles_are_those_of_a_transaction_where_both_count_them() {
    let on = systems();
    let (native, nested) = (run(&on[0], 100, 100, 1000), run(&on[1], 200, 200, 3000));
    assert!((overhead(&nested, &native) - 0.5).abs() < 1e-9);
    assert!(instructions(&nested, &native).abs() < 1e-9);
    let few = run(&on[1], 200, 49, 3000);
    assert!((overhead(&few, &native) - 2.0).abs() < 1e-9, "too few say nothing");
}

#[test]
fn work_that_differs_by_more_than_two_per_cent_is_told() {
    let on = systems();
    let runs = [run(&on[0], 1000, 0, 9), run(&on[1], 1019, 0, 9), run(&on[2], 170, 0, 9)];
    assert_eq!([0, 1, 2].map(|index| differs(&runs, &runs[index])), [false, false, true]);
    let noted = super::super::notes::of(&runs, &runs[2]);
    assert!(noted.iter().any(|note| note.contains("-83.0 % over the 0.0 M of native:4K")), "{noted:?}");
}

fn noted(run: &Finished, what: &str) -> bool {
    super::super::notes::of(std::slice::from_ref(run), run).iter().any(|note| note.contains(what))
}

#[test]
fn a_region_that_does_not_fill_the_largest_tlb_is_told() {
    let on = systems();
    let with = |misses: u64, translation: u64| {
        let mut run = run(&on[1], 1000, 0, 100_000);
        run.statistics.mmu.l2_misses = misses;
        run.statistics.time.translation = Cycles(translation);
        run
    };
    let entries = on[1].config.mmu.largest(&on[1].host);
    assert!(entries >= 512, "{entries}");
    let told = |misses, translation| noted(&with(misses, translation), "shorter than their warm-up");
    assert!(told(entries - 1, 2_000) && told(1, 50_000));
    assert!(!told(entries, 2_000), "it is filled");
    assert!(!told(entries - 1, 1_999), "it does not matter");
    let mut warm = with(1, 7_000);
    warm.statistics.mmu.l2_hits = 1000;
    assert!(!noted(&warm, "shorter than their warm-up"), "it is warm: the time is that of hits");
}

#[test]
fn a_program_that_mostly_faults_is_told() {
    let on = systems();
    let told = |instructions| {
        let mut run = run(&on[0], 1000, 0, 9);
        run.statistics.page_faults = 3;
        run.statistics.page_fault_instructions = instructions;
        noted(&run, "the kernel's work on 3 page faults")
    };
    assert!(told(750) && told(1000));
    assert!(!told(749));
}

#[test]
fn a_failed_native_run_is_compared_with_nothing() {
    let on = systems();
    let failed = Finished { failed: Some("no".to_owned()), ..run(&on[0], 1, 0, 1) };
    let runs = [failed, run(&on[1], 1000, 0, 9)];
    assert!(native_of(&runs, &runs[1]).is_none());
    assert!(std::ptr::eq(reference(&runs, &runs[1]).unwrap(), &runs[1]));
    assert!(!differs(&runs, &runs[1]) && !differs(&runs, &runs[0]));
}
