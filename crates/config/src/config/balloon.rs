//! `balloon.*`: how much memory a guest is asked to give up, and when.

use crate::units::ByteSize;
use keys::{key, settings};

settings! {
    /// `balloon.*`.
    #[derive(Copy, Eq)]
    pub struct BalloonKeys {
        #[serde(skip_serializing_if = "Option::is_none")]
        pub target: Option<ByteSize> = None => key(
            "memory that the guest is asked to give up through its virtio balloon, which it then has: a size, a multiple \
             of 4K, less than `memory`. Its frames go back to the host"
        ).without("none"),
        pub at: u64 = 0 => key("from when, and until when, in seconds of guest time; `until` 0 is for ever")
            .unit("seconds"),
        pub pressure: bool = false => key("`true`: only once the host's memory has run short"),
        pub until: u64 = 0 => key("until when, in seconds of guest time; 0 is for ever").unit("seconds").with("at"),
    }
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
