//! A random way, from a seed: the same accesses give the same victims.

use super::generator::SplitMix64;
use super::policy::{PolicyFacts, Replacement, Shape};

pub(super) static FACTS: PolicyFacts = PolicyFacts {
    name: "random",
    summary: "any page, by a generator that starts from a seed: `random:SEED`, where 0 is assumed",
    seeded: true,
    refused_at_l1: None,
    // The generator is one for the whole array, and no state of a set.
    state_bits: |_| 0,
    build: |shape, seed| Box::new(Random { shape, numbers: SplitMix64::from_seed(seed) }),
};

/// An array has one generator, which advances by one number for each victim.
#[derive(Clone, Debug)]
struct Random {
    shape: Shape,
    numbers: SplitMix64,
}

impl Replacement for Random {
    fn touch(&mut self, _: usize, _: usize) {}

    fn insert(&mut self, _: usize, _: usize) {}

    /// The upper half of a number, scaled to the ways: a remainder would prefer the lower ones.
    fn victim(&mut self, _: usize) -> usize {
        (((self.numbers.next() >> 32) * self.shape.ways as u64) >> 32) as usize
    }

    fn invalidate(&mut self, _: usize, _: usize) {}
}
