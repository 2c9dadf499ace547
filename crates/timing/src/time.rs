//! Where the time of a core goes.

use crate::ticks::Ticks;

/// Time beyond the one tick that each instruction takes, by what it was spent on. All of it together delays the next instruction by the sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Time {
    /// Dispatch waits for data.
    pub data: Ticks,
    /// Dispatch waits for what would have been there if translation took no time; also translation of fetches.
    pub translation: Ticks,
    /// The store buffer is full, or has to be empty.
    pub stores: Ticks,
    /// The front end begins anew: mispredicted branches and traps.
    pub redirects: Ticks,
    /// The front end waits for lines of instructions.
    pub fetch: Ticks,
}

impl Time {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> Ticks {
        let Self { data, translation, stores, redirects, fetch } = *self;
        data + translation + stores + redirects + fetch
    }

    /// Dispatch waits `stall` for a result whose own wait was, for so much, for translation.
    pub(crate) fn wait(&mut self, stall: Ticks, translation: Ticks) {
        let translation = translation.min(stall);
        self.translation += translation;
        self.data += stall.since(translation);
    }
}
