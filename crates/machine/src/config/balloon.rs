//! `balloon.*`: how much memory a guest is asked to give up, and when.

use crate::units::ByteSize;
use serde::{Deserialize, Serialize};

/// Every key, with its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BalloonKeys {
    /// How much memory is asked for; none, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<ByteSize>,
    /// From when on, in seconds of guest time.
    pub at: u64,
    /// Only once the host's memory has run short, too.
    pub pressure: bool,
    /// Until when, in seconds of guest time; 0 for ever.
    pub until: u64,
}

impl BalloonKeys {
    /// Checks the keys for a guest with so much memory; what is wrong with which key, if anything.
    pub(super) fn problem(&self, memory: ByteSize) -> Option<(&'static str, String)> {
        if self.target.is_some_and(|target| target >= memory || target.0 % 4096 != 0) {
            return Some(("balloon.target", format!("a multiple of 4K, less than the guest's memory of {memory}")));
        }
        if self.until > 0 && self.until <= self.at {
            return Some(("balloon.until", format!("later than balloon.at, which is {}", self.at)));
        }
        None
    }
}
