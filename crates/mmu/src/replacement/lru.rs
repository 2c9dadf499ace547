//! Least recently used, for an array beside others that have another policy. A level whose arrays are all LRU keeps its order itself.

use super::policy::{PolicyFacts, Replacement, Shape};
use super::recency::Recency;
use crate::tlb::way::Way;

pub(super) static FACTS: PolicyFacts = PolicyFacts {
    name: "lru",
    summary: "the page that was used least recently, exactly",
    seeded: false,
    refused_at_l1: None,
    state_bits: order_bits,
    build: |shape, _| Box::new(Lru(Order::new(shape))),
};

/// Bits that distinguish all orders of so many ways: the logarithm of their factorial, rounded up.
///
/// The product keeps its first 64 bits. For all ways that an array can have ([`MmuConfig::LIMIT`](crate::MmuConfig::LIMIT)), a product of 256 bits gives the
/// same result.
fn order_bits(ways: u32) -> u64 {
    let (mut product, mut dropped) = (1_u128, 0_u64);
    for way in 2..=u128::from(ways) {
        product *= way;
        let excess = (u128::BITS - product.leading_zeros()).saturating_sub(u64::BITS);
        product >>= excess;
        dropped += u64::from(excess);
    }
    let is_power = dropped == 0 && product.is_power_of_two();
    dropped + u64::from(product.ilog2()) + u64::from(!is_power)
}

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
