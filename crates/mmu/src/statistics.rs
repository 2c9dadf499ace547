//! What an MMU counts, all of it on the miss path.

/// Counts of one MMU since it was made or its statistics were reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MmuStatistics {
    /// Loads and stores that no L1D entry answers.
    pub l1d_misses: u64,
    /// Fetches that no L1I entry answers.
    pub l1i_misses: u64,
    /// L1 misses that the L2 answers.
    pub l2_hits: u64,
    /// L1 misses that the L2 does not answer.
    pub l2_misses: u64,
    /// Walks begun, those that fault among them.
    pub walks: u64,
    /// Walks made by the refill routine in the hardware mode: all of them, or none.
    pub refills: u64,
    /// Instructions of that routine.
    pub refill_instructions: u64,
    /// PTEs of the guest's tables read by walks.
    pub guest_refs: u64,
    /// PTEs of the second stage's tables read by walks.
    pub host_refs: u64,
    /// Most PTEs read by one walk, both dimensions together.
    pub max_refs: u64,
    /// Walks of the guest's tables that began below the root, by the level of the non-leaf PTE that was cached;
    /// index 0 is level 1.
    pub guest_cache_hits: [u64; 4],
    /// Walks of the second stage's tables that began below the root.
    pub host_cache_hits: [u64; 4],
    /// Second-stage translations that the nested TLB answers.
    pub nested_tlb_hits: u64,
    /// Second-stage translations that the nested TLB does not answer; 0 without one.
    pub nested_tlb_misses: u64,
    /// PTEs of the guest's tables whose A or D bit a walk set.
    pub guest_updates: u64,
    /// PTEs of the second stage's tables whose A or D bit a walk set.
    pub host_updates: u64,
    /// `sfence.vma` executed.
    pub vma_fences: u64,
    /// `hfence.vvma` executed.
    pub vvma_fences: u64,
    /// `hfence.gvma` executed.
    pub gvma_fences: u64,
}

impl MmuStatistics {
    /// PTEs read by walks in both dimensions.
    #[must_use]
    pub const fn refs(&self) -> u64 {
        self.guest_refs + self.host_refs
    }

    /// Adds what another MMU counted; `max_refs` becomes the greater.
    pub fn add(&mut self, other: &Self) {
        let levels = |sum: &mut [u64; 4], other: &[u64; 4]| {
            sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
        };
        self.l1d_misses += other.l1d_misses;
        self.l1i_misses += other.l1i_misses;
        self.l2_hits += other.l2_hits;
        self.l2_misses += other.l2_misses;
        self.walks += other.walks;
        self.refills += other.refills;
        self.refill_instructions += other.refill_instructions;
        self.guest_refs += other.guest_refs;
        self.host_refs += other.host_refs;
        self.max_refs = self.max_refs.max(other.max_refs);
        levels(&mut self.guest_cache_hits, &other.guest_cache_hits);
        levels(&mut self.host_cache_hits, &other.host_cache_hits);
        self.nested_tlb_hits += other.nested_tlb_hits;
        self.nested_tlb_misses += other.nested_tlb_misses;
        self.guest_updates += other.guest_updates;
        self.host_updates += other.host_updates;
        self.vma_fences += other.vma_fences;
        self.vvma_fences += other.vvma_fences;
        self.gvma_fences += other.gvma_fences;
    }

    /// What was counted since `earlier`, a copy of the same MMU's statistics with no reset in between. A maximum has no
    /// difference: `max_refs` remains that of `self`, which [`Mmu::restart_maximum`](crate::Mmu::restart_maximum) has begun with `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let levels = |now: [u64; 4], then: [u64; 4]| core::array::from_fn(|level| now[level] - then[level]);
        Self {
            l1d_misses: self.l1d_misses - earlier.l1d_misses,
            l1i_misses: self.l1i_misses - earlier.l1i_misses,
            l2_hits: self.l2_hits - earlier.l2_hits,
            l2_misses: self.l2_misses - earlier.l2_misses,
            walks: self.walks - earlier.walks,
            refills: self.refills - earlier.refills,
            refill_instructions: self.refill_instructions - earlier.refill_instructions,
            guest_refs: self.guest_refs - earlier.guest_refs,
            host_refs: self.host_refs - earlier.host_refs,
            max_refs: self.max_refs,
            guest_cache_hits: levels(self.guest_cache_hits, earlier.guest_cache_hits),
            host_cache_hits: levels(self.host_cache_hits, earlier.host_cache_hits),
            nested_tlb_hits: self.nested_tlb_hits - earlier.nested_tlb_hits,
            nested_tlb_misses: self.nested_tlb_misses - earlier.nested_tlb_misses,
            guest_updates: self.guest_updates - earlier.guest_updates,
            host_updates: self.host_updates - earlier.host_updates,
            vma_fences: self.vma_fences - earlier.vma_fences,
            vvma_fences: self.vvma_fences - earlier.vvma_fences,
            gvma_fences: self.gvma_fences - earlier.gvma_fences,
        }
    }
}
