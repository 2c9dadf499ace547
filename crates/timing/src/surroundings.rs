//! What is around a core.

/// What a core finds around it: how long a line or a translation takes from each place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Surroundings {
    /// Cycles from the use of a line to its data, by the [`Level`](crate::Level) that has it.
    pub latencies: [u64; 4],
    /// Cycles from the lookup in the second level of TLBs to the translation.
    pub l2_tlb: u64,
    /// Where a walker looks for a table entry first.
    pub walker: WalkerPort,
    /// Lines of a 4 KiB page.
    pub lines_of_page: u64,
}

/// Where a walker looks for a table entry first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WalkerPort {
    /// In the L1D: what misses there takes one of its miss registers.
    L1d,
    /// In the L2.
    L2,
}
