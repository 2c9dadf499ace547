//! Counts of a guest as JSON, by the keys of docs/json-keys.md.

use machine::Statistics;
use serde_json::{Map, Value, json};

/// The key `tlb`.
pub(crate) fn tlb(statistics: &Statistics) -> Value {
    let mmu = &statistics.mmu;
    json!({
        "l1d_misses": mmu.l1d_misses,
        "l1i_misses": mmu.l1i_misses,
        "l2_misses": mmu.l2_misses,
    })
}

/// The key `walks`.
pub(crate) fn walks(statistics: &Statistics) -> Value {
    let mmu = &statistics.mmu;
    json!({
        "count": mmu.walks,
        "guest_refs": mmu.guest_refs,
        "host_refs": mmu.host_refs,
        "max_refs": mmu.max_refs,
        "steps": mmu.steps(),
        "max_steps": mmu.max_steps,
    })
}

/// The key `exits`.
pub(crate) fn exits(statistics: &Statistics) -> Map<String, Value> {
    statistics.exits.iter().map(|(reason, count)| (reason.name().to_owned(), count.into())).collect()
}
