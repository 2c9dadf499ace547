//! First in, first out.

use super::lru::Order;
use super::policy::{PolicyFacts, Replacement};

pub(super) static FACTS: PolicyFacts = PolicyFacts {
    name: "fifo",
    summary: "the page that was inserted first, whatever its uses",
    seeded: false,
    refused_at_l1: None,
    state_bits: |ways| u64::from(ways.next_power_of_two().ilog2()),
    build: |shape, _| Box::new(Fifo(Order::new(shape))),
};

/// The ways of each set in the order in which their pages came.
#[derive(Clone, Debug)]
struct Fifo(Order);

impl Replacement for Fifo {
    fn touch(&mut self, _: usize, _: usize) {}

    fn insert(&mut self, set: usize, way: usize) {
        self.0.make_latest(set, way);
    }

    fn victim(&mut self, set: usize) -> usize {
        self.0.earliest(set)
    }

    fn invalidate(&mut self, _: usize, _: usize) {}
}
