//! What is cleared is everything, and what is counted is what a scan of the table would count.

use super::*;
use memory::{Host, HostPages};
use proptest::prelude::*;

const SIZES: [PageSize; 3] = [PageSize::Size4K, PageSize::Size2M, PageSize::Size1G];

/// What is done to a table: an address, the number of a page size, and what happens there.
#[derive(Clone, Copy, Debug)]
enum Edit {
    Place(u64, usize),
    Invalidate(u64),
    InvalidateSpan(u64, u32),
    Clear,
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    // Few enough addresses that pages of every size meet.
    let address =
        || (0..2_u64, 0..3_u64, 0..4_u64).prop_map(|(gigabyte, large, page)| gigabyte << 30 | large << 21 | page << 12);
    let edit = prop_oneof![
        8 => (address(), 0..3_usize).prop_map(|(at, size)| Edit::Place(at, size)),
        2 => address().prop_map(Edit::Invalidate),
        1 => (address(), 1..3_u32).prop_map(|(at, level)| Edit::InvalidateSpan(at, level)),
        1 => Just(Edit::Clear),
    ];
    prop::collection::vec(edit, 1..60)
}

/// Last tables, and pages larger than 4K.
fn scan(memory: &HostMemory, table: Hpa, level: u32) -> (u64, u64) {
    if level == 0 {
        return (1, 0);
    }
    let mut found = (0, 0);
    for Position { entry, .. } in entries(memory, table, level, ENTRIES) {
        if entry.is_leaf() {
            found.1 += 1;
        } else if entry.is_valid() {
            let below = scan(memory, entry.address(), level - 1);
            found = (found.0 + below.0, found.1 + below.1);
        }
    }
    found
}

fn check_clear(table: &mut RadixShadow, memory: &HostMemory) {
    let (last, large) = scan(memory, table.root(), table.levels() - 1);
    let valid = table.leaves(memory).len() as u64;
    let removed = table.clear(memory);
    assert_eq!(removed.touched, last * ENTRIES + large);
    assert_eq!(removed.cleared, valid);
    assert_eq!(table.leaves(memory), []);
}

proptest! {
    #[test]
    fn clearing_finds_every_leaf_and_counts_as_a_scan_does(edits in edits()) {
        let mut host = Host::new(64 << 20, HostPages::Base).unwrap();
        let mut table = RadixShadow::new(&host.memory, &mut host.frames, PagingMode::Sv39).unwrap();
        let bits = LeafBits::READ | LeafBits::ACCESSED;
        for edit in edits {
            match edit {
                Edit::Place(at, size) => {
                    let size = SIZES[size];
                    let leaf = Leaf { page: Hpa(0x40_0000_0000 | at).page(size), size, bits };
                    let displaced = table.place(&host.memory, &mut host.frames, Gva(at), leaf, size).unwrap();
                    if let Displaced::Smaller(frames) = displaced {
                        for range in frames {
                            host.frames.free(range).unwrap();
                        }
                    }
                }
                Edit::Invalidate(at) => drop(table.invalidate(&host.memory, Gva(at), &|_| true)),
                Edit::InvalidateSpan(at, level) => drop(table.invalidate_span(&host.memory, Gva(at), level)),
                Edit::Clear => check_clear(&mut table, &host.memory),
            }
        }
        check_clear(&mut table, &host.memory);
    }
}

#[test]
fn a_table_that_is_never_cleared_remembers_no_more_than_twice_what_it_maps() {
    let mut host = Host::new(64 << 20, HostPages::Base).unwrap();
    let mut table = RadixShadow::new(&host.memory, &mut host.frames, PagingMode::Sv39).unwrap();
    let leaf = Leaf { page: Hpa(0x40_0000_0000), size: PageSize::Size4K, bits: LeafBits::READ };
    for page in 0..100_000_u64 {
        let gva = Gva((page % 3000) << 12);
        table.place(&host.memory, &mut host.frames, gva, leaf, PageSize::Size4K).unwrap();
        if page % 3 != 0 {
            let _ = table.invalidate(&host.memory, gva, &|_| true);
        }
    }
    assert!(table.placed.len() <= 2 * 3000, "{} remembered", table.placed.len());
    check_clear(&mut table, &host.memory);
}
