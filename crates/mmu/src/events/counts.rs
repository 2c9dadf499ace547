//! Statistics of fills and evictions: an observer that counts.

use super::{Eviction, Fill, Miss, Observer, TlbLevel, Walk};

/// Events of one level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LevelCounts {
    /// Accesses that it did not answer.
    pub misses: u64,
    /// Translations that it took.
    pub fills: u64,
    /// Pages that gave way to others.
    pub evictions: u64,
}

/// Events of an MMU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EventCounts {
    /// First level, loads and stores.
    pub l1d: LevelCounts,
    /// First level, fetches.
    pub l1i: LevelCounts,
    /// Second level.
    pub l2: LevelCounts,
    /// Walks, those that fault among them.
    pub walks: u64,
    /// Entries that they read.
    pub refs: u64,
    /// Walks that faulted.
    pub faults: u64,
}

impl EventCounts {
    fn of(&mut self, level: TlbLevel) -> &mut LevelCounts {
        match level {
            TlbLevel::L1d => &mut self.l1d,
            TlbLevel::L1i => &mut self.l1i,
            TlbLevel::L2 => &mut self.l2,
        }
    }
}

impl Observer for EventCounts {
    const OBSERVES: bool = true;

    fn miss(&mut self, miss: &Miss) {
        self.of(miss.level).misses += 1;
    }

    fn fill(&mut self, fill: &Fill<'_>) {
        self.of(fill.level).fills += 1;
    }

    fn eviction(&mut self, eviction: &Eviction) {
        self.of(eviction.level).evictions += 1;
    }

    fn walk(&mut self, walk: &Walk) {
        self.walks += 1;
        self.refs += walk.guest_refs + walk.host_refs;
        self.faults += u64::from(walk.fault.is_some());
    }
}
