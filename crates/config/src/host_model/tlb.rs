//! `[tlb]` of a host model: translation hardware of a pCPU.

use crate::units::{PageSizeName, ReplacementName};
use keys::{key, model};
use memory::registry::Granularities;
use mmu::{Groups, TlbArray, WalkCacheSizes, WalkCaches};
use serde::{Deserialize, Serialize};
use types::PageSize;

model! {
    /// `[tlb]`.
    pub struct TlbModel {
        /// First level, data.
        pub l1d: Vec<ArrayModel>,
        /// First level, instructions.
        pub l1i: Vec<ArrayModel>,
        /// Second level, shared.
        pub l2: Vec<ArrayModel>,
        /// Page-walk caches.
        pub walk_caches: WalkCacheModel,
        pub nested_tlb: u32 => key("entries of the nested TLB, fully associative; 0 for none").unit("entries").virtual_only(),
        #[serde(default)]
        pub groups: GroupsName => key(
            "groups of base pages that one entry holds, in the second stage: `svnapot`, `granularity-hints` (an Alpha's), `none`"
        ).without("`svnapot`"),
    }
}

model! {
    /// One array of a TLB level.
    pub struct ArrayModel {
        pub sizes: Vec<PageSizeName> => key("sizes of the pages that an array of a TLB level holds"),
        pub sets: u32 => key("sets of an array of a TLB level, a power of two; 1 for full associativity").unit("sets"),
        pub ways: u32 => key("ways of an array of a TLB level").unit("ways"),
        #[serde(default, skip_serializing_if = "ReplacementName::is_default")]
        pub replacement: ReplacementName => key(
            "which page of a full set makes room in an array of a TLB level: `lru`, where none is given, `tree-plru`, `fifo`, \
             `random`, `srrip` or `drrip`, as `mmu.replacement` says"
        ).without("`lru`"),
    }
}

model! {
    /// Entries of the page-walk caches, from the level above the leaf tables upwards.
    #[derive(Copy)]
    pub struct WalkCacheModel {
        pub guest: [u32; 4] => key(
            "entries of the page-walk caches of the guest's tables, from the level above the leaf tables upwards"
        ).unit("entries"),
        pub host: [u32; 4] => key("entries of the page-walk caches of the second stage's tables").unit("entries").virtual_only(),
    }
}

/// `tlb.groups`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupsName {
    /// 16 pages (Svnapot).
    #[default]
    Svnapot,
    /// 8, 64 or 512 pages, as an Alpha's granularity hints.
    GranularityHints,
    /// None.
    None,
}

impl GroupsName {
    /// As the MMU takes them.
    #[must_use]
    pub const fn groups(self) -> Groups {
        match self {
            Self::Svnapot => Groups::Svnapot,
            Self::GranularityHints => Groups::GranularityHints,
            Self::None => Groups::None,
        }
    }

    /// The sizes that contiguous memory is mapped by.
    #[must_use]
    pub const fn granularities(self) -> Granularities {
        match self {
            Self::Svnapot => Granularities::RISCV,
            Self::GranularityHints => Granularities::HINTS,
            Self::None => Granularities::SUPERPAGES,
        }
    }
}

impl ArrayModel {
    /// As the MMU takes it.
    #[must_use]
    pub fn array(&self) -> TlbArray {
        let sizes: Vec<PageSize> = self.sizes.iter().map(|size| size.0).collect();
        TlbArray::new(&sizes, self.sets, self.ways).with_replacement(self.replacement.0)
    }
}

impl WalkCacheModel {
    /// None in either dimension.
    pub const OFF: Self = Self { guest: [0; 4], host: [0; 4] };

    /// As the MMU takes it.
    #[must_use]
    pub const fn sizes(&self) -> WalkCaches {
        WalkCaches { guest: WalkCacheSizes(self.guest), host: WalkCacheSizes(self.host) }
    }
}
