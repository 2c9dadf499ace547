//! Profiles, as tests read them.

use serde_json::Value;
use std::collections::BTreeMap;

/// A kernel with one function that reads an array at random, and one that reads another in order.
pub(crate) const TWO_ARRAYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/profile/two-arrays.elf");

/// The counts of a list's parts, added up, without those that are zero.
pub(crate) fn sums(list: &Value) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for part in list.as_array().expect("a list") {
        for (name, count) in part["counts"].as_object().expect("counts") {
            *sums.entry(name.clone()).or_insert(0) += count.as_i64().expect("a whole number");
        }
    }
    sums.retain(|_, sum| *sum != 0);
    sums
}
