//! How long a turn will be. Without caches an instruction takes its base time, near enough; with them it may take fifty times as long, and a turn
//! that is measured in instructions would run past the timer that ends it, or far ahead of other processors.

use super::Caches;
use types::Cycles;

impl Caches {
    /// How many instructions fit in `cycles` at the pace of a processor's latest turn; no limit before its first.
    pub(crate) fn instructions_in(&self, processor: usize, cycles: Cycles) -> u64 {
        let pace = u128::from(self.own[processor].pace);
        let fit = (u128::from(cycles.0) * 1000).checked_div(pace);
        fit.and_then(|fit| u64::try_from(fit).ok()).unwrap_or(u64::MAX)
    }

    /// `instructions` have taken `cycles` in the latest turn of a processor.
    pub(crate) fn note_turn(&mut self, processor: usize, instructions: u64, cycles: Cycles) {
        if instructions > 0 {
            let pace = u128::from(cycles.0) * 1000 / u128::from(instructions);
            self.own[processor].pace = pace.min(u128::from(u64::MAX)) as u64;
        }
    }
}
