//! `disk.*`: the disks of guests.

use serde::{Deserialize, Serialize};

/// Longest latency, in microseconds: a second.
const MOST: u64 = 1_000_000;

/// Every key, with its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiskKeys {
    /// From a request to the interrupt that says it is done, in microseconds. 0: a request is done before the guest goes on.
    pub latency_us: u64,
}

impl DiskKeys {
    /// What is wrong with which key, if anything.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        (self.latency_us > MOST).then(|| ("disk.latency_us", format!("at most {MOST}")))
    }
}
