//! Tree pseudo-LRU: a binary tree over the ways of a set, each node of which knows in which half the latest use was. The victim is found by going
//! to the other half at each node (Al-Zoubi, Milenkovic and Milenkovic, "Performance Evaluation of Cache Replacement Policies for the SPEC CPU2000
//! Benchmark Suite", ACMSE 2004, section 2).
//!
//! The ways need not be a power of two: of n ways of a node, the lower half has ⌈n/2⌉.

use super::policy::{PolicyFacts, Replacement, Shape};

pub(super) static FACTS: PolicyFacts = PolicyFacts {
    name: "tree-plru",
    summary: "at each node of a binary tree over the ways, the half that was not used last",
    seeded: false,
    refused_at_l1: None,
    state_bits: |ways| u64::from(ways.saturating_sub(1)),
    build: |shape, _| Box::new(TreePlru { shape, upper_is_next: vec![false; shape.sets * shape.ways].into() }),
};

#[derive(Clone, Debug)]
struct TreePlru {
    shape: Shape,
    /// Whether the victim is in the upper half of a node. A node stands at the first way of its upper half, which is no other node's; the first way
    /// of a set has none.
    upper_is_next: Box<[bool]>,
}

impl TreePlru {
    /// Goes from the root to a leaf, to the upper half of each node of which `goes_up` says so, and returns the way.
    fn descend(&mut self, set: usize, mut goes_up: impl FnMut(usize, &mut bool) -> bool) -> usize {
        let first = self.shape.slot(set, 0);
        let mut ways = 0..self.shape.ways;
        while ways.len() > 1 {
            let middle = ways.start + ways.len().div_ceil(2);
            ways = if goes_up(middle, &mut self.upper_is_next[first + middle]) {
                middle..ways.end
            } else {
                ways.start..middle
            };
        }
        ways.start
    }
}

impl Replacement for TreePlru {
    /// Each node above the way points away from it.
    fn touch(&mut self, set: usize, way: usize) {
        self.descend(set, |middle, upper_is_next| {
            let is_upper = way >= middle;
            *upper_is_next = !is_upper;
            is_upper
        });
    }

    fn insert(&mut self, set: usize, way: usize) {
        self.touch(set, way);
    }

    fn victim(&mut self, set: usize) -> usize {
        self.descend(set, |_, upper_is_next| *upper_is_next)
    }

    fn invalidate(&mut self, _: usize, _: usize) {}
}
