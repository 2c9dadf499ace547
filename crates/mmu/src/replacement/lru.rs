//! Least recently used, for an array beside others that have another policy. A level whose arrays are all LRU keeps its order itself.

use super::policy::{PolicyFacts, Replacement, Shape};
use super::recency::Recency;
use crate::tlb::way::Way;

pub(super) static FACTS: PolicyFacts = PolicyFacts {
    name: "lru",
    summary: "the page that was used least recently, exactly",
    seeded: false,
    refused_at_l1: None,
    build: |shape, _| Box::new(Lru(Order::new(shape))),
};

/// The ways of each set in the order of some event: that of their last use for LRU, of their insertion for FIFO.
#[derive(Clone, Debug)]
pub(super) struct Order {
    recency: Recency,
    /// Groups of a set.
    groups: usize,
}

impl Order {
    pub(super) fn new(shape: Shape) -> Self {
        Self { recency: Recency::new(core::iter::once(shape)), groups: Recency::groups(shape.ways) }
    }

    fn way(&self, set: usize, way: usize) -> Way {
        Way::new(set * self.groups, way)
    }

    /// Makes a way the latest of its set.
    pub(super) fn make_latest(&mut self, set: usize, way: usize) {
        self.recency.used(self.way(set, way));
    }

    /// The earliest way of a set.
    pub(super) fn earliest(&self, set: usize) -> usize {
        self.recency.earliest(set * self.groups)
    }
}

#[derive(Clone, Debug)]
struct Lru(Order);

impl Replacement for Lru {
    fn touch(&mut self, set: usize, way: usize) {
        self.0.make_latest(set, way);
    }

    fn insert(&mut self, set: usize, way: usize) {
        self.0.make_latest(set, way);
    }

    fn victim(&mut self, set: usize) -> usize {
        self.0.earliest(set)
    }

    fn invalidate(&mut self, _: usize, _: usize) {}
}
