//! Counts of a guest as JSON, by the keys of docs/json-keys.md.

use machine::{MissClass, Statistics};
use mmu::Storage;
use serde_json::{Map, Value, json};

/// Counts by their names, in an order that is always the same.
type Counts = Map<String, Value>;

fn named<const N: usize>(counts: [(&str, u64); N]) -> Counts {
    counts.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
}

/// The key `storage_bits`.
pub(crate) fn storage_bits(storage: &Storage) -> Counts {
    named([
        ("l1i", storage.l1i),
        ("l1d", storage.l1d),
        ("l2", storage.l2),
        ("walk_caches", storage.walk_caches),
        ("nested_tlb", storage.nested_tlb),
        ("total", storage.total()),
    ])
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

/// The key `page_faults`.
pub(crate) fn page_faults(statistics: &Statistics) -> Value {
    json!({
        "count": statistics.page_faults,
        "instructions": statistics.page_fault_instructions,
    })
}

/// The key `refills`.
pub(crate) fn refills(statistics: &Statistics) -> Counts {
    let mmu = &statistics.mmu;
    named([("count", mmu.refills), ("instructions", mmu.refill_instructions)])
}

/// What is counted of segments, by the keys of `segments`.
pub(crate) fn segments(statistics: &Statistics) -> Counts {
    let mmu = &statistics.mmu;
    named([
        ("both", mmu.segment_hits),
        ("guest", mmu.guest_segment_hits),
        ("monitor", mmu.hypervisor_segment_pages),
        ("monitor_steps", mmu.hypervisor_segment_hits),
        ("escaped", mmu.escape_hits),
    ])
}

/// The key `paging`.
pub(crate) fn paging(statistics: &Statistics) -> Counts {
    statistics.paging.iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
}

/// What a run of a hart counts and what adds up, by the keys that a run of a comparison has. Maxima do not add up, nor do quotients.
pub(crate) fn of_hart(statistics: &Statistics) -> Value {
    let Statistics { mmu, time, .. } = statistics;
    let mut segments = segments(statistics);
    segments.insert("classified".to_owned(), classes(&mmu.classified_misses));
    json!({
        "instructions": statistics.instructions,
        "loads": statistics.loads,
        "stores": statistics.stores,
        "page_faults": page_faults(statistics),
        "cycles": time.total().0,
        "tlb": tlb(statistics),
        "walks": {
            "count": mmu.walks,
            "guest_refs": mmu.guest_refs,
            "host_refs": mmu.host_refs,
            "steps": mmu.steps(),
        },
        "refills": refills(statistics),
        "segment_hits": mmu.segment_hits,
        "escape_hits": mmu.escape_hits,
        "segments": segments,
        "exits": exits(statistics),
        "paging": paging(statistics),
        "caches": super::caches::value(statistics),
        "core": statistics.core.map(|core| json!({
            "data": core.data,
            "translation": core.translation,
            "stores": core.stores,
            "redirects": core.redirects,
            "fetch": core.fetch,
            "walking": core.walking,
        })),
        "time": {
            "guest": time.guest.0,
            "translation": time.translation.0,
            "monitor": time.hypervisor.0,
        },
    })
}

/// The same of what belongs to a guest and to none of its harts.
pub(crate) fn of_guest(statistics: &Statistics) -> Value {
    json!({ "transactions": statistics.transactions, "shadow": super::shadow::counts(statistics) })
}

/// Misses of the second level by the segments that would hold them, where the user requested that.
pub(super) fn classes(counts: &[u64; 4]) -> Value {
    if counts.iter().all(|&count| count == 0) {
        return Value::Null;
    }
    let of = |class: MissClass| counts[class as usize];
    json!({
        "neither": of(MissClass::Neither),
        "guest": of(MissClass::Guest),
        "monitor": of(MissClass::Hypervisor),
        "both": of(MissClass::Both),
    })
}

/// The key `exits`.
pub(crate) fn exits(statistics: &Statistics) -> Counts {
    statistics.exits.iter().map(|(reason, count)| (reason.name().to_owned(), count.into())).collect()
}
