//! Where the walks of an address space may begin, and a processor's cache of that.

use crate::shadow::tables::Key;
use types::Hpa;

/// Where the walks of an address space begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Root {
    /// At the guest's root, nested: the space has begun in that interval.
    Nested { since: u64 },
    /// At its shadow table.
    Shadow,
    /// At the guest's root, of which the host physical address is known: its page is nested.
    Switched(Hpa),
}

/// A processor's cache from guest roots to shadow roots, the one used last first.
#[derive(Clone, Debug)]
pub(super) struct RootCache {
    entries: Vec<Key>,
    size: usize,
}

impl RootCache {
    pub(super) const fn new(size: usize) -> Self {
        Self { entries: Vec::new(), size }
    }

    /// Looks an address space up, and keeps it; whether it was there.
    pub(super) fn look_up(&mut self, key: Key) -> bool {
        let known = self.entries.iter().position(|entry| *entry == key);
        if let Some(known) = known {
            self.entries.remove(known);
        }
        self.entries.insert(0, key);
        self.entries.truncate(self.size);
        known.is_some()
    }
}
