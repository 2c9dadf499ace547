//! What a user chooses of an MMU, and what is refused.

use crate::refill::Refill;
use crate::replacement::{ReplacementPolicy, Shape};
use types::PageSize;

/// One array of a TLB level: `sets` × `ways` entries that hold pages of `sizes`.
///
/// A level is a list of arrays: one per page size as on x86, or a single one that takes every size. A page whose size
/// no array of the level takes is kept at the largest smaller size that one takes (it is *fractured*), and not at all
/// where there is none. The set is the low bits of the page number at the size that is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlbArray {
    /// Page sizes that the array takes; at least one, each in one array of a level only.
    pub sizes: Vec<PageSize>,
    /// Sets, a power of two; 1 is fully associative.
    pub sets: u32,
    /// Ways, at least one.
    pub ways: u32,
    /// Which page of a full set makes room.
    pub replacement: ReplacementPolicy,
}

impl TlbArray {
    /// An array of `sets` × `ways` entries for pages of `sizes`, with LRU.
    #[must_use]
    pub fn new(sizes: &[PageSize], sets: u32, ways: u32) -> Self {
        Self { sizes: sizes.to_vec(), sets, ways, replacement: ReplacementPolicy::LRU }
    }

    /// The same array with another replacement policy.
    #[must_use]
    pub fn with_replacement(self, replacement: ReplacementPolicy) -> Self {
        Self { replacement, ..self }
    }

    /// Its sets and ways.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        Shape { sets: self.sets as usize, ways: self.ways as usize }
    }

    /// Entries of the array.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.sets as u64 * self.ways as u64
    }
}

/// Entries of one dimension's page-walk cache, by the table level whose non-leaf PTEs they hold. Each level is fully
/// associative with exact LRU; 0 entries is none.
///
/// Index 0 is level 1, whose PTEs point to last-level tables (x86's PDE cache), index 3 is level 4 (Sv57's root).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WalkCacheSizes(pub [u32; 4]);

impl WalkCacheSizes {
    /// No page-walk cache.
    pub const OFF: Self = Self([0; 4]);
    /// As on recent x86: 32 level-1 entries, and few above.
    pub const ON: Self = Self([32, 4, 2, 1]);
}

/// Page-walk caches of both dimensions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WalkCaches {
    /// Of the guest's tables, keyed by gVA prefix.
    pub guest: WalkCacheSizes,
    /// Of the second stage's tables, keyed by gPA prefix.
    pub host: WalkCacheSizes,
}

impl WalkCaches {
    /// None in either dimension.
    pub const OFF: Self = Self { guest: WalkCacheSizes::OFF, host: WalkCacheSizes::OFF };
    /// The usual ones in both dimensions.
    pub const ON: Self = Self { guest: WalkCacheSizes::ON, host: WalkCacheSizes::ON };
}

/// Who sets a leaf PTE's A and D bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdPolicy {
    /// The walker sets them (Svadu).
    Update,
    /// The walker faults where they are clear, and software sets them (Svade).
    Fault,
}

/// Which groups of base pages one TLB entry holds, if each of their leaves says so: the N bit, and in the page number the group's size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Groups {
    /// None: the N bit is reserved.
    None,
    /// Of 16 pages (RISC-V Unprivileged, Svnapot).
    #[default]
    Svnapot,
    /// Of 8, 64 or 512 pages, as the granularity hint of an Alpha's PTE (Alpha Architecture Reference Manual, "Page Table Entry"). Svnapot reserves the encodings: the lowest bit
    /// of the page number that is set is half of the group.
    GranularityHints,
}

impl Groups {
    /// Svnapot, or nothing.
    #[must_use]
    pub const fn of_svnapot(svnapot: bool) -> Self {
        if svnapot { Self::Svnapot } else { Self::None }
    }

    /// Whether translations of that size occur. Those between 4K and 2M are groups.
    #[must_use]
    pub fn occurs(self, size: PageSize) -> bool {
        match size {
            PageSize::Size64K => self == Self::Svnapot,
            PageSize::Size32K | PageSize::Size256K => self == Self::GranularityHints,
            PageSize::Size4K | PageSize::Size2M | PageSize::Size1G | PageSize::Size512G | PageSize::Size256T => true,
        }
    }

    /// The size of the group that a leaf of the last level with N and this page number is of; `None` where that is reserved.
    #[must_use]
    pub(crate) const fn size(self, page_number: u64) -> Option<PageSize> {
        match (self, page_number.trailing_zeros()) {
            (Self::Svnapot, 3) => Some(PageSize::Size64K),
            (Self::GranularityHints, 2) => Some(PageSize::Size32K),
            (Self::GranularityHints, 5) => Some(PageSize::Size256K),
            (Self::GranularityHints, 8) => Some(PageSize::Size2M),
            (Self::None | Self::Svnapot | Self::GranularityHints, _) => None,
        }
    }
}

/// Everything that is chosen of an MMU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MmuConfig {
    /// First-level TLB of fetches; some array takes 4K.
    pub l1i: Vec<TlbArray>,
    /// First-level TLB of loads and stores; some array takes 4K.
    pub l1d: Vec<TlbArray>,
    /// Second-level TLB, shared; may be empty.
    pub l2: Vec<TlbArray>,
    /// Page-walk caches.
    pub walk_caches: WalkCaches,
    /// Nested TLB (gPA page → hPA page), asked before each second-stage walk; `None` removes it.
    pub nested_tlb: Option<TlbArray>,
    /// Who refills the TLBs. A routine may have walk caches, as one has that reads the last level through the tables' own virtual mapping; a
    /// nested TLB is a walker's.
    pub refill: Refill,
    /// A/D bits of the guest's tables.
    pub first_stage_ad: AdPolicy,
    /// A/D bits of the second stage's tables.
    pub second_stage_ad: AdPolicy,
    /// Svnapot in the guest's tables: the N bit makes a 64K page; without it the bit is reserved.
    pub svnapot: bool,
    /// Groups in the second stage's tables.
    pub second_stage_groups: Groups,
}

impl Default for MmuConfig {
    /// As a server x86 of the 2010s: L1D 64 × 4K, 32 × 2M, 4 × 1G; L2 1536 × 4K or 2M in 12 ways, 16 × 1G.
    fn default() -> Self {
        use PageSize::{Size1G, Size2M, Size4K, Size64K, Size256T, Size512G};
        let huge = [Size1G, Size512G, Size256T];
        Self {
            l1i: vec![
                TlbArray::new(&[Size4K, Size64K], 16, 4),
                TlbArray::new(&[Size2M], 1, 8),
                TlbArray::new(&huge, 1, 4),
            ],
            l1d: vec![
                TlbArray::new(&[Size4K, Size64K], 16, 4),
                TlbArray::new(&[Size2M], 8, 4),
                TlbArray::new(&huge, 1, 4),
            ],
            l2: vec![TlbArray::new(&[Size4K, Size64K, Size2M], 128, 12), TlbArray::new(&huge, 1, 16)],
            walk_caches: WalkCaches::ON,
            nested_tlb: Some(TlbArray::new(&PageSize::ALL, 1, 32)),
            refill: Refill::Hardware,
            first_stage_ad: AdPolicy::Update,
            second_stage_ad: AdPolicy::Update,
            svnapot: true,
            second_stage_groups: Groups::Svnapot,
        }
    }
}

/// The part of a configuration that is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// `l1i`.
    L1i,
    /// `l1d`.
    L1d,
    /// `l2`.
    L2,
    /// A level behind the L2.
    L3,
    /// `nested_tlb`.
    NestedTlb,
    /// `walk_caches`.
    WalkCaches,
}

impl core::fmt::Display for Level {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::L1i => "l1i",
            Self::L1d => "l1d",
            Self::L2 => "l2",
            Self::L3 => "l3",
            Self::NestedTlb => "nested_tlb",
            Self::WalkCaches => "walk_caches",
        })
    }
}

/// Why a configuration is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// The number of sets is not a power of two.
    #[error("{level}: {sets} sets are not a power of two")]
    Sets {
        /// Where.
        level: Level,
        /// What was asked for.
        sets: u32,
    },
    /// An array without ways.
    #[error("{level}: an array needs at least one way")]
    NoWays {
        /// Where.
        level: Level,
    },
    /// An array that takes no page size.
    #[error("{level}: an array needs at least one page size")]
    NoSizes {
        /// Where.
        level: Level,
    },
    /// A page size that two arrays of a level (or one array twice) take.
    #[error("{level}: page size {size} is listed twice")]
    SizeTwice {
        /// Where.
        level: Level,
        /// The size.
        size: PageSize,
    },
    /// A level that must hold every page takes no 4K pages.
    #[error("{level}: no array holds 4K pages")]
    No4K {
        /// Where.
        level: Level,
    },
    /// A replacement policy that the level cannot have.
    #[error("{level}: replacement `{policy}` is for the L2 and the nested TLB: {reason}")]
    Replacement {
        /// Where.
        level: Level,
        /// The policy's name.
        policy: &'static str,
        /// Why not there.
        reason: &'static str,
    },
    /// A nested TLB, and no walker to ask it.
    #[error("nested_tlb: only a hardware walker uses a nested TLB, but software refills these TLBs")]
    NoWalker,
    /// More entries than the level can have.
    #[error("{level}: more than {limit} entries")]
    TooLarge {
        /// Where.
        level: Level,
        /// Most entries, counting each array's ways rounded up to a multiple of four.
        limit: u64,
    },
}

impl MmuConfig {
    /// Most entries of an L1: a slot is 16 bits.
    pub const L1_LIMIT: u64 = 1 << 16;
    /// Most entries of the other structures, so that no configuration exhausts the machine it runs on.
    pub const LIMIT: u64 = 1 << 22;

    /// Whether the configuration can be built.
    ///
    /// # Errors
    /// The first thing that cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        check_level(Level::L1i, &self.l1i, Self::L1_LIMIT)?;
        check_level(Level::L1d, &self.l1d, Self::L1_LIMIT)?;
        check_level(Level::L2, &self.l2, Self::LIMIT)?;
        check_level(Level::NestedTlb, self.nested_tlb.as_slice(), Self::LIMIT)?;
        for (level, arrays) in [(Level::L1i, &self.l1i), (Level::L1d, &self.l1d)] {
            if !arrays.iter().any(|array| array.sizes.contains(&PageSize::Size4K)) {
                return Err(ConfigError::No4K { level });
            }
            for facts in arrays.iter().map(|array| array.replacement.facts()) {
                if let Some(reason) = facts.refused_at_l1 {
                    return Err(ConfigError::Replacement { level, policy: facts.name, reason });
                }
            }
        }
        if self.nested_tlb.is_some() && self.refill != Refill::Hardware {
            return Err(ConfigError::NoWalker);
        }
        let WalkCaches { guest, host } = self.walk_caches;
        if guest.0.into_iter().chain(host.0).any(|entries| u64::from(entries) > Self::LIMIT) {
            return Err(ConfigError::TooLarge { level: Level::WalkCaches, limit: Self::LIMIT });
        }
        Ok(())
    }
}

pub(crate) fn check_level(level: Level, arrays: &[TlbArray], limit: u64) -> Result<(), ConfigError> {
    let mut seen = Vec::new();
    let mut entries = 0u64;
    for array in arrays {
        if !array.sets.is_power_of_two() {
            return Err(ConfigError::Sets { level, sets: array.sets });
        }
        if array.ways == 0 {
            return Err(ConfigError::NoWays { level });
        }
        if array.sizes.is_empty() {
            return Err(ConfigError::NoSizes { level });
        }
        for &size in &array.sizes {
            if seen.contains(&size) {
                return Err(ConfigError::SizeTwice { level, size });
            }
            seen.push(size);
        }
        entries = entries.saturating_add(u64::from(array.sets) * u64::from(array.ways).next_multiple_of(4));
        if entries > limit {
            return Err(ConfigError::TooLarge { level, limit });
        }
    }
    Ok(())
}
