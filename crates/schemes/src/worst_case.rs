//! Closed forms of the longest walk.

/// The longest walk without walk caches and nested TLB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorstCase {
    /// Table entries that are read: the bandwidth of a walk.
    pub references: u32,
    /// Sets of entries that are read at once, one set after the other: the depth of a walk.
    pub steps: u32,
}

impl WorstCase {
    /// A walk that reads one entry after the other.
    #[must_use]
    pub const fn sequential(references: u32) -> Self {
        Self { references, steps: references }
    }

    /// A radix walk of `guest` levels, where `host` further entries are read for the address of each level's entry and of the page:
    /// (g + 1)(h + 1) − 1.
    #[must_use]
    pub const fn two_dimensional(guest: u32, host: u32) -> Self {
        Self::sequential((guest + 1) * (host + 1) - 1)
    }
}
