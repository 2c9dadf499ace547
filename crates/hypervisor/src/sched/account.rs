//! What a VM may consume of the service of a round, and the VMs among which it is divided: the data of `service.rs`.

use types::Cycles;

/// How many quantities a VM saves up.
const MOST_SAVED: i64 = 4;

/// The VMs among which a round of service is divided: they share, have a weight, and something to do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Contenders {
    pub(super) vms: usize,
    pub(super) weight: u64,
    pub(super) vcpus: u64,
}

/// What a VM may still consume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Account {
    /// In cycles; below zero it is owed.
    credit: i64,
    /// The round up to which it has been credited.
    round: u64,
}

impl Account {
    /// Of a VM that has not contended yet: all that can be saved.
    pub(super) const fn unlimited() -> Self {
        Self { credit: i64::MAX, round: 0 }
    }

    /// Credits a quantity for each round that has begun since.
    pub(super) fn settle(&mut self, quantity: Cycles, round: u64) {
        let quantity = quantity.0 as i64;
        let rounds = i64::try_from(round - self.round).unwrap_or(i64::MAX);
        self.credit =
            self.credit.saturating_add(quantity.saturating_mul(rounds)).min(quantity.saturating_mul(MOST_SAVED));
        self.round = round;
    }

    /// Begins to contend again: of what it gained meanwhile one quantity is left.
    pub(super) fn resume(&mut self, quantity: Cycles, round: u64) {
        self.settle(quantity, round);
        self.credit = self.credit.min(quantity.0 as i64);
    }

    /// Pays for `consumed`.
    pub(super) const fn consume(&mut self, consumed: Cycles) {
        self.credit = self.credit.saturating_sub_unsigned(consumed.0);
    }

    /// What is left.
    pub(super) const fn left(&self) -> Cycles {
        Cycles(if self.credit > 0 { self.credit as u64 } else { 0 })
    }

    /// How many rounds must begin before something is left.
    pub(super) const fn rounds_owed(&self, quantity: Cycles) -> u64 {
        if self.credit > 0 { 0 } else { self.credit.unsigned_abs() / quantity.0 + 1 }
    }
}
