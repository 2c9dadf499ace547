//! Static re-reference interval prediction with hit priority (Jaleel, Theobald, Steely and Emer, "High Performance Cache Replacement Using
//! Re-Reference Interval Prediction (RRIP)", ISCA 2010, section 4): pages of a scan are inserted near their eviction, and leave before pages
//! that have hit.

use super::policy::{PolicyFacts, Replacement, Shape};

/// Why no first-level TLB has a policy with predictions.
pub(super) const NEEDS_EVERY_HIT: &str =
    "it needs every hit, and repeated hits of the page used last do not leave the L1's hit path";

pub(super) static FACTS: PolicyFacts = PolicyFacts {
    name: "srrip",
    summary: "a page whose next use is predicted to be distant: SRRIP-HP with 2-bit re-reference prediction values",
    seeded: false,
    refused_at_l1: Some(NEEDS_EVERY_HIT),
    state_bits: |ways| 2 * u64::from(ways),
    build: |shape, _| Box::new(Srrip(Predictions::new(shape))),
};

/// When the next use of a page is predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Interval {
    /// Soon: of a page that has hit.
    Near = 0,
    /// After a long time.
    Long = 2,
    /// After so long a time that the page may leave: the greatest value of 2 bits.
    Distant = 3,
}

/// The re-reference prediction value of each way.
#[derive(Clone, Debug)]
pub(super) struct Predictions {
    shape: Shape,
    values: Box<[u8]>,
}

impl Predictions {
    pub(super) fn new(shape: Shape) -> Self {
        Self { shape, values: vec![Interval::Distant as u8; shape.sets * shape.ways].into() }
    }

    /// The next use of the page in a way is predicted.
    pub(super) fn predict(&mut self, set: usize, way: usize, interval: Interval) {
        self.values[self.shape.slot(set, way)] = interval as u8;
    }

    /// The first way with a distant prediction. Where there is none, all predictions of the set grow until there is.
    pub(super) fn victim(&mut self, set: usize) -> usize {
        const DISTANT: u8 = Interval::Distant as u8;
        let values = &mut self.values[self.shape.slots(set)];
        let greatest = values.iter().copied().max().unwrap_or(DISTANT);
        values.iter_mut().for_each(|value| *value += DISTANT - greatest);
        values.iter().position(|&value| value == DISTANT).unwrap_or_default()
    }
}

/// A page that is new is predicted to be used after a long time.
#[derive(Clone, Debug)]
struct Srrip(Predictions);

impl Replacement for Srrip {
    fn touch(&mut self, set: usize, way: usize) {
        self.0.predict(set, way, Interval::Near);
    }

    fn insert(&mut self, set: usize, way: usize) {
        self.0.predict(set, way, Interval::Long);
    }

    fn victim(&mut self, set: usize) -> usize {
        self.0.victim(set)
    }

    fn invalidate(&mut self, _: usize, _: usize) {}
}
