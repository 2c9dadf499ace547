use super::*;
use memory::{HOST_BASE, Host, HostPages};
use proptest::prelude::*;
use std::collections::BTreeMap;

const BITS: LeafBits = LeafBits::READ;
const MODES: [SecondStageMode; 3] = [SecondStageMode::Sv39x4, SecondStageMode::Sv48x4, SecondStageMode::Sv57x4];

fn host() -> Host {
    Host::new(64 << 20, HostPages::Base).unwrap()
}

fn table(host: &mut Host, mode: SecondStageMode) -> PageTable {
    PageTable::new(&host.memory, &mut host.frames, Shape::second_stage(mode)).unwrap()
}

fn leaf(page: u64, size: PageSize) -> Leaf {
    Leaf { page: Hpa(page), size, bits: BITS }
}

fn map(table: &mut PageTable, host: &mut Host, address: u64, leaf: Leaf) -> Result<(), MapError> {
    table.map(&host.memory, &mut host.frames, address, leaf)
}

#[test]
fn a_root_is_four_pages_on_a_boundary_of_as_much() {
    let mut host = host();
    host.frames.allocate(&host.memory, PageSize::Size4K).unwrap();
    for mode in MODES {
        let owned = host.frames.owned_bytes();
        let table = table(&mut host, mode);
        assert!(table.root().is_aligned(16384));
        assert_eq!(host.frames.owned_bytes() - owned, 16384);
    }
}

#[test]
fn the_bits_are_those_of_the_specification() {
    let mut host = host();
    let mut table = table(&mut host, SecondStageMode::Sv39x4);
    let bits = LeafBits::READ | LeafBits::WRITE | LeafBits::EXECUTE | LeafBits::USER;
    let bits = bits | LeafBits::ACCESSED | LeafBits::DIRTY;
    // 1 << 39 and 1 << 40 need the two extra bits of the root's index.
    let address = 3 << 39 | 5 << 30 | 6 << 21 | 7 << 12;
    let page = Leaf { page: Hpa(0x9_8765_4000), size: PageSize::Size4K, bits };
    map(&mut table, &mut host, address, page).unwrap();
    let entry = |table: Hpa, index: u64| host.memory.read::<u64>(table.wrapping_add(index * 8)).unwrap();
    let target = |entry: u64| Hpa(entry >> 10 << 12);
    let top = entry(table.root(), 3 << 9 | 5);
    let middle = entry(target(top), 6);
    assert_eq!((top & 0x3ff, middle & 0x3ff), (1, 1), "pointers have V alone");
    assert_eq!(entry(target(middle), 7), 0x9_8765_4000 >> 2 | 0b1101_1111);
}

#[test]
fn each_level_has_its_size_and_none_else() {
    for mode in MODES {
        let (mut host, levels) = (host(), mode.levels());
        let mut table = table(&mut host, mode);
        for (level, size) in (0..5).map(|level| (level, PageSize::of_level(level))) {
            let result = map(&mut table, &mut host, u64::from(level) << (mode.address_bits() - 3), leaf(0, size));
            assert_eq!(result, if level < levels { Ok(()) } else { Err(MapError::Size(size)) });
        }
        assert_eq!(map(&mut table, &mut host, 0, leaf(0, PageSize::Size64K)), Err(MapError::Size(PageSize::Size64K)));
    }
}

#[test]
fn what_cannot_be_mapped_is_refused_and_changes_nothing() {
    let mut host = host();
    let mut table = table(&mut host, SecondStageMode::Sv39x4);
    let (small, large) = (leaf(0x1000, PageSize::Size4K), leaf(0, PageSize::Size2M));
    let beyond = 1 << 41;
    assert_eq!(map(&mut table, &mut host, beyond, small), Err(MapError::Beyond { address: beyond, bits: 41 }));
    assert!(matches!(map(&mut table, &mut host, 0x800, small), Err(MapError::Misaligned { .. })));
    let odd = leaf(0x1000, PageSize::Size2M);
    assert!(matches!(map(&mut table, &mut host, 0, odd), Err(MapError::Misaligned { .. })));
    map(&mut table, &mut host, 0x5000, small).unwrap();
    assert_eq!(map(&mut table, &mut host, 0x5000, leaf(0x2000, PageSize::Size4K)), Err(MapError::Occupied(0x5000)));
    assert_eq!(map(&mut table, &mut host, 0, large), Err(MapError::Occupied(0)), "a table is below");
    map(&mut table, &mut host, 2 << 20, large).unwrap();
    assert_eq!(map(&mut table, &mut host, 2 << 20, small), Err(MapError::Occupied(2 << 20)), "a larger page is there");
    assert_eq!(table.lookup(&host.memory, 0x5fff), Some(small));
    assert_eq!(table.lookup(&host.memory, (4 << 20) - 1), Some(large));
    assert_eq!(table.lookup(&host.memory, beyond | 0x5000), None);
}

#[test]
fn running_out_of_tables_is_an_error_and_can_be_repeated() {
    let mut host = Host::new(5 * 4096, HostPages::Base).unwrap();
    let mut table = table(&mut host, SecondStageMode::Sv39x4);
    let page = leaf(0, PageSize::Size4K);
    assert!(matches!(map(&mut table, &mut host, 0, page), Err(MapError::OutOfFrames(_))));
    assert!(matches!(map(&mut table, &mut host, 0, page), Err(MapError::OutOfFrames(_))));
    assert_eq!(table.lookup(&host.memory, 0), None);
    assert_eq!(map(&mut table, &mut host, 0, leaf(0, PageSize::Size2M)), Ok(()), "one table was enough for this");
}

#[test]
fn a_pointer_at_the_last_level_leads_nowhere() {
    let mut host = host();
    let mut table = table(&mut host, SecondStageMode::Sv39x4);
    map(&mut table, &mut host, 0, leaf(0x1000, PageSize::Size4K)).unwrap();
    let found = table.find(&host.memory, 0);
    host.memory.write(found.slot, Entry::pointer(HOST_BASE).0).unwrap();
    assert_eq!(table.lookup(&host.memory, 0), None);
}

/// A page number among few, so that maps and unmaps meet; at every level.
fn address() -> impl Strategy<Value = u64> {
    (0_u64..3, 0_u64..3, 0_u64..3).prop_map(|(high, middle, low)| high << 30 | middle << 21 | low << 12)
}

proptest! {
    /// Against a map from page numbers to leaves.
    #[test]
    fn agrees_with_a_map(
        mode in prop::sample::select(&MODES),
        steps in prop::collection::vec((address(), 0_u32..3, any::<bool>()), 1..80),
    ) {
        let mut host = host();
        let mut table = table(&mut host, mode);
        let mut model = BTreeMap::<u64, Leaf>::new();
        // Levels at which a table was made: it stays, so no larger page fits there again.
        let mut tables = std::collections::BTreeSet::new();
        for (step, (address, level, add)) in steps.into_iter().enumerate() {
            let size = PageSize::of_level(level);
            let holds = |start: u64, leaf: &Leaf, address: u64| (start..start + leaf.size.bytes()).contains(&address);
            if add {
                let address = address & !(size.bytes() - 1);
                let leaf = leaf((step as u64) << 30, size);
                let free = !tables.contains(&(level, address))
                    && !model.iter().any(|(&start, other)| holds(start, other, address) || holds(address, &leaf, start));
                prop_assert_eq!(map(&mut table, &mut host, address, leaf).is_ok(), free);
                if free {
                    model.insert(address, leaf);
                    tables.extend((level + 1..5).map(|above| (above, address & !(PageSize::of_level(above).bytes() - 1))));
                }
            } else {
                let start = model.iter().find(|&(&start, leaf)| holds(start, leaf, address)).map(|(&start, _)| start);
                let gone = start.and_then(|start| model.remove(&start));
                prop_assert_eq!(table.unmap(&host.memory, address), gone);
            }
            for high in 0..3 {
                for offset in [0, 0x1fff, 0x20_0000, 0x3f_ffff, 0x40_1000] {
                    let address = high << 30 | offset;
                    let expected = model.iter().find(|&(&start, leaf)| holds(start, leaf, address)).map(|(_, leaf)| *leaf);
                    prop_assert_eq!(table.lookup(&host.memory, address), expected);
                }
            }
        }
    }
}
