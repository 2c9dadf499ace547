//! Least recently used, for an array beside others that have another policy. A level whose arrays are all LRU keeps its order itself.

use super::recency::Recency;
use super::{PolicyFacts, Replacement, Shape};
use crate::way::Way;

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
    pub(super) fn move_last(&mut self, set: usize, way: usize) {
        self.recency.used(self.way(set, way));
    }

    /// Makes a way the earliest of its set.
    pub(super) fn move_first(&mut self, set: usize, way: usize) {
        let way = self.way(set, way);
        self.recency.emptied(&way);
    }

    /// The earliest way of a set.
    pub(super) fn first(&self, set: usize) -> usize {
        self.recency.earliest(set * self.groups)
    }
}

#[derive(Clone, Debug)]
struct Lru(Order);

impl Replacement for Lru {
    fn touch(&mut self, set: usize, way: usize) {
        self.0.move_last(set, way);
    }

    fn insert(&mut self, set: usize, way: usize) {
        self.0.move_last(set, way);
    }

    fn victim(&mut self, set: usize) -> usize {
        self.0.first(set)
    }

    fn invalidate(&mut self, set: usize, way: usize) {
        self.0.move_first(set, way);
    }
}
