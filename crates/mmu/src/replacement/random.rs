//! A random way, from a seed: the same accesses give the same victims.

use super::policy::{PolicyFacts, Replacement, Shape};

pub(super) static FACTS: PolicyFacts = PolicyFacts {
    name: "random",
    summary: "any page, by a generator that starts from a seed: `random:SEED`, where 0 is assumed",
    seeded: true,
    refused_at_l1: None,
    // The generator is one for the whole array, and no state of a set.
    state_bits: |_| 0,
    build: |shape, seed| Box::new(Random { shape, state: seed }),
};

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014). An array has one generator, which
/// advances by one number for each victim.
#[derive(Clone, Debug)]
struct Random {
    shape: Shape,
    state: u64,
}

impl Random {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

impl Replacement for Random {
    fn touch(&mut self, _: usize, _: usize) {}

    fn insert(&mut self, _: usize, _: usize) {}

    /// The upper half of a number, scaled to the ways: a remainder would prefer the lower ones.
    fn victim(&mut self, _: usize) -> usize {
        (((self.next() >> 32) * self.shape.ways as u64) >> 32) as usize
    }

    fn invalidate(&mut self, _: usize, _: usize) {}
}
