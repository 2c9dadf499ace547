//! Where the time of a core goes.

use crate::ticks::Ticks;
use core::ops;

/// Time beyond the one tick that each instruction takes, by what it was spent on. All of it together delays the next instruction by the sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Time {
    /// What would be lost as well if translation took no time.
    pub stalls: Stalls,
    /// Ticks that the core is later than if translation took no time. They can be negative: an access that translation delays can take a miss
    /// register, or a place in the order of stores, from which the core gains.
    pub translation: i64,
    /// Time from the start of each page walk to its end, summed over all walks: what a performance counter of walks' duration counts, whether or not
    /// the core waits. It is in no total.
    pub walking: Ticks,
}

/// Time that dispatch waits, by what for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stalls {
    /// Results that are not there when the window is full, when a branch is mispredicted, or when an instruction is not executed beside others.
    pub data: Ticks,
    /// The store buffer is full, or has to be empty.
    pub stores: Ticks,
    /// The front end starts again: mispredicted branches and traps.
    pub redirects: Ticks,
    /// The front end waits for lines of instructions.
    pub fetch: Ticks,
}

impl Time {
    /// All that delays the next instruction.
    #[must_use]
    pub fn total(&self) -> Ticks {
        Ticks(self.stalls.total().0.wrapping_add_signed(self.translation))
    }
}

impl Stalls {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> Ticks {
        let Self { data, stores, redirects, fetch } = *self;
        data + stores + redirects + fetch
    }
}

impl ops::Add for Stalls {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let Self { data, stores, redirects, fetch } = other;
        Self {
            data: self.data + data,
            stores: self.stores + stores,
            redirects: self.redirects + redirects,
            fetch: self.fetch + fetch,
        }
    }
}

impl ops::Sub for Stalls {
    type Output = Self;
    /// What was lost since `earlier`.
    fn sub(self, earlier: Self) -> Self {
        let Self { data, stores, redirects, fetch } = earlier;
        Self {
            data: self.data.since(data),
            stores: self.stores.since(stores),
            redirects: self.redirects.since(redirects),
            fetch: self.fetch.since(fetch),
        }
    }
}
