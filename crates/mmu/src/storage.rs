//! How many bits of storage the structures of an MMU have.
//!
//! An entry has what a lookup compares, what it returns, and no more. Widths are those of the RISC-V Privileged specification 1.13:
//!
//! | field | bits | where it is defined |
//! |---|---|---|
//! | address of the tag | 39, 48 or 57 of a gVA; 41, 50 or 59 of a gPA | Sv39, Sv48, Sv57 (12.4 to 12.6); Sv39x4, Sv48x4, Sv57x4 (19.5) |
//! | ASID | 16 | `satp` (12.1.11) |
//! | VMID, of a virtual machine only | 14 | `hgatp` (19.2.10) |
//! | physical page number | 44 | `satp`, `hgatp` and page table entries: physical addresses have 56 bits |
//! | V R W X U G A D | 8 | page table entries (12.4.1) |
//!
//! ```text
//! entry of a TLB     address - log2(smallest page) - log2(sets)  +  ASID + VMID  +  56 - log2(smallest page)  +  8  +  ceil(log2(page sizes))
//! of the nested TLB  the same, with a gPA in place of a gVA, and without ASID
//! of a walk cache    address - 12 - 9 * level  +  ASID + VMID  +  44  +  V, and in the first dimension G
//! array              sets * (ways * entry + replacement state of a set)
//! ```
//!
//! What is assumed, since no specification says it: an array that holds pages of several sizes keeps the tag and the page number of the smallest, and the size in as
//! few bits as distinguish them; a size that no page of the machine has is not built, nor is a level of a walk cache that no table has; all bits of an ASID and
//! of a VMID are implemented; [`PolicyFacts::state_bits`](crate::PolicyFacts) is the state of a set's replacement. Not counted are parity, comparators, memory
//! types (Svpbmt), segment registers with their escape filters, and levels behind the L2.

use crate::config::{Groups, MmuConfig, TlbArray, WalkCacheSizes};
use crate::replacement::ReplacementPolicy;
use types::{PageSize, PagingMode, SecondStageMode};

const ASID_BITS: u32 = 16;
const VMID_BITS: u32 = 14;
const PHYSICAL_ADDRESS_BITS: u32 = 56;
const PAGE_NUMBER_BITS: u32 = 44;
/// V R W X U G A D.
const LEAF_FLAGS: u32 = 8;
/// V and G: the others are reserved in an entry that leads to a table.
const POINTER_FLAGS: u32 = 2;
/// V: the second stage ignores G.
const HOST_POINTER_FLAGS: u32 = 1;

/// What an MMU translates, which says how wide its entries are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Translated {
    /// The largest mode of the first stage.
    pub guest: PagingMode,
    /// What is behind it.
    pub stages: Stages,
}

/// Whose addresses the first stage leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stages {
    /// The host's: there are no virtual machines.
    Native,
    /// A virtual machine's, where the processor reads no tables of the second stage: shadow tables, or a constant.
    Virtual,
    /// A virtual machine's, with tables of that mode in the second stage.
    Nested(SecondStageMode),
}

/// Bits of storage, by structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Storage {
    /// First-level TLB of fetches.
    pub l1i: u64,
    /// First-level TLB of loads and stores.
    pub l1d: u64,
    /// Second-level TLB.
    pub l2: u64,
    /// Page-walk caches of both dimensions. That of the second one is there where the second stage has tables.
    pub walk_caches: u64,
    /// The nested TLB, where the second stage has tables.
    pub nested_tlb: u64,
}

impl Storage {
    /// Of the structures of one processor.
    #[must_use]
    pub fn of(config: &MmuConfig, translated: Translated) -> Self {
        let level = |arrays: &[TlbArray]| arrays.iter().map(|array| tlb_bits(array, config, translated)).sum();
        let second_stage = translated.stages.second_stage();
        let nested_tlb = config.nested_tlb.as_ref().zip(second_stage);
        Self {
            l1i: level(&config.l1i),
            l1d: level(&config.l1d),
            l2: level(&config.l2),
            walk_caches: guest_walk_cache_bits(config.walk_caches.guest, translated)
                + second_stage.map_or(0, |mode| host_walk_cache_bits(config.walk_caches.host, mode)),
            nested_tlb: nested_tlb.map_or(0, |(array, mode)| nested_tlb_bits(array, config.second_stage_groups, mode)),
        }
    }

    /// Of all structures.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.l1i + self.l1d + self.l2 + self.walk_caches + self.nested_tlb
    }
}

impl Stages {
    const fn vmid_bits(self) -> u32 {
        match self {
            Self::Native => 0,
            Self::Virtual | Self::Nested(_) => VMID_BITS,
        }
    }

    const fn second_stage(self) -> Option<SecondStageMode> {
        match self {
            Self::Native | Self::Virtual => None,
            Self::Nested(mode) => Some(mode),
        }
    }
}

/// The widths of an array's entries that do not depend on page sizes.
#[derive(Clone, Copy)]
struct Fields {
    /// Of the address that is looked up.
    address: u32,
    /// Of the names of its address space.
    space: u32,
}

impl Fields {
    /// An array of pages, of which those sizes occur that `occurs` says.
    fn array(self, array: &TlbArray, occurs: impl Fn(PageSize) -> bool) -> u64 {
        let shifts = || array.sizes.iter().filter(|&&size| occurs(size)).map(|size| size.shift());
        let Some(smallest) = shifts().min() else { return 0 };
        let tag = self.address.saturating_sub(smallest + array.sets.ilog2());
        let sizes = shifts().count().next_power_of_two().ilog2();
        let entry = tag + self.space + PHYSICAL_ADDRESS_BITS - smallest + LEAF_FLAGS + sizes;
        set_bits(array.ways, entry, array.replacement) * u64::from(array.sets)
    }

    /// Page-walk caches of tables with so many levels.
    fn walk_caches(self, sizes: WalkCacheSizes, levels: u32, flags: u32) -> u64 {
        let level = |(level, &entries): (u32, &u32)| {
            let tag = self.address - PageSize::of_level(level).shift();
            set_bits(entries, tag + self.space + PAGE_NUMBER_BITS + flags, ReplacementPolicy::LRU)
        };
        (1..levels).zip(&sizes.0).map(level).sum()
    }
}

fn set_bits(ways: u32, entry: u32, replacement: ReplacementPolicy) -> u64 {
    u64::from(ways) * u64::from(entry) + (replacement.facts().state_bits)(ways)
}

/// Of an array of a TLB level. An entry is of the smaller of the two stages' pages, so that each size of either occurs which the other one may contain.
fn tlb_bits(array: &TlbArray, config: &MmuConfig, translated: Translated) -> u64 {
    let Translated { guest, stages } = translated;
    let fields = Fields { address: guest.address_bits(), space: ASID_BITS + stages.vmid_bits() };
    let guest_groups = Groups::of_svnapot(config.svnapot);
    let of_guest = |size| is_leaf(size, guest.levels()) && guest_groups.occurs(size);
    fields.array(array, |size| match stages.second_stage() {
        None => of_guest(size),
        Some(mode) => {
            let least = guest.levels().min(mode.levels());
            is_leaf(size, least) && (guest_groups.occurs(size) || config.second_stage_groups.occurs(size))
        }
    })
}

fn nested_tlb_bits(array: &TlbArray, groups: Groups, mode: SecondStageMode) -> u64 {
    let fields = Fields { address: mode.address_bits(), space: VMID_BITS };
    fields.array(array, |size| is_leaf(size, mode.levels()) && groups.occurs(size))
}

fn guest_walk_cache_bits(sizes: WalkCacheSizes, translated: Translated) -> u64 {
    let Translated { guest, stages } = translated;
    let fields = Fields { address: guest.address_bits(), space: ASID_BITS + stages.vmid_bits() };
    fields.walk_caches(sizes, guest.levels(), POINTER_FLAGS)
}

fn host_walk_cache_bits(sizes: WalkCacheSizes, mode: SecondStageMode) -> u64 {
    let fields = Fields { address: mode.address_bits(), space: VMID_BITS };
    fields.walk_caches(sizes, mode.levels(), HOST_POINTER_FLAGS)
}

/// Whether tables with so many levels have leaves, or groups of leaves, of that size.
fn is_leaf(size: PageSize, levels: u32) -> bool {
    size.shift() < PageSize::of_level(levels.saturating_sub(1)).shift() + 9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::WalkCaches;
    use PageSize::{Size1G, Size2M, Size4K, Size64K, Size512G};

    const NATIVE: Translated = Translated { guest: PagingMode::Sv39, stages: Stages::Native };
    const VIRTUAL: Translated = Translated { guest: PagingMode::Sv39, stages: Stages::Virtual };
    const NESTED: Translated = Translated { guest: PagingMode::Sv39, stages: Stages::Nested(SecondStageMode::Sv39x4) };

    fn config() -> MmuConfig {
        MmuConfig {
            l1i: vec![],
            l1d: vec![TlbArray::new(&[Size4K], 16, 4)],
            l2: vec![TlbArray::new(&[Size4K, Size2M], 128, 12), TlbArray::new(&[Size1G], 1, 16)],
            walk_caches: WalkCaches::ON,
            nested_tlb: Some(TlbArray::new(&PageSize::ALL, 1, 32)),
            svnapot: false,
            second_stage_groups: Groups::None,
            ..MmuConfig::default()
        }
    }

    /// Each number is worked out by the formula above.
    #[test]
    fn structures_of_a_native_machine_have_these_bits() {
        let storage = Storage::of(&config(), NATIVE);
        // Tag 39-12-4 = 23, ASID 16, page number 44, flags 8: 91 bits. LRU of 4 ways: 4! = 24, 5 bits.
        assert_eq!(storage.l1d, 16 * (4 * 91 + 5));
        // Tag 39-12-7 = 20, ASID 16, page number 44, flags 8, size 1: 89 bits; 12! needs 29 bits.
        // Tag 39-30 = 9, ASID 16, page number 26, flags 8: 59 bits; 16! needs 45 bits.
        assert_eq!(storage.l2, 128 * (12 * 89 + 29) + (16 * 59 + 45));
        // Level 1: tag 18, ASID 16, page number 44, V and G: 80 bits; 32! needs 118 bits. Level 2: tag 9: 71 bits. Sv39 has no others.
        assert_eq!(storage.walk_caches, (32 * 80 + 118) + (4 * 71 + 5));
        assert_eq!([storage.l1i, storage.nested_tlb], [0, 0]);
        assert_eq!(storage.total(), 5904 + 141_405 + 2967);
    }

    #[test]
    fn a_virtual_machine_has_vmids_and_tables_of_a_second_stage_have_caches() {
        let (native, shadow, nested) =
            (Storage::of(&config(), NATIVE), Storage::of(&config(), VIRTUAL), Storage::of(&config(), NESTED));
        assert_eq!(shadow.l1d, native.l1d + 14 * 64);
        assert_eq!(shadow.walk_caches, native.walk_caches + 14 * (32 + 4));
        assert_eq!(shadow.nested_tlb, 0);
        assert_eq!([nested.l1d, nested.l2], [shadow.l1d, shadow.l2]);
        // Level 1: tag 41-21 = 20, VMID 14, page number 44, V: 79 bits. Level 2: tag 11: 70 bits.
        assert_eq!(nested.walk_caches, shadow.walk_caches + (32 * 79 + 118) + (4 * 70 + 5));
        // 4K, 2M and 1G: tag 41-12 = 29, VMID 14, page number 44, flags 8, size 2: 97 bits.
        assert_eq!(nested.nested_tlb, 32 * 97 + 118);
    }

    #[test]
    fn wider_addresses_have_wider_tags_and_more_levels() {
        let sv48 = Storage::of(&config(), Translated { guest: PagingMode::Sv48, ..NATIVE });
        let sv39 = Storage::of(&config(), NATIVE);
        assert_eq!(sv48.l1d, sv39.l1d + 9 * 64);
        // Level 3: tag 48-39 = 9, 71 bits, two ways.
        assert_eq!(sv48.walk_caches, sv39.walk_caches + 9 * 36 + (2 * 71 + 1));
    }

    #[test]
    fn sizes_that_no_page_has_are_not_built() {
        let bits = |sizes: &[PageSize], svnapot, translated| {
            let l1d = vec![TlbArray::new(sizes, 1, 1)];
            Storage::of(&MmuConfig { l1d, svnapot, ..config() }, translated).l1d
        };
        let base = bits(&[Size4K], false, NATIVE);
        assert_eq!(bits(&[Size4K, Size64K], false, NATIVE), base);
        assert_eq!(bits(&[Size4K, Size64K], true, NATIVE), base + 1);
        assert_eq!(bits(&[Size4K, Size512G], false, NATIVE), base);
        assert_eq!(bits(&[Size512G], false, NATIVE), 0);
        assert!(bits(&[Size512G], false, Translated { guest: PagingMode::Sv48, ..NATIVE }) > 0);
        // A second stage of three levels maps no 512G.
        assert_eq!(bits(&[Size512G], false, Translated { guest: PagingMode::Sv48, ..NESTED }), 0);
        assert_eq!(bits(&[Size4K, Size2M, Size1G], false, NATIVE), base + 2);
    }

    #[test]
    fn policies_have_these_bits_in_a_set() {
        let bits =
            |policy: &str, ways| (policy.parse::<ReplacementPolicy>().expect("it is shipped").facts().state_bits)(ways);
        assert_eq!(
            [1, 2, 3, 4, 8, 12, 16, 20, 32, 64].map(|ways| bits("lru", ways)),
            [0, 1, 3, 5, 16, 29, 45, 62, 118, 296]
        );
        assert_eq!([1, 2, 3, 4, 12].map(|ways| bits("tree-plru", ways)), [0, 1, 2, 3, 11]);
        assert_eq!([1, 2, 3, 4, 12].map(|ways| bits("fifo", ways)), [0, 1, 2, 2, 4]);
        assert_eq!([1, 2, 3, 4, 12].map(|ways| bits("srrip", ways)), [2, 4, 6, 8, 24]);
        assert_eq!([1, 2, 12].map(|ways| bits("drrip", ways)), [2, 4, 24]);
        assert_eq!(bits("random:7", 12), 0);
        for policy in ["lru", "tree-plru", "fifo", "random", "srrip", "drrip"] {
            assert_eq!(bits(policy, 0), 0, "{policy}: an empty cache");
        }
    }
}
