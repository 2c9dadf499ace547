//! Recorded walks: one of a guest's, at the end of its region of interest, with what walk caches and nested TLB then hold and without.
//!
//! The page is one that the processor works on: that in the middle of those that its L1D holds for the address space, by address, which mostly
//! is one of the workload's largest array. A recording changes nothing, neither memory nor caches nor counts.

use mmu::WalkRecord;

/// The same page walked to twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedWalk {
    /// With nothing remembered: the longest walk to the page.
    pub whole: WalkRecord,
    /// With what earlier walks left in the walk caches and the nested TLB.
    pub cached: WalkRecord,
}
