//! Static re-reference interval prediction with hit priority (Jaleel, Theobald, Steely and Emer, "High Performance Cache Replacement Using
//! Re-Reference Interval Prediction (RRIP)", ISCA 2010, section 4): pages of a scan are inserted near their eviction, and leave before pages
//! that have hit.

use super::policy::{PolicyFacts, Replacement, Shape};

pub(super) static FACTS: PolicyFacts = PolicyFacts {
    name: "srrip",
    summary: "a page whose next use is predicted to be distant: SRRIP-HP with 2-bit re-reference prediction values",
    seeded: false,
    refused_at_l1: Some("it needs every hit, and repeated hits of the page used last do not leave the L1's hit path"),
    state_bits: |ways| 2 * u64::from(ways),
    build: |shape, _| Box::new(Srrip { shape, predictions: vec![Srrip::DISTANT; shape.sets * shape.ways].into() }),
};

#[derive(Clone, Debug)]
struct Srrip {
    shape: Shape,
    /// The re-reference prediction value of each way.
    predictions: Box<[u8]>,
}

impl Srrip {
    /// The next use is predicted to be soon: a page that has hit.
    const NEAR_IMMEDIATE: u8 = 0;
    /// A page that is new.
    const LONG: u8 = 2;
    /// The greatest value of 2 bits: a page that may leave.
    const DISTANT: u8 = 3;
}

impl Replacement for Srrip {
    fn touch(&mut self, set: usize, way: usize) {
        self.predictions[self.shape.slot(set, way)] = Self::NEAR_IMMEDIATE;
    }

    fn insert(&mut self, set: usize, way: usize) {
        self.predictions[self.shape.slot(set, way)] = Self::LONG;
    }

    /// The first way with a distant prediction. Where there is none, all predictions of the set grow until there is.
    fn victim(&mut self, set: usize) -> usize {
        let predictions = &mut self.predictions[self.shape.slots(set)];
        let greatest = predictions.iter().copied().max().unwrap_or(Self::DISTANT);
        predictions.iter_mut().for_each(|prediction| *prediction += Self::DISTANT - greatest);
        predictions.iter().position(|&prediction| prediction == Self::DISTANT).unwrap_or_default()
    }

    fn invalidate(&mut self, _: usize, _: usize) {}
}
