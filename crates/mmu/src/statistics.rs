//! What an MMU counts, all of it on the miss path.

/// A counter that statistics hold: a number, or one for each level.
trait Counter: Copy {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
}

impl Counter for u64 {
    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn minus(self, other: Self) -> Self {
        self - other
    }
}

impl<const N: usize> Counter for [u64; N] {
    fn plus(self, other: Self) -> Self {
        core::array::from_fn(|level| self[level] + other[level])
    }

    fn minus(self, other: Self) -> Self {
        core::array::from_fn(|level| self[level] - other[level])
    }
}

/// Counts of what most MMUs do not have are left out where there is nothing.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Whether all counts are zero: such lists are left out, too.
fn are_zero<const N: usize>(counts: &[u64; N]) -> bool {
    *counts == [0; N]
}

/// Defines the statistics, and what adds and subtracts them, from one list.
macro_rules! statistics {
    ($($(#[$about:meta])* $name:ident: $counter:ty,)*) => {
        /// Counts of one MMU since it was made or its statistics were reset.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
        pub struct MmuStatistics {
            $($(#[$about])* pub $name: $counter,)*
            /// Most PTEs read by one walk, both dimensions together.
            pub max_refs: u64,
            /// Most steps of one walk.
            pub max_steps: u64,
        }

        impl MmuStatistics {
            /// Adds what another MMU counted; of maxima it takes the greater.
            pub fn add(&mut self, other: &Self) {
                $(self.$name = self.$name.plus(other.$name);)*
                self.max_refs = self.max_refs.max(other.max_refs);
                self.max_steps = self.max_steps.max(other.max_steps);
            }

            /// What was counted since `earlier`, a copy of the same MMU's statistics with no reset in between. A maximum has no
            /// difference: those of `self` remain, which [`Mmu::restart_maximum`](crate::Mmu::restart_maximum) has begun with
            /// `earlier`.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                Self {
                    $($name: self.$name.minus(earlier.$name),)*
                    max_refs: self.max_refs,
                    max_steps: self.max_steps,
                }
            }
        }
    };
}

statistics! {
    /// Loads and stores that no L1D entry answers.
    l1d_misses: u64,
    /// Fetches that no L1I entry answers.
    l1i_misses: u64,
    /// L1 misses that the L2 answers.
    l2_hits: u64,
    /// L1 misses that the L2 does not answer.
    l2_misses: u64,
    /// L2 misses that a level behind the L2 answers ([`OuterTlb`](crate::OuterTlb)).
    #[serde(default, skip_serializing_if = "is_zero")]
    outer_hits: u64,
    /// L2 misses that such levels do not answer; 0 without one.
    #[serde(default, skip_serializing_if = "is_zero")]
    outer_misses: u64,
    /// References that such levels made to answer, or not to.
    #[serde(default, skip_serializing_if = "is_zero")]
    outer_refs: u64,
    /// L1 misses that segments answer without a walk: the guest's, and where there is a second stage the hypervisor's. The L2 is not asked.
    segment_hits: u64,
    /// Walks in which the guest's segment took the place of the guest's tables.
    guest_segment_hits: u64,
    /// Translations of guest physical addresses in walks, of tables and of pages, by the hypervisor's segment.
    hypervisor_segment_hits: u64,
    /// Those of them that are of the page that the walk is for.
    hypervisor_segment_pages: u64,
    /// Lookups of a segment whose page is in its escape filter, rightly or not: paging translates.
    escape_hits: u64,
    /// L1 misses that the L2 answers, by the segments that would hold them: see [`MissClass`](crate::MissClass); zeroes unless classification is on.
    classified_hits: [u64; 4],
    /// L1 misses that the L2 does not answer, by the segments that would hold them; zeroes unless classification is on.
    classified_misses: [u64; 4],
    /// Walks begun, those that fault among them.
    walks: u64,
    /// Walks under agile paging that found a page, by how many tables of the guest they read nested: none where the shadow table led to the
    /// page. Index 6 is walks that were nested from the guest's root on.
    #[serde(default, skip_serializing_if = "are_zero")]
    agile_walks: [u64; 7],
    /// Walks made by the refill routine in the hardware mode: all of them, or none.
    refills: u64,
    /// Instructions of that routine.
    refill_instructions: u64,
    /// PTEs of the guest's tables read by walks.
    guest_refs: u64,
    /// PTEs of the second stage's tables read by walks.
    host_refs: u64,
    /// PTEs read at once with an earlier one of the same step: where each step is one reference there are none.
    joint_refs: u64,
    /// Walks of the guest's tables that began below the root, by the level of the non-leaf PTE that was cached;
    /// index 0 is level 1.
    guest_cache_hits: [u64; 4],
    /// Walks of the second stage's tables that began below the root.
    host_cache_hits: [u64; 4],
    /// Second-stage translations that the nested TLB answers.
    nested_tlb_hits: u64,
    /// Second-stage translations that the nested TLB does not answer; 0 without one.
    nested_tlb_misses: u64,
    /// PTEs of the guest's tables whose A or D bit a walk set.
    guest_updates: u64,
    /// PTEs of the second stage's tables whose A or D bit a walk set.
    host_updates: u64,
    /// `sfence.vma` executed.
    vma_fences: u64,
    /// `hfence.vvma` executed.
    vvma_fences: u64,
    /// `hfence.gvma` executed.
    gvma_fences: u64,
}

/// Counts when a walk began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    refs: u64,
    joint_refs: u64,
}

impl MmuStatistics {
    /// PTEs read by walks in both dimensions.
    #[inline(always)]
    #[must_use]
    pub const fn refs(&self) -> u64 {
        self.guest_refs + self.host_refs
    }

    /// Steps of walks in both dimensions: sets of PTEs that are read at once. References are what a walk costs in bandwidth, steps what it
    /// costs in depth.
    #[inline(always)]
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.refs() - self.joint_refs
    }

    /// What was counted before a walk, to tell what is the walk's own.
    #[inline(always)]
    pub(crate) const fn mark(&self) -> Mark {
        Mark { refs: self.refs(), joint_refs: self.joint_refs }
    }

    /// Takes a walk that began at `mark` into the maxima.
    #[inline(always)]
    pub(crate) fn take_maxima(&mut self, mark: Mark) {
        let refs = self.refs() - mark.refs;
        // No walk has more steps than references: this is all that most walks compare.
        if refs > self.max_steps {
            self.max_refs = self.max_refs.max(refs);
            self.max_steps = self.max_steps.max(refs - (self.joint_refs - mark.joint_refs));
        }
    }
}
