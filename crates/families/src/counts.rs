//! What is counted of a system.

use crate::tables::POINTERS;
use mmu::MmuStatistics;

/// What differs between the systems of a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Loads and stores that no L1D entry answers.
    pub l1d_misses: u64,
    /// Fetches that no L1I entry answers.
    pub l1i_misses: u64,
    /// L1 misses that the L2 does not answer, each of which is a walk.
    pub walks: u64,
    /// Entries of the guest's tables that walks read.
    pub guest_refs: u64,
    /// Walks that began below the root, by the level of the pointer that was cached − 1.
    pub guest_cache_hits: [u64; POINTERS],
    /// The most entries that one walk read.
    pub max_refs: u64,
}

impl Counts {
    /// What was counted since `earlier`. The maximum was begun again then.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            l1d_misses: self.l1d_misses - earlier.l1d_misses,
            l1i_misses: self.l1i_misses - earlier.l1i_misses,
            walks: self.walks - earlier.walks,
            guest_refs: self.guest_refs - earlier.guest_refs,
            guest_cache_hits: core::array::from_fn(|level| {
                self.guest_cache_hits[level] - earlier.guest_cache_hits[level]
            }),
            max_refs: self.max_refs,
        }
    }

    /// Adds what was counted at another time.
    pub(crate) fn add(&mut self, other: &Self) {
        self.l1d_misses += other.l1d_misses;
        self.l1i_misses += other.l1i_misses;
        self.walks += other.walks;
        self.guest_refs += other.guest_refs;
        self.guest_cache_hits.iter_mut().zip(other.guest_cache_hits).for_each(|(sum, count)| *sum += count);
        self.max_refs = self.max_refs.max(other.max_refs);
    }

    /// The statistics of a machine that has counted this, where another one of the same pass has counted `of`: what is not named here is the
    /// same for all of them.
    #[must_use]
    pub const fn statistics(&self, of: &MmuStatistics) -> MmuStatistics {
        MmuStatistics {
            l1d_misses: self.l1d_misses,
            l1i_misses: self.l1i_misses,
            l2_hits: self.l1d_misses + self.l1i_misses - self.walks,
            l2_misses: self.walks,
            walks: self.walks,
            guest_refs: self.guest_refs,
            guest_cache_hits: self.guest_cache_hits,
            max_refs: self.max_refs,
            max_steps: self.max_refs,
            ..*of
        }
    }
}
