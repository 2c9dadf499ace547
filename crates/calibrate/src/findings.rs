//! What is found: numbers with their spread, or why there are none.

use crate::caches::last_level::LastLevel;
use crate::caches::reuse::Reuse;
use crate::host::Host;
use crate::next_line::NextLine;
use crate::overlap::branches::BehindBranches;
use crate::pages::Pages;
use crate::spread::Spread;
use crate::staircase::{Capacity, Level, Point};

/// A number, or why it is not known.
pub type Finding<T> = Result<T, String>;

/// Everything that was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Findings {
    /// The machine, as its system describes it.
    pub host: Host,
    /// Why there are no huge pages; `None` if there are.
    pub no_huge_pages: Option<String>,
    /// Clock and width.
    pub pipeline: Pipeline,
    /// Data caches.
    pub caches: Caches,
    /// The data TLBs, for 4K pages.
    pub base_tlb: Tlb,
    /// The same for 2M pages.
    pub huge_tlb: Tlb,
    /// Whether a TLB holds a huge page in one entry. Under a hypervisor whose own pages are of 4K it does not.
    pub huge_entries: Finding<HugeEntries>,
    /// What walks to 4K pages cost.
    pub walks: Finding<Walks>,
    /// The same to 2M pages, or to their parts where no entry holds all of one.
    pub huge_walks: Finding<Walks>,
    /// Misses at the same time.
    pub overlap: Overlap,
    /// The last level of caches, with many misses at a time.
    pub last_level: Finding<LastLevel>,
    /// Whether it keeps lines that are used again.
    pub reuse: Finding<Reuse>,
    /// The work of prefetchers.
    pub prefetch: Finding<Prefetch>,
    /// Whether a miss brings the next line.
    pub next_line: Finding<NextLine>,
    /// Streams through memory.
    pub streams: Finding<Streams>,
    /// Loads behind branches.
    pub branches: Finding<BehindBranches>,
    /// What was measured by size or count.
    pub curves: Vec<Curve>,
}

/// Clock and width.
#[derive(Clone, PartialEq, Debug)]
pub struct Pipeline {
    /// Cycles of the core in a second, while it measures.
    pub clock_hz: Finding<Spread>,
    /// Ticks of the time-stamp counter in a second.
    pub timestamp_hz: Finding<Spread>,
    /// Independent additions in a cycle.
    pub width: Finding<Spread>,
}

/// Data caches.
#[derive(Clone, PartialEq, Debug)]
pub struct Caches {
    /// The levels, from the first on, as many as there are.
    pub levels: Finding<Vec<Cache>>,
    /// Nanoseconds of a load from memory.
    pub memory: Finding<Spread>,
}

/// A data cache.
#[derive(Clone, PartialEq, Debug)]
pub struct Cache {
    /// Bytes.
    pub size: Capacity,
    /// Nanoseconds of a load.
    pub latency: Spread,
    /// Ways.
    pub ways: Finding<Capacity>,
    /// Nanoseconds of a load in steps before its own, which are slopes of the cache above.
    pub slopes_above: Vec<Spread>,
    /// The same in steps behind its own, which are slower parts of it.
    pub slower_parts: Vec<Spread>,
}

/// Two levels of data TLB, for pages of one size.
#[derive(Clone, PartialEq, Debug)]
pub struct Tlb {
    /// The first level.
    pub first: Finding<TlbLevel>,
    /// The second level.
    pub second: Finding<TlbLevel>,
    /// Nanoseconds that a hit of the second level takes more than one of the first.
    pub second_hit: Finding<Spread>,
}

/// A level of a TLB.
#[derive(Clone, PartialEq, Debug)]
pub struct TlbLevel {
    /// Entries.
    pub entries: Capacity,
    /// Ways.
    pub ways: Finding<Capacity>,
}

/// Which pages a chase goes over, with one line of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Translated {
    /// 4K pages.
    Base,
    /// 2M pages.
    Huge,
    /// Each 4K of 2M pages.
    BaseOfHuge,
}

/// How TLBs hold huge pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HugeEntries {
    /// One entry holds one.
    Whole,
    /// An entry holds 4K of one: the hypervisor maps its memory by 4K pages.
    Splintered,
}

/// What walks cost, in nanoseconds, at a size well beyond the reach of the TLBs.
#[derive(Clone, PartialEq, Debug)]
pub struct Walks {
    /// Where each access waits for the one before it.
    pub dependent: Spread,
    /// An access's part where [`TOGETHER`] chases do not wait for each other.
    pub independent: Spread,
}

/// Chases at the same time, where walks are to overlap.
pub const TOGETHER: usize = 8;

/// How many misses are outstanding at once.
#[derive(Clone, PartialEq, Debug)]
pub struct Overlap {
    /// Misses that memory serves.
    pub memory: Finding<Spread>,
    /// Misses of the first level that the last-level cache serves.
    pub last_level: Finding<Spread>,
}

/// Nanoseconds of a load from memory, by the order in which a page's lines come. Each load waits for the one before it.
#[derive(Clone, PartialEq, Debug)]
pub struct Prefetch {
    /// Ascending.
    pub ascending: Spread,
    /// Random.
    pub random: Spread,
}

/// Nanoseconds of a line of a stream through memory, by the order in which pages of 4K come. No load waits for another.
#[derive(Clone, PartialEq, Debug)]
pub struct Streams {
    /// Ascending.
    pub ascending: Spread,
    /// Random, within huge pages.
    pub random: Spread,
}

impl Streams {
    /// The most that a line of ascending pages may take, as a share of one of random pages, where prefetchers cross into the next page. If they do not,
    /// the two take the same.
    const CROSSES: f64 = 0.75;

    /// Whether prefetchers cross from a page of 4K into the next one.
    #[must_use]
    pub fn cross_pages(&self) -> bool {
        self.ascending.median <= Self::CROSSES * self.random.median
    }
}

/// Which measurement a curve is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CurveKind {
    /// Latency by bytes.
    Caches,
    /// Latency by lines that share their set.
    Ways {
        /// Level, from 1 on.
        level: u32,
    },
    /// What translation adds to an access, by pages.
    Reach(Translated),
    /// Latency by pages that share their set.
    TlbWays(Pages),
    /// Time of an access by chases at the same time, from memory.
    Memory,
    /// The same from the last-level cache.
    LastLevel,
    /// Time of an access by bytes, with many chases at the same time.
    LastLevelSize,
    /// Time of the line behind one that missed, by misses at the same time.
    NextLine,
}

/// What was measured by size or count, with the levels that were found in it.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Which one.
    pub kind: CurveKind,
    /// Nanoseconds by size.
    pub points: Vec<Point>,
    /// Levels.
    pub levels: Vec<Level>,
}
