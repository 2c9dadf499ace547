//! What is charged: counters of translation, as differences.

use crate::caches::CacheStatistics;
use crate::cores::CoreStatistics;
use crate::results::statistics::Statistics;
use hypervisor::{ExitCounts, ExitReason};
use mmu::MmuStatistics;
use types::Cycles;

macro_rules! counters {
    ($($(#[$about:meta])* $name:ident = $text:literal,)*) => {
        /// A counter that a profile charges.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Counter {
            $($(#[$about])* $name,)*
        }

        impl Counter {
            /// Every counter, in order.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$name),*];

            /// The name in reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

counters! {
    /// Loads and stores that no L1D entry answers.
    L1dMisses = "l1d_misses",
    /// Fetches that no L1I entry answers.
    L1iMisses = "l1i_misses",
    /// L1 misses that the L2 answers.
    L2Hits = "l2_hits",
    /// L1 misses that the L2 does not answer.
    L2Misses = "l2_misses",
    /// References of TLB levels behind the L2.
    OuterRefs = "outer_refs",
    /// Walks.
    Walks = "walks",
    /// Entries of the guest's tables that walks read.
    GuestRefs = "guest_refs",
    /// Entries of the second stage's tables that walks read.
    HostRefs = "host_refs",
    /// Steps of walks: sets of entries that are read at once.
    Steps = "steps",
    /// L1 misses that segments answer without a walk.
    SegmentHits = "segment_hits",
    /// Walks in which the guest's segment took the place of its tables.
    GuestSegmentHits = "guest_segment_hits",
    /// Translations in walks by the hypervisor's segment.
    HypervisorSegmentHits = "hypervisor_segment_hits",
    /// Addresses that an escape filter kept out of a segment.
    EscapeHits = "escape_hits",
    /// Refills by software.
    Refills = "refills",
    /// Instructions of these refills.
    RefillInstructions = "refill_instructions",
    /// Exits to the hypervisor, for whatever reason.
    Exits = "exits",
    /// Exits of accesses that the nested table refuses.
    NestedFaults = "nested_faults",
    /// Exits of accesses that a shadow table refuses.
    ShadowFaults = "shadow_faults",
    /// Exits of stores to write-protected tables of the guest.
    TableWrites = "table_writes",
    /// Exits of guests with shadow tables that write `satp` or execute `sfence.vma`.
    ShadowSwitches = "shadow_switches",
    /// Entries that the hypervisor made in shadow tables.
    ShadowFills = "shadow_fills",
    /// Cycles in the hypervisor: exits, entries and its work.
    HypervisorCycles = "hypervisor_cycles",
    /// Cycles of the table entries that walks read, where caches are modelled.
    WalkCycles = "walk_cycles",
    /// Ticks that an out-of-order core is later for translation. They can be negative.
    CoreTicks = "core_ticks",
}

/// How many counters there are.
pub(super) const COUNTERS: usize = Counter::ALL.len();

/// The counter that belongs to a virtual machine, and not to a processor.
pub(crate) const SHADOW_FILLS: usize = Counter::ShadowFills as usize;

/// The counters of time that differ from charge to charge.
pub(super) const VARYING: [Counter; 2] = [Counter::WalkCycles, Counter::CoreTicks];

/// A value of each counter, or a difference of each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Counters([i64; COUNTERS]);

impl Counters {
    /// What was counted of a processor, without what belongs to its guest.
    #[inline]
    pub(crate) fn of(
        mmu: &MmuStatistics,
        exits: &ExitCounts,
        hypervisor: Cycles,
        caches: Option<&CacheStatistics>,
        core: Option<&CoreStatistics>,
    ) -> Self {
        let satp_and_fences = exits.of(ExitReason::Satp) + exits.of(ExitReason::Fence);
        let walk_time = match core {
            // A core has its own time of walks.
            Some(_) => 0,
            None => caches.map_or(0, |caches| caches.walk_time.0),
        };
        let counts = [
            mmu.l1d_misses,
            mmu.l1i_misses,
            mmu.l2_hits,
            mmu.l2_misses,
            mmu.outer_refs,
            mmu.walks,
            mmu.guest_refs,
            mmu.host_refs,
            mmu.steps(),
            mmu.segment_hits,
            mmu.guest_segment_hits,
            mmu.hypervisor_segment_hits,
            mmu.escape_hits,
            mmu.refills,
            mmu.refill_instructions,
            exits.total(),
            exits.of(ExitReason::NestedFault),
            exits.of(ExitReason::ShadowFault),
            exits.of(ExitReason::TableWrite),
            satp_and_fences,
            0,
            hypervisor.0,
            walk_time,
            0,
        ];
        let mut counters = Self(counts.map(|count| count as i64));
        counters.0[Counter::CoreTicks as usize] = core.map_or(0, |core| core.translation);
        counters
    }

    /// What a run counted: the totals of its profile.
    #[must_use]
    pub fn of_statistics(statistics: &Statistics) -> Self {
        let Statistics { mmu, exits, caches, core, shadow, time, .. } = statistics;
        let mut counters = Self::of(mmu, exits, time.hypervisor, caches.as_ref(), core.as_ref());
        counters.0[SHADOW_FILLS] = shadow.as_ref().map_or(0, |shadow| shadow.validations as i64);
        counters
    }

    /// The value of a counter.
    #[must_use]
    pub const fn get(&self, counter: Counter) -> i64 {
        self.0[counter as usize]
    }

    /// Every counter with its value, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, i64)> + '_ {
        Counter::ALL.into_iter().zip(self.0)
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0 == [0; COUNTERS]
    }

    /// The value of each, in order.
    #[inline]
    pub(super) fn words(&self) -> &[i64; COUNTERS] {
        &self.0
    }

    /// Adds what was counted elsewhere.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.add_times(1, other);
    }

    /// Adds what was counted elsewhere as often as that.
    #[inline]
    pub(super) fn add_times(&mut self, times: i64, other: &Self) {
        for (sum, other) in self.0.iter_mut().zip(other.0) {
            *sum += times * other;
        }
    }

    /// Takes over later values. Returns what was counted since.
    #[inline]
    pub(crate) fn advance(&mut self, later: &Self) -> Self {
        let mut difference = *later;
        for (difference, value) in difference.0.iter_mut().zip(&mut self.0) {
            let later = *difference;
            *difference -= *value;
            *value = later;
        }
        difference
    }

    /// Sets one counter.
    #[inline]
    pub(crate) fn set(&mut self, index: usize, value: i64) {
        self.0[index] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counter_has_its_place() {
        let mmu = MmuStatistics { l1d_misses: 1, walks: 2, guest_refs: 5, host_refs: 7, ..MmuStatistics::default() };
        let mut exits = ExitCounts::default();
        for reason in [ExitReason::NestedFault, ExitReason::Satp, ExitReason::Fence] {
            exits.count(reason);
        }
        let caches = CacheStatistics { walk_time: Cycles(11), ..CacheStatistics::default() };
        let counted = Counters::of(&mmu, &exits, Cycles(13), Some(&caches), None);
        for (counter, value) in counted.iter() {
            let expected = match counter {
                Counter::L1dMisses | Counter::NestedFaults => 1,
                Counter::Walks | Counter::ShadowSwitches => 2,
                Counter::GuestRefs => 5,
                Counter::HostRefs => 7,
                Counter::Steps => 12,
                Counter::Exits => 3,
                Counter::WalkCycles => 11,
                Counter::HypervisorCycles => 13,
                _ => 0,
            };
            assert_eq!(value, expected, "{counter:?}");
        }
        let core = CoreStatistics { translation: -17, ..CoreStatistics::default() };
        let counted = Counters::of(&mmu, &exits, Cycles(13), Some(&caches), Some(&core));
        assert_eq!((counted.get(Counter::WalkCycles), counted.get(Counter::CoreTicks)), (0, -17));
    }

    #[test]
    fn names_are_distinct() {
        let mut names = Counter::ALL.map(Counter::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
