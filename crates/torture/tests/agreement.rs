//! Differential tests of the hart's user-level instructions.
//!
//! `TORTURE_PROGRAMS` makes a run longer. The seed changes daily (`testing::seed`); a failure prints it, and `TORTURE_SEED` repeats that
//! run. Engine::Threaded needs an optimised build: in one with debug
//! assertions both names stand for the `match` engine.

use hart::{Engine, Hotness};
use torture::campaign::{Campaign, Outcome};
use torture::executor::{Executor, Qemu};
use torture::flat::Flat;
use torture::generate;
use torture::image::Image;
use torture::opcode::Class;
use torture::program::{Node, Program};

/// Every block is compiled.
const COMPILED: Engine = Engine::Compiled(Hotness::ALL);

/// Every block has baseline code, and those that a budget has ended at are compiled.
const BASELINE: Engine = Engine::Compiled(Hotness::BASELINE);

/// Runs `programs` programs, all of which must agree.
fn campaign(programs: u64, executors: &[&dyn Executor]) -> Outcome {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let campaign = Campaign { seed: testing::seed("TORTURE_SEED"), first: 0, programs, batch: 500, threads };
    let outcome = campaign.run(executors).unwrap_or_else(|error| panic!("{error}"));
    if let Some(failure) = &outcome.failure {
        panic!("{failure}");
    }
    assert_eq!(outcome.agreed, programs);
    outcome
}

#[test]
#[ignore = "needs qemu-user"]
fn all_engines_agree_with_qemu_on_every_opcode() {
    let programs = testing::number("TORTURE_PROGRAMS", 20_000);
    let engines = [Engine::Threaded, Engine::Matching, COMPILED, BASELINE].map(Flat::new);
    let outcome = campaign(programs, &[&Qemu::default(), &engines[0], &engines[1], &engines[2], &engines[3]]);
    assert_eq!(outcome.coverage.missed(), Vec::<String>::new(), "opcodes that no program was certain to run");
}

#[test]
fn the_engines_agree_with_each_other() {
    let engines = [Engine::Matching, Engine::Threaded, COMPILED, BASELINE].map(Flat::new);
    campaign(if cfg!(debug_assertions) { 1_000 } else { 5_000 }, &[&engines[0], &engines[1], &engines[2], &engines[3]]);
}

/// Whether a program tries a reservation, which may end with a slice.
fn reserves(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Straight(instructions) => {
            instructions.iter().any(|instruction| matches!(instruction.opcode.class, Class::LoadReserved(_)))
        }
        _ => node.body().is_some_and(|body| reserves(body)),
    })
}

/// Runs may end anywhere: neither the outcome nor the counts of instructions, loads and stores may depend on where.
#[test]
fn slices_change_neither_outcome_nor_counts() {
    let seed = testing::seed("TORTURE_SEED");
    let programs: Vec<Program> = (0..3_000)
        .map(|index| generate::program(seed, index))
        .filter(|program| !reserves(&program.nodes))
        .take(500)
        .collect();
    assert_eq!(programs.len(), 500);
    let image = Image::new(&programs);
    let whole = Flat::new(Engine::Matching).run_counted(&image).unwrap();
    assert!(whole.1.instructions > 80_000 && whole.1.loads > 31_000 && whole.1.stores > 31_000, "{:?}", whole.1);
    for engine in [Engine::Matching, Engine::Threaded, COMPILED, BASELINE] {
        for slice in [1, 2, 7, 100, 4999] {
            let sliced = Flat::sliced(engine, slice).run_counted(&image).unwrap();
            assert!(sliced == whole, "{engine:?} in slices of {slice}: {:?} instead of {:?}", sliced.1, whole.1);
        }
    }
}

/// A debugger may stop a hart before any instruction: neither the outcome, nor the counts, nor where runs end may depend on it.
#[test]
fn stops_change_neither_outcome_nor_counts_nor_ends_of_runs() {
    let seed = testing::seed("TORTURE_SEED");
    let programs: Vec<Program> = (0..80).map(|index| generate::program(seed, index)).collect();
    let image = Image::new(&programs);
    let noted = |flat: Flat| {
        let mut ends = Vec::new();
        let done = flat.run_noting(&image, |place| ends.push(place)).unwrap();
        (done, ends)
    };
    for slice in [7, 100, 1000] {
        let plain = noted(Flat::sliced(Engine::Matching, slice));
        assert!(plain.1.len() > 10, "runs of {slice}");
        for engine in [Engine::Matching, Engine::Threaded, COMPILED, BASELINE] {
            for bytes in [2, 4, 8] {
                let stopped = noted(Flat::sliced(engine, slice).stopped_at_each(bytes));
                assert!(
                    stopped.1 == plain.1,
                    "runs of {slice} under {engine:?} end elsewhere with stops at each {bytes}"
                );
                assert!(stopped.0 == plain.0, "runs of {slice} under {engine:?} differ with stops at each {bytes}");
            }
        }
    }
}

/// A campaign finds a wrong result, names it and cuts the program down.
#[test]
fn a_wrong_executor_is_found() {
    /// Gets the quotients by zero wrong, by getting every all-ones register wrong.
    struct Wrong(Flat);

    impl Executor for Wrong {
        fn name(&self) -> &str {
            "wrong"
        }

        fn run(&self, image: &Image) -> Result<Vec<u8>, torture::executor::ExecutorError> {
            let mut records = self.0.run(image)?;
            // The record of a program starts with `fcsr`, then x1.
            records.chunks_mut(768).filter(|record| record[8..16] == [0xff; 8]).for_each(|record| record[8] = 0);
            Ok(records)
        }
    }

    let right = Flat::new(Engine::Matching);
    let campaign = Campaign { seed: 3, first: 0, programs: 1_000, batch: 100, threads: 2 };
    let outcome = campaign.run(&[&right, &Wrong(Flat::new(Engine::Matching))]).unwrap();
    let report = outcome.failure.expect("some program leaves all ones in x1").to_string();
    assert!(report.contains("x1           0xffffffffffffffff (matching) 0xffffffffffffff00 (wrong)"), "{report}");
    assert!(report.lines().count() < 12, "not cut down: {report}");
}
