//! What a profile counts of one of its parts.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Counters by their names, without those that are zero.
#[derive(Deserialize, Clone, Default, PartialEq, Debug)]
pub(super) struct Counts(BTreeMap<String, i64>);

impl Counts {
    pub(super) fn get(&self, name: &str) -> i64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            let sum = self.0.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// Ticks of translation and of the hypervisor.
    pub(super) fn weight(&self) -> i64 {
        self.get("translation_ticks").saturating_add(self.get("hypervisor_ticks"))
    }

    pub(super) fn misses(&self) -> i64 {
        self.get("l1d_misses").saturating_add(self.get("l1i_misses"))
    }

    pub(super) fn references(&self) -> i64 {
        self.get("guest_refs").saturating_add(self.get("host_refs"))
    }
}
