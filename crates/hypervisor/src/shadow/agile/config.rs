//! What is chosen of agile paging.

/// How an address space begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// With walks that are nested from the guest's root on: a short process has no shadow table. It gets one at the end of the first interval that it has
    /// lived through.
    Nested,
    /// With a shadow table.
    Shadow,
}

/// Which nested pages become shadowed again at the end of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Back {
    /// None.
    Never,
    /// All of them.
    Reset,
    /// Those that were not stored to in the interval, by the dirty bits of the nested table.
    Dirty,
}

/// Who sets A and D bits where a shadow entry lacks them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatusUpdates {
    /// The hypervisor, at an exit.
    Exit,
    /// Hardware, in all three tables, by a nested walk.
    Hardware,
}

/// Everything that is chosen of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgileConfig {
    /// Stores to a page of the guest's tables in one interval that make it nested.
    pub threshold: u32,
    /// How long an interval is, in microseconds of guest time; 0: the first never ends.
    pub interval_us: u64,
    /// How address spaces begin.
    pub start: Start,
    /// How pages become shadowed again.
    pub back: Back,
    /// Entries of a processor's cache of shadow roots by guest roots; a change of address space that hits takes no exit.
    pub root_cache: usize,
    /// Who sets status bits.
    pub status: StatusUpdates,
}
