//! The shipped MMU against the model of `reference`, over random configurations and everything that can happen to an
//! MMU.
//!
//! `fuzz` makes two million steps. `PAGEWALK_FUZZ_STEPS` sets another number. The seed changes daily (`testing::seed`); a
//! failure prints the seed and the step at which it came, and `PAGEWALK_FUZZ_SEED` repeats that run. `shrunk` does short runs
//! that proptest reduces; what it finds is kept in `differential.proptest-regressions`, and what was found and fixed in
//! `regressions.rs`.

use crate::common::config;
use crate::common::harness::{Coverage, Harness};
use crate::common::ops::Op;
use mmu::Cause;
use proptest::prelude::*;
use testing::Random;

/// Steps with one configuration, after which everything starts again.
const EPISODE: u64 = 20_000;

/// Says where a run was when it failed.
struct Where {
    seed: u64,
    episode: u64,
    step: u64,
}

impl Drop for Where {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("PAGEWALK_FUZZ_SEED={}: episode {}, step {}", self.seed, self.episode, self.step);
        }
    }
}

fn episode(mut harness: Harness, rng: &mut Random, at: &mut Where) -> Coverage {
    for step in 0..EPISODE {
        at.step = step;
        harness.step(Op::random(rng));
    }
    harness.finish()
}

#[test]
fn fuzz() {
    let steps = testing::number("PAGEWALK_FUZZ_STEPS", 2_000_000);
    let seed = testing::seed("PAGEWALK_FUZZ_SEED");
    let mut coverage = Coverage::default();
    let mut at = Where { seed, episode: 0, step: 0 };
    for number in 0..steps.div_ceil(EPISODE) {
        at.episode = number;
        let mut rng = Random::new(seed << 32 | number);
        let config = config::nth(number, &mut rng);
        // Every third one keeps to what the MMU has a fast path for.
        let harness = if number % 3 == 2 { Harness::of_base_pages(&config) } else { Harness::new(&config) };
        coverage.add(&episode(harness, &mut rng, &mut at));
    }
    if steps >= 1_000_000 {
        assert_reached(&coverage);
    }
}

/// That the run was worth something: every cause of either stage, every page size, every form of fence, every
/// replacement policy at every level.
fn assert_reached(coverage: &Coverage) {
    let mut expected = vec!["predicted".to_owned(), "armed".to_owned(), "must miss".to_owned()];
    for cause in [
        Cause::Invalid,
        Cause::WriteWithoutRead,
        Cause::Reserved,
        Cause::NoLeaf,
        Cause::Misaligned,
        Cause::SupervisorPage,
        Cause::NotReadable,
        Cause::NotWritable,
        Cause::NotAccessed,
        Cause::NotDirty,
    ] {
        expected.push(format!("first stage {cause:?}"));
        expected.push(format!("second stage {cause:?}"));
    }
    expected
        .extend(["first stage NotCanonical", "first stage UserPage", "first stage NotExecutable"].map(String::from));
    let others = [
        "first stage NotCanonical",
        "first stage UserPage",
        "first stage NotExecutable",
        "second stage NotExecutable",
        "second stage TooWide",
        "second stage OutOfBounds",
        "refills",
        "both segments",
        "guest segment",
        "hypervisor segment",
        "escapes",
        "flat superpage",
        "superpage of another format",
        "reserved",
        "Table refused",
        "Data refused",
        "access FirstStageTable",
        "access SecondStageTable",
        "access TooWide",
        "l2",
        "nested tlb",
        "guest updates",
        "host updates",
        "fast L1",
        "fast L2",
        "left at once",
        "left before the walk",
        "host page, in L1",
        "host page, not in L1",
        "host page, in L2",
        "host page, not in L2",
    ];
    expected.extend(others.map(String::from));
    for stage in ["native", "nested", "agile", "flat", "reserved"] {
        let ways = ["fast walk", "left at a table", "left at the page"];
        expected.extend(ways.map(|way| format!("{way}, {stage}")));
    }
    // Five where the guest has as many levels and the root switches.
    expected.extend((0..=6).map(|tables| format!("agile, {tables} tables nested")));
    expected.extend(["Invalid", "NotWritable", "NotDirty"].map(|cause| format!("shadow table {cause}")));
    for size in types::PageSize::ALL {
        expected.push(format!("{size} page, memory"));
        expected.push(format!("{size} page, device"));
    }
    for (one, two) in [(false, false), (false, true), (true, false), (true, true)] {
        expected.extend(["vma", "vvma", "gvma"].map(|fence| format!("{fence} {one} {two}")));
    }
    for level in 1..=4 {
        expected.extend(["guest", "host"].map(|side| format!("{side} cache, level {level}")));
    }
    for facts in mmu::POLICIES {
        let levels =
            if facts.refused_at_l1.is_some() { &["l2", "nested tlb"][..] } else { &["l1i", "l1d", "l2", "nested tlb"] };
        expected.extend(levels.iter().map(|level| format!("{} of the {level}", facts.name)));
    }
    let missed: Vec<_> = expected.into_iter().filter(|what| coverage.of(what) == 0).collect();
    assert!(missed.is_empty(), "never reached: {missed:?}\n{:#?}", coverage.counts);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn shrunk(config in any::<u64>(), usual: bool, ops in prop::collection::vec(any::<u64>(), 1..600)) {
        let config = config::random(&mut Random::new(config));
        let mut harness = if usual { Harness::of_base_pages(&config) } else { Harness::new(&config) };
        for op in ops {
            harness.step(Op::random(&mut Random::new(op)));
        }
    }
}
