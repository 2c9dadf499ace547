//! A slot of a set-associative array, by the first group of its set and its number among all slots.

use crate::raw::lanes::LANES;

/// One slot of a set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// First group of the set.
    pub(crate) set: usize,
    pub(crate) slot: usize,
}

impl Way {
    /// The way of a set, by its first group.
    #[inline(always)]
    pub(crate) const fn new(set: usize, way: usize) -> Self {
        Self { set, slot: set * LANES + way }
    }

    /// Which of the set it is.
    #[inline(always)]
    pub(crate) const fn way(&self) -> usize {
        self.slot - self.set * LANES
    }
}
