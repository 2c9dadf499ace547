//! What is counted of out-of-order cores.

use serde::{Deserialize, Serialize};
use timing::{Stalls, Time};
use types::Cycles;

/// Time of a core, or of several, beyond the dispatch of its instructions. All but the width is in ticks, of which a cycle has `width`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CoreStatistics {
    /// Instructions dispatched in a cycle.
    pub width: u64,
    /// Waits for data, if translation took no time. So are those that follow.
    pub data: u64,
    /// What the core is later than if translation took no time. It is negative where the core gains from the delay of an access.
    pub translation: i64,
    /// Waits for the store buffer.
    pub stores: u64,
    /// Mispredicted branches and traps, in the front end.
    pub redirects: u64,
    /// Lines of instructions.
    pub fetch: u64,
    /// Time from the start of each page walk to its end, summed over all walks. The core need not wait for any of it.
    pub walking: u64,
}

impl CoreStatistics {
    pub(crate) fn of(time: &Time, width: u64) -> Self {
        let Time { stalls: Stalls { data, stores, redirects, fetch }, translation, walking } = *time;
        Self {
            width,
            data: data.0,
            translation,
            stores: stores.0,
            redirects: redirects.0,
            fetch: fetch.0,
            walking: walking.0,
        }
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        let Self { width, data, translation, stores, redirects, fetch, walking } = *other;
        self.width = width;
        self.data += data;
        self.translation += translation;
        self.stores += stores;
        self.redirects += redirects;
        self.fetch += fetch;
        self.walking += walking;
    }

    /// What was counted since `earlier`, a copy of the same statistics.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            width: self.width,
            data: self.data - earlier.data,
            translation: self.translation - earlier.translation,
            stores: self.stores - earlier.stores,
            redirects: self.redirects - earlier.redirects,
            fetch: self.fetch - earlier.fetch,
            walking: self.walking - earlier.walking,
        }
    }

    /// What `instructions` took, less what translation took.
    pub(crate) fn guest(&self, instructions: u64) -> Cycles {
        Cycles(self.total(instructions).0 - self.translation().0)
    }

    /// What translation took. A gain counts as no time.
    pub(crate) fn translation(&self) -> Cycles {
        Cycles(self.translation.max(0) as u64 / self.width)
    }

    /// What `instructions` took.
    fn total(&self, instructions: u64) -> Cycles {
        let ticks = instructions + self.data + self.stores + self.redirects + self.fetch;
        Cycles(ticks.saturating_add_signed(self.translation) / self.width)
    }
}
