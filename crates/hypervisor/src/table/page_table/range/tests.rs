use super::super::Shape;
use super::*;
use crate::table::LeafBits;
use memory::{Host, HostPages};
use proptest::prelude::*;
use std::collections::BTreeMap;
use types::SecondStageMode;

fn host() -> Host {
    Host::new(64 << 20, HostPages::Base).unwrap()
}

/// In the level that a RISC-V second stage has for it.
fn map(
    tree: &mut PageTable,
    memory: &HostMemory,
    frames: &mut FrameAllocator,
    address: u64,
    leaf: Leaf,
) -> Result<TableWork, MapError> {
    tree.map_at(memory, frames, memory::registry::Granularities::RISCV.level(leaf.size), address, leaf)
}

fn leaf(page: u64, size: PageSize) -> Leaf {
    Leaf { page: Hpa(page), size, bits: LeafBits::READ }
}

#[test]
fn a_group_is_as_many_entries_that_each_say_the_whole() {
    let mut host = host();
    let (memory, frames) = (&host.memory, &mut host.frames);
    let mut tree = PageTable::new(memory, frames, Shape::second_stage(SecondStageMode::Sv39x4)).unwrap();
    let group = leaf(0x9_0001_0000, PageSize::Size64K);
    let work = map(&mut tree, memory, frames, 0x30000, group).unwrap();
    assert_eq!(work, TableWork { entries: 16, tables: 2, links: 0 });
    for offset in [0, 0x1234, 0xffff] {
        assert_eq!(tree.lookup(memory, 0x30000 + offset), Some(group));
    }
    assert_eq!((tree.lookup(memory, 0x2ffff), tree.lookup(memory, 0x40000)), (None, None));
    // Svnapot: N, and 1000 in the low bits of the page number.
    let (entry, _) = tree.place(memory, frames, 0x3f000, 0).unwrap();
    assert_eq!(read(memory, entry).0, 1 << 63 | (0x9_0001_0000_u64 >> 12 | 0b1000) << 10 | 0b11);
    for level in 1..3 {
        assert_eq!(tree.map_at(memory, frames, level, 0x30000, group), Err(MapError::Size(PageSize::Size64K)));
    }
    assert!(matches!(map(&mut tree, memory, frames, 0x38000, group), Err(MapError::Misaligned { .. })));
    let single = leaf(0x8000_0000, PageSize::Size4K);
    map(&mut tree, memory, frames, 0x5f000, single).unwrap();
    assert_eq!(map(&mut tree, memory, frames, 0x50000, group), Err(MapError::Occupied(0x50000)));
    assert_eq!(tree.lookup(memory, 0x50000), None, "none of it was written");
    let mut seen = Vec::new();
    let cleared = tree.clear(memory, &(0..1 << 21), |address, leaf| seen.push((address, leaf.size)));
    assert_eq!(cleared.work.entries, 17);
    assert_eq!((seen.len(), seen[0], seen[16]), (17, (0x30000, PageSize::Size64K), (0x5f000, PageSize::Size4K)));
}

#[test]
fn a_group_may_be_a_whole_table() {
    let mut host = host();
    let (memory, frames) = (&host.memory, &mut host.frames);
    let mut tree = PageTable::new(memory, frames, Shape::second_stage(SecondStageMode::Sv39x4)).unwrap();
    for (address, size) in [(0x20_0000, PageSize::Size2M), (0x4_0000, PageSize::Size256K), (0x8000, PageSize::Size32K)]
    {
        let group = leaf(0x9000_0000, size);
        let work = tree.map_at(memory, frames, 0, address, group).unwrap();
        assert_eq!(work.entries, size.bytes() / 4096);
        assert_eq!(tree.lookup(memory, address + size.bytes() - 1), Some(group));
        let (entry, _) = tree.place(memory, frames, address, 0).unwrap();
        assert_eq!(read(memory, entry).0 >> 10 & 0x1ff, size.bytes() / 8192, "half of the group");
    }
    assert_eq!(tree.map_at(memory, frames, 0, 0, leaf(0, PageSize::Size1G)), Err(MapError::Size(PageSize::Size1G)));
    // Status bits of one entry change, and nothing else of it.
    tree.set_bits(memory, 0x20_5000, LeafBits::READ | LeafBits::ACCESSED);
    let page = tree.lookup(memory, 0x20_5000).unwrap();
    assert_eq!((page.page, page.size), (Hpa(0x9000_0000), PageSize::Size2M));
    assert_eq!(page.bits, LeafBits::READ | LeafBits::ACCESSED);
}

#[test]
fn a_table_that_maps_something_outside_the_range_stays() {
    let mut host = host();
    let (memory, frames) = (&host.memory, &mut host.frames);
    let mut tree = PageTable::new(memory, frames, Shape::second_stage(SecondStageMode::Sv48x4)).unwrap();
    let page = |address| leaf(0x8000_0000 + address, PageSize::Size4K);
    for address in [0x1ff000, 0x200000, 0x5ff000, 0x600000] {
        map(&mut tree, memory, frames, address, page(address)).unwrap();
    }
    let cleared = tree.clear(memory, &(0x200000..0x600000), |_, _| {});
    assert_eq!((cleared.tables.len(), cleared.work.entries), (2, 2));
    assert_eq!(tree.lookup(memory, 0x1ff000), Some(page(0x1ff000)));
    assert_eq!(tree.lookup(memory, 0x600000), Some(page(0x600000)));
    let cleared = tree.clear(memory, &(0x1ff000..0x601000), |_, _| {});
    assert_eq!(cleared.work.entries, 2);
    assert_eq!(cleared.tables.len(), 4, "two leaf tables that reach beyond it, and those above, have nothing else");
}

proptest! {
    /// Against a map from addresses to pages: what lies in the range goes, each entry of it once, and nothing else.
    #[test]
    fn agrees_with_a_map(
        pages in prop::collection::vec((0_u64..4, 0_u64..4, 0_u64..4, 0_usize..3), 0..40),
        start in 0_u64..2000, length in 0_u64..3000,
    ) {
        let sizes = [PageSize::Size4K, PageSize::Size64K, PageSize::Size2M];
        let mut host = host();
        let (memory, frames) = (&host.memory, &mut host.frames);
        let mut tree = PageTable::new(memory, frames, Shape::second_stage(SecondStageMode::Sv39x4)).unwrap();
        let mut model = BTreeMap::<u64, Leaf>::new();
        for (high, middle, low, size) in pages {
            let size = sizes[size];
            let address = (high << 30 | middle << 21 | low << 14) & !(size.bytes() - 1);
            let page = leaf((address | 1 << 40) & !(size.bytes() - 1), size);
            if map(&mut tree, memory, frames, address, page).is_ok() {
                let step = if size == PageSize::Size2M { size } else { PageSize::Size4K };
                for offset in (0..size.bytes()).step_by(step.bytes() as usize) {
                    prop_assert!(model.insert(address + offset, page).is_none());
                }
            }
        }
        let range = start << 14..(start + length) << 14;
        let before = frames.owned_bytes();
        let mut gone = BTreeMap::new();
        let cleared = tree.clear(memory, &range, |address, leaf| assert!(gone.insert(address, leaf).is_none()));
        let wholly_in = |address: u64, leaf: &Leaf| {
            let bytes = if leaf.size == PageSize::Size2M { leaf.size.bytes() } else { 4096 };
            range.start <= address && address + bytes <= range.end
        };
        let expected: BTreeMap<u64, Leaf> = model.iter().filter(|&(&at, leaf)| wholly_in(at, leaf)).map(|(&at, &leaf)| (at, leaf)).collect();
        prop_assert_eq!(&gone, &expected);
        for (&address, page) in &model {
            prop_assert_eq!(tree.lookup(memory, address), (!gone.contains_key(&address)).then_some(*page));
        }
        for table in cleared.tables {
            frames.free(table).unwrap();
        }
        prop_assert!(frames.owned_bytes() <= before);
        // What is left is what a tree of the rest has, and tables beside it that were never emptied by this.
        tree.free(memory, frames);
        prop_assert_eq!(frames.owned_bytes(), 0);
    }
}
