//! The MMU against the model of `reference`: the harness of the MMU's differential test, whose choices a fuzzer makes.

#[path = "../../crates/mmu/tests/suite/common/mod.rs"]
mod common;

use common::config;
use common::harness::Harness;
use common::ops::Op;
use testing::Random;

/// Runs the target.
///
/// # Panics
/// If the two differ.
pub fn run(input: &[u8]) {
    let mut random = Random::of_input(input);
    let config = config::random(&mut random);
    let mut harness = if random.one_in(3) { Harness::of_base_pages(&config) } else { Harness::new(&config) };
    while random.has_input() {
        harness.step(Op::random(&mut random));
    }
    let _coverage = harness.finish();
}
