use super::*;
use memory::{HOST_BASE, HostPages};

const RWX: LeafBits = LeafBits::RWX;

fn host(pages: u64) -> (HostMemory, FrameAllocator) {
    let memory = HostMemory::new(pages * 4096, HostPages::Base).unwrap();
    let frames = FrameAllocator::new(&memory);
    (memory, frames)
}

fn ram(pages: u64) -> Range<Gpa> {
    Gpa(0x8000_0000)..Gpa(0x8000_0000 + pages * 4096)
}

fn leaf(page: u64, size: PageSize) -> Leaf {
    Leaf { page: Hpa(page), size, bits: RWX }
}

#[test]
fn a_table_is_eight_bytes_for_each_page_of_the_vm() {
    for (pages, frames_taken) in [(1, 1), (512, 1), (513, 2), (1 << 18, 512), ((1 << 18) + 1, 513)] {
        let (memory, mut frames) = host(2000);
        let table = FlatTable::new(&memory, &mut frames, &ram(pages)).unwrap();
        assert_eq!((table.frames.bytes(), table.entries), ((8 * pages).next_multiple_of(4096), pages));
        assert_eq!(frames.owned_bytes(), frames_taken * 4096, "in whole frames");
        assert_eq!(table.start(), HOST_BASE);
    }
}

#[test]
fn a_table_that_does_not_fit_in_one_piece_is_refused() {
    let (memory, mut frames) = host(5);
    let middle = FrameRange::new(HOST_BASE.wrapping_add(2 * 4096), 4096).unwrap();
    frames.reserve(&memory, middle).unwrap();
    // Four frames are free, but no three of them are neighbours.
    let error = FlatTable::new(&memory, &mut frames, &ram(1025)).unwrap_err();
    assert_eq!((error.bytes, error.free), (1025 * 8, 4 * 4096));
    assert_eq!(frames.owned_bytes(), 4096, "nothing was taken");
    assert!(FlatTable::new(&memory, &mut frames, &ram(1024)).is_ok());
}

#[test]
fn pages_are_mapped_found_and_taken_away() {
    let (memory, mut frames) = host(64);
    let mut table = FlatTable::new(&memory, &mut frames, &ram(1024)).unwrap();
    let (small, large) = (Gpa(0x8000_3000), Gpa(0x8020_0000));
    table.enter(&memory, small, leaf(0x9000_5000, PageSize::Size4K)).unwrap();
    table.enter(&memory, large, leaf(0xa000_0000, PageSize::Size2M)).unwrap();
    let bits = RWX | LeafBits::USER;
    assert_eq!(table.lookup(&memory, Gpa(0x8000_3abc)), Some(Leaf { bits, ..leaf(0x9000_5000, PageSize::Size4K) }));
    for inside in [0, 0x1234, 0x1f_ffff] {
        let found = table.lookup(&memory, large.wrapping_add(inside));
        assert_eq!(found, Some(Leaf { bits, ..leaf(0xa000_0000, PageSize::Size2M) }), "{inside:#x}");
    }
    for nothing in [Gpa(0), Gpa(0x7fff_ffff), Gpa(0x8000_2fff), Gpa(0x8000_4000), Gpa(0x8040_0000), Gpa(u64::MAX)] {
        assert_eq!(table.lookup(&memory, nothing), None, "{nothing}");
        assert!(table.take(&memory, nothing).is_none());
    }

    let gone = table.take(&memory, Gpa(0x8020_1000)).unwrap();
    assert_eq!((gone.page, gone.size), (Hpa(0xa000_0000), PageSize::Size2M));
    for page in 0..512 {
        assert_eq!(table.lookup(&memory, large.wrapping_add(page * 4096)), None, "all of the superpage is gone");
    }
    assert!(table.lookup(&memory, small).is_some());
}

#[test]
fn all_entries_of_a_superpage_are_equal_and_marked() {
    let (memory, mut frames) = host(64);
    let table = FlatTable::new(&memory, &mut frames, &ram(1024)).unwrap();
    table.enter(&memory, Gpa(0x8020_0000), leaf(0xa000_0000, PageSize::Size2M)).unwrap();
    let entry = |index: u64| memory.read::<u64>(table.start().wrapping_add(index * 8)).unwrap();
    // N, page number 0xa0000 with bit 8, U, X, W, R, V.
    assert!((512..1024).all(|index| entry(index) == 1 << 63 | 0xa_0100 << 10 | 0x1f));
    assert_eq!((entry(511), entry(0)), (0, 0));
}

#[test]
fn what_cannot_be_mapped_is_refused_and_changes_nothing() {
    let (memory, mut frames) = host(64);
    let table = FlatTable::new(&memory, &mut frames, &ram(1023)).unwrap();
    let refusal = |gpa, leaf| table.enter(&memory, Gpa(gpa), leaf).unwrap_err();
    let (small, large) = (leaf(0x9000_0000, PageSize::Size4K), leaf(0x9000_0000, PageSize::Size2M));
    assert_eq!(refusal(0x8000_0000, leaf(0, PageSize::Size1G)), MapError::Size(PageSize::Size1G));
    assert!(matches!(refusal(0x8000_1000, large), MapError::Misaligned { .. }));
    assert!(matches!(refusal(0x8000_0800, small), MapError::Misaligned { .. }));
    for beyond in [0x7fff_f000, 0x803f_f000, 0] {
        assert_eq!(refusal(beyond, small), MapError::OutsideTable { address: beyond, entries: 1023 });
    }
    assert!(matches!(refusal(0x8020_0000, large), MapError::OutsideTable { .. }), "its last page is beyond");
    table.enter(&memory, Gpa(0x8000_5000), small).unwrap();
    assert_eq!(table.enter(&memory, Gpa(0x8000_0000), large), Err(MapError::Occupied(0x8000_0000)));
    assert_eq!(table.lookup(&memory, Gpa(0x8000_0000)), None);
}

#[test]
fn a_grant_sets_bits_in_every_entry_and_clears_none() {
    let (memory, mut frames) = host(64);
    let mut table = FlatTable::new(&memory, &mut frames, &ram(512)).unwrap();
    let start = Gpa(0x8000_0000);
    table.enter(&memory, start, leaf(0xa000_0000, PageSize::Size2M)).unwrap();
    // As a walker does that writes one of them.
    let third = table.start().wrapping_add(3 * 8);
    memory.write(third, memory.read::<u64>(third).unwrap() | 0xc0).unwrap();
    table.grant(&memory, start, LeafBits::ACCESSED);
    let bits = |page: u64| table.lookup(&memory, start.wrapping_add(page * 4096)).unwrap().bits;
    assert!(bits(3).contains(LeafBits::ACCESSED | LeafBits::DIRTY));
    assert!(bits(400).contains(LeafBits::ACCESSED) && !bits(400).contains(LeafBits::DIRTY));
}
