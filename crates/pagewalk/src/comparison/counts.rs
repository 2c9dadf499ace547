//! Counts of a guest as JSON, by the keys of docs/json-keys.md.

use machine::Statistics;
use serde_json::{Map, Value};

/// Counts by their names, in an order that is always the same.
type Counts = Map<String, Value>;

fn named<const N: usize>(counts: [(&str, u64); N]) -> Counts {
    counts.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
}

/// The key `tlb`.
pub(crate) fn tlb(statistics: &Statistics) -> Counts {
    let mmu = &statistics.mmu;
    named([("l1d_misses", mmu.l1d_misses), ("l1i_misses", mmu.l1i_misses), ("l2_misses", mmu.l2_misses)])
}

/// The key `walks`.
pub(crate) fn walks(statistics: &Statistics) -> Counts {
    let mmu = &statistics.mmu;
    named([
        ("count", mmu.walks),
        ("guest_refs", mmu.guest_refs),
        ("host_refs", mmu.host_refs),
        ("max_refs", mmu.max_refs),
        ("steps", mmu.steps()),
        ("max_steps", mmu.max_steps),
    ])
}

/// The key `exits`.
pub(crate) fn exits(statistics: &Statistics) -> Counts {
    statistics.exits.iter().map(|(reason, count)| (reason.name().to_owned(), count.into())).collect()
}
