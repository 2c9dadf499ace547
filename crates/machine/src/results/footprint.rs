//! What is counted of the hypervisor's own accesses.

use serde::{Deserialize, Serialize};

/// Counts of what the hypervisor touched on a processor, or on several. They are no part of what a guest counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FootprintStatistics {
    /// Events: an exit is one, and what it is for another one.
    pub events: u64,
    /// Lines touched; 0 where caches are not modelled.
    pub lines: u64,
    /// Those that were not in the L1.
    pub line_misses: u64,
    /// Pages touched.
    pub pages: u64,
    /// Those that were not in the L2 TLB.
    pub page_misses: u64,
}

impl FootprintStatistics {
    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.lines += other.lines;
        self.line_misses += other.line_misses;
        self.pages += other.pages;
        self.page_misses += other.page_misses;
    }

    /// What was counted since `earlier`, a copy of the same statistics.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            events: self.events - earlier.events,
            lines: self.lines - earlier.lines,
            line_misses: self.line_misses - earlier.line_misses,
            pages: self.pages - earlier.pages,
            page_misses: self.page_misses - earlier.page_misses,
        }
    }
}
