//! Modelled caches in the comparison, as JSON.

use machine::{CacheStatistics, Found, Statistics};
use serde_json::{Value, json};

/// The key `caches` of a run; null where none are modelled.
pub(crate) fn value(statistics: &Statistics) -> Value {
    let Some(caches) = &statistics.caches else { return Value::Null };
    let level = |accesses: u64, misses: u64| json!({ "accesses": accesses, "misses": misses });
    json!({
        "l1d": level(statistics.loads + statistics.stores, caches.l1d_misses),
        "l1i": level(statistics.instructions, caches.l1i_misses),
        "l2": level(caches.l2_accesses, caches.l2_misses),
        "llc": level(caches.llc_accesses, caches.llc_misses),
        "walk": walk(caches),
        "stalls": { "data": caches.data_stalls.0, "fetch": caches.fetch_stalls.0 },
    })
}

/// Table entries by where walks found them, and what that took.
fn walk(caches: &CacheStatistics) -> Value {
    json!({
        "l1d": caches.walk_found(Found::L1),
        "l2": caches.walk_found(Found::L2),
        "llc": caches.walk_found(Found::Llc),
        "memory": caches.walk_found(Found::Memory),
        "cycles": caches.walk_time.0,
    })
}

/// NIBR of the 1985 paper (section 5.1, "Not in Buffer Ratio"): references that the buffer storage, the first level of cache, does not answer, of all
/// loads, stores and instruction fetches. Null where no caches are modelled.
pub(super) fn not_in_buffer_ratio(statistics: &Statistics) -> Option<f64> {
    let caches = statistics.caches.as_ref()?;
    let references = statistics.instructions + statistics.loads + statistics.stores;
    Some((caches.l1d_misses + caches.l1i_misses) as f64 / references.max(1) as f64)
}
