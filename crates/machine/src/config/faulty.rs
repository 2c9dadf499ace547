//! `faulty.*`: hard faults of the host's memory. A native machine has no monitor that could do without the frames, and its memory is sound.

use serde::{Deserialize, Serialize};

/// Most faulty pages: more than a filter of any size is for.
const MOST: u32 = 1 << 16;

/// Every key, with its default.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FaultyKeys {
    /// So many pages of the host's memory are faulty, anywhere in it.
    pub count: u32,
    /// Pages that are faulty, by a host physical address in each.
    pub addresses: Vec<u64>,
    /// From when on, in seconds of guest time; 0 is before the guest's memory is allocated.
    pub at: u64,
}

impl FaultyKeys {
    /// Whether there is any.
    #[must_use]
    pub const fn any(&self) -> bool {
        self.count > 0 || !self.addresses.is_empty()
    }

    /// What is wrong with which key, if anything.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        (self.count > MOST).then(|| ("faulty.count", format!("at most {MOST} pages")))
    }
}
