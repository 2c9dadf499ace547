//! Leaf tables of sections in the shadow tables of several guests: when they are shared, and that no guest sees memory of another through them.

mod fixture;

use crate::section::WindowTables;
use crate::shadow::Coherence;
use fixture::*;
use memory::section::{BackingFile, Lifetime};
use proptest::prelude::*;
use types::{Access, PageSize};

const BOTH: [Coherence; 2] = [Coherence::Fence, Coherence::WriteProtect];
/// Roots of two spaces of a guest.
const ROOT: u64 = 0x10_0000;
const OTHER_ROOT: u64 = 0x20_0000;

/// So many guests that map a section of `bytes` with the section's tables, and whose users see its first 2M page by page.
fn neighbours(guests: u16, coherence: Coherence, bytes: u64) -> Fixture {
    let mut fixture = Fixture::new(guests, coherence, PageSize::Size4K, &[]);
    fixture.create("data", bytes, Lifetime::Temporary);
    for guest in 0..guests.into() {
        assert_eq!(fixture.map(guest, "data", AT).tables, WindowTables::Shared { level: 0 });
        fixture.space(guest, ROOT);
        fixture.leaves(guest, ROOT, AT, (bytes / PAGE).min(512), DATA);
        fixture.switch(guest, ROOT, 1);
    }
    fixture
}

fn shared_tables(fixture: &Fixture) -> u64 {
    let id = fixture.manager.sections().find(&name("data")).unwrap();
    fixture.manager.shared_tables(id).unwrap().shadow_count()
}

#[test]
fn guests_that_map_a_section_alike_have_one_leaf_table_for_it() {
    for coherence in BOTH {
        let mut fixture = neighbours(3, coherence, 2 * MIB);
        for page in 0..512 {
            fixture.write(0, page * PAGE, page).unwrap();
        }
        for guest in [1, 2] {
            for page in 0..512 {
                assert_eq!(fixture.read(guest, page * PAGE), Ok(page));
            }
            // One fault made all of it valid.
            assert_eq!(fixture.links(guest), 1, "{coherence:?}");
        }
        assert_eq!(shared_tables(&fixture), 1);
        // Another space of the same guest, and a guest's own large page.
        fixture.space(2, OTHER_ROOT);
        fixture.directory(2, OTHER_ROOT, pte(AT, DATA));
        fixture.switch(2, OTHER_ROOT, 2);
        assert_eq!((fixture.read(2, 5 * PAGE), fixture.write(2, 6 * PAGE, 66)), (Ok(5), Ok(())));
        assert_eq!((fixture.read(0, 6 * PAGE), shared_tables(&fixture), fixture.links(2)), (Ok(66), 1, 2));
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn other_rights_are_another_table() {
    let mut fixture = neighbours(2, Coherence::Fence, 2 * MIB);
    fixture.write(0, 0, 1).unwrap();
    for (number, bits) in [DATA | X, DATA | G, DATA | X | G].into_iter().enumerate() {
        fixture.leaves(1, ROOT, AT, 512, bits);
        fixture.fence(1, None);
        assert_eq!(fixture.read(1, 0), Ok(1));
        assert_eq!(shared_tables(&fixture), 2 + number as u64);
    }
    // Guest 0 has not gained the right to execute.
    assert_eq!(fixture.reach(0, 0, SEEN, Access::Execute), End::PageFault);
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn what_is_not_alike_has_tables_of_the_guests_own() {
    let shift = |page: u64| pte(AT.wrapping_add(page * PAGE), DATA);
    for (what, page, entry) in [
        ("one page read-only", 511, pte(AT.wrapping_add(511 * PAGE), DATA & !W & !D)),
        ("one page clean", 3, pte(AT.wrapping_add(3 * PAGE), DATA & !D)),
        ("one page missing", 200, 0),
        ("two pages the wrong way round", 7, shift(8)),
        ("one page of RAM", 300, pte(ram(0x30_0000), DATA)),
        ("one page executable", 0, pte(AT, DATA | X)),
    ] {
        for coherence in BOTH {
            let mut fixture = neighbours(2, coherence, 2 * MIB);
            fixture.leaf(1, ROOT, page, entry);
            fixture.fence(1, None);
            fixture.write(0, PAGE, 11).unwrap();
            assert_eq!(fixture.read(1, PAGE), Ok(11), "{what}");
            assert_eq!((fixture.links(0), fixture.links(1)), (1, 0), "{what}");
            assert_eq!(fixture.wrong(), [""; 0], "{what}");
        }
    }
    // Shifted as a whole, so that a leaf table would need pages of two.
    let mut fixture = neighbours(1, Coherence::Fence, 4 * MIB);
    fixture.leaves(0, ROOT, AT.wrapping_add(PAGE), 512, DATA);
    fixture.fence(0, None);
    fixture.write(0, 0, 1).unwrap();
    assert_eq!(fixture.links(0), 0);
}

#[test]
fn windows_that_have_no_shared_tables_share_none_here() {
    let mut fixture = Fixture::new(3, Coherence::Fence, PageSize::Size4K, &[]);
    fixture.create("data", 4 * MIB, Lifetime::Temporary);
    fixture.map_to_read(0, "data", AT);
    fixture.map(1, "data", AT.wrapping_add(PAGE));
    fixture.map(2, "data", AT);
    for guest in 0..3 {
        fixture.space(guest, ROOT);
        fixture.leaves(guest, ROOT, AT, 512, DATA);
        fixture.switch(guest, ROOT, 1);
    }
    fixture.write(2, PAGE, 5).unwrap();
    assert_eq!((fixture.read(0, PAGE), fixture.write(0, PAGE, 6)), (Ok(5), Err(End::AccessFault)));
    // The page before the window is nothing at all.
    assert_eq!((fixture.read(1, 2 * PAGE), fixture.read(1, 0)), (Ok(5), Err(End::AccessFault)));
    assert_eq!([0, 1, 2].map(|guest| fixture.links(guest)), [0, 0, 1]);
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn a_guest_that_edits_its_table_leaves_the_others_theirs() {
    for coherence in BOTH {
        let mut fixture = neighbours(3, coherence, 2 * MIB);
        for guest in 0..3 {
            fixture.write(guest, guest as u64 * PAGE, 10 + guest as u64).unwrap();
        }
        // A page of its own RAM in the middle of the section: private, and through no shared table.
        fixture.store(1, ram(0x30_0000), 0xdead);
        fixture.leaf(1, ROOT, 2, pte(ram(0x30_0000), DATA));
        fixture.fence(1, Some(2 * PAGE));
        assert_eq!((fixture.read(1, 2 * PAGE), fixture.write(1, 2 * PAGE, 0xbeef)), (Ok(0xdead), Ok(())));
        for guest in [0, 2] {
            assert_eq!(fixture.read(guest, 2 * PAGE), Ok(12), "{coherence:?}");
            fixture.write(guest, 2 * PAGE, 12).unwrap();
        }
        assert_eq!(fixture.read(1, 2 * PAGE), Ok(0xbeef));
        // Nothing there, and then the section again.
        fixture.leaf(1, ROOT, 2, 0);
        fixture.fence(1, Some(2 * PAGE));
        assert_eq!((fixture.read(1, 2 * PAGE), fixture.read(1, PAGE)), (Err(End::PageFault), Ok(11)));
        fixture.leaf(1, ROOT, 2, pte(AT.wrapping_add(2 * PAGE), DATA));
        fixture.fence(1, Some(2 * PAGE));
        assert_eq!(fixture.read(1, 2 * PAGE), Ok(12));
        assert!(fixture.links(1) >= 2, "it is alike again: {}", fixture.links(1));
        assert_eq!((shared_tables(&fixture), fixture.wrong()), (1, vec![]));
    }
}

#[test]
fn no_walk_cache_of_another_hart_leads_to_a_table_whose_link_has_gone() {
    let mut fixture = neighbours(1, Coherence::Fence, 2 * MIB);
    for hart in [0, 1] {
        assert!(matches!(fixture.reach(0, hart, SEEN.wrapping_add(PAGE), Access::Write), End::Memory(_)));
    }
    fixture.store(0, ram(0x30_0000), 0xdead);
    fixture.leaf(0, ROOT, 2, pte(ram(0x30_0000), DATA));
    // The first hart's fence takes the link; the second's is for the address alone.
    fixture.fence_one(0, 0, Some(2 * PAGE));
    let End::Memory(first) = fixture.reach(0, 0, SEEN.wrapping_add(2 * PAGE), Access::Read) else { panic!() };
    fixture.fence_one(0, 1, Some(2 * PAGE));
    assert_eq!(fixture.reach(0, 1, SEEN.wrapping_add(2 * PAGE), Access::Read), End::Memory(first));
    assert_eq!(fixture.host.memory.read::<u64>(first).unwrap(), 0xdead);
}

#[test]
fn the_rest_of_a_last_table_maps_nothing() {
    for coherence in BOTH {
        let mut fixture = neighbours(2, coherence, 3 * PAGE);
        fixture.write(0, 0, 1).unwrap();
        assert_eq!((fixture.read(1, 0), fixture.links(1)), (Ok(1), 1));
        // Behind the section's end guest 1 maps a page of its own: its table is not alike any more.
        fixture.store(1, ram(0x30_0000), 0xdead);
        fixture.leaf(1, ROOT, 3, pte(ram(0x30_0000), DATA));
        fixture.fence(1, Some(3 * PAGE));
        assert_eq!(fixture.read(1, 3 * PAGE), Ok(0xdead));
        assert_eq!((fixture.read(0, 3 * PAGE), fixture.read(1, 0)), (Err(End::PageFault), Ok(1)));
        // And one large page over section and rest.
        fixture.directory(0, ROOT, pte(AT, DATA));
        fixture.fence(0, None);
        assert_eq!((fixture.read(0, 0), fixture.read(0, 3 * PAGE)), (Ok(1), Err(End::AccessFault)));
        assert_eq!(fixture.write(0, 511 * PAGE, 1), Err(End::AccessFault));
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn a_window_that_goes_takes_every_link_and_comes_back_with_new_ones() {
    for coherence in BOTH {
        let mut fixture = neighbours(2, coherence, 2 * MIB);
        fixture.write(0, PAGE, 1).unwrap();
        assert_eq!(fixture.read(1, PAGE), Ok(1));
        fixture.unmap(1, AT);
        assert_eq!((fixture.read(1, PAGE), fixture.read(0, PAGE)), (Err(End::AccessFault), Ok(1)));
        // Something else at the same address.
        fixture.create("other", 2 * MIB, Lifetime::Temporary);
        fixture.map(1, "other", AT);
        assert_eq!(fixture.read(1, PAGE), Ok(0));
        fixture.write(1, PAGE, 2).unwrap();
        assert_eq!(fixture.read(0, PAGE), Ok(1));
        fixture.unmap(1, AT);
        fixture.map(1, "data", AT);
        assert_eq!(fixture.read(1, PAGE), Ok(1));
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn a_guest_that_dies_leaves_the_others_their_table_and_the_last_one_nothing() {
    for coherence in BOTH {
        let mut fixture = neighbours(3, coherence, 2 * MIB);
        let before = fixture.host.frames.owned_bytes();
        for guest in 0..3 {
            fixture.write(guest, guest as u64 * PAGE, 10 + guest as u64).unwrap();
        }
        fixture.end(0);
        assert_eq!((fixture.read(1, 0), fixture.read(2, PAGE)), (Ok(10), Ok(11)));
        fixture.end(1);
        fixture.end(2);
        assert!(fixture.host.frames.owned_bytes() < before, "pages and tables are given back");
        // They become another section, without a mapper; what is left of the dead ones' tables shows nothing.
        fixture.create("other", 4 * MIB, Lifetime::Permanent);
        for guest in 0..3 {
            assert_eq!(fixture.read(guest, guest as u64 * PAGE), Err(End::AccessFault));
        }
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn preallocated_pages_are_all_in_the_table_and_larger_ones_need_none() {
    for (host_page, links) in [(PageSize::Size4K, 1), (PageSize::Size64K, 1), (PageSize::Size2M, 0)] {
        let mut fixture = Fixture::new(2, Coherence::Fence, host_page, &[("data", 2 * MIB)]);
        fixture.create("data", 2 * MIB, Lifetime::Temporary);
        for guest in 0..2 {
            fixture.map(guest, "data", AT);
            fixture.space(guest, ROOT);
            fixture.directory(guest, ROOT, pte(AT, DATA));
            fixture.switch(guest, ROOT, 1);
        }
        fixture.write(0, 77 * PAGE, 7).unwrap();
        assert_eq!(fixture.read(1, 77 * PAGE), Ok(7));
        assert_eq!([0, 1].map(|guest| fixture.links(guest)), [links; 2], "{host_page}");
        // A section of one 2M page has no leaf table, and the guest's base pages have their own.
        let linked = u64::from(links > 0);
        fixture.directory(1, ROOT, pte(ram(ROOT + 2 * PAGE), V));
        fixture.leaves(1, ROOT, AT, 512, DATA);
        fixture.fence(1, None);
        assert_eq!(fixture.read(1, 77 * PAGE), Ok(7));
        assert_eq!((fixture.links(1), shared_tables(&fixture), fixture.wrong()), (links + linked, linked, vec![]));
    }
}

#[test]
fn pages_of_a_file_leave_shadow_tables_when_they_leave_the_working_set() {
    for coherence in BOTH {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; 2 << 20]).unwrap();
        let mut fixture = Fixture::new(2, coherence, PageSize::Size4K, &[]);
        fixture.create_pageable("data", 2 * MIB, BackingFile::open(file.path(), true).unwrap());
        for guest in 0..2 {
            assert_eq!(fixture.map(guest, "data", AT).tables, WindowTables::Private);
            fixture.space(guest, ROOT);
            fixture.leaves(guest, ROOT, AT, 512, DATA);
            fixture.switch(guest, ROOT, 1);
        }
        // Eight pages at once are a guest's quota.
        for page in 0..64 {
            assert_eq!(fixture.read(0, page * PAGE), Ok(0x0707_0707_0707_0707));
            fixture.write(0, page * PAGE, page).unwrap();
        }
        for page in (0..64).rev() {
            assert_eq!((fixture.read(1, page * PAGE), fixture.read(0, page * PAGE)), (Ok(page), Ok(page)));
        }
        assert_eq!((fixture.links(0), fixture.links(1), fixture.wrong()), (0, 0, vec![]));
        fixture.end(0);
        fixture.end(1);
        fixture.delete("data");
        let bytes = std::fs::read(file.path()).unwrap();
        assert!((0..64).all(|page| bytes[page * 4096] == page as u8), "what was written is in the file");
    }
}

/// What a guest does to its table, or with what it maps.
#[derive(Clone, Copy, Debug)]
enum Deed {
    /// Page `page` is mapped to page `to` of the section, or of RAM.
    Leaf {
        page: u64,
        to: u64,
        ram: bool,
        bits: u64,
    },
    /// All pages are mapped in order.
    All {
        bits: u64,
    },
    Large {
        bits: u64,
    },
    Write {
        page: u64,
    },
    Read {
        page: u64,
    },
    Unmap,
}

fn deed() -> impl Strategy<Value = Deed> {
    let bits = || prop_oneof![6 => Just(DATA), 1 => Just(DATA & !W & !D), 1 => Just(DATA & !D), 1 => Just(DATA | X)];
    // Few pages, so that they meet; the section has 510.
    let page = || prop_oneof![Just(0_u64), Just(1), Just(509), Just(510), Just(511)];
    prop_oneof![
        2 => (page(), page(), any::<bool>(), bits()).prop_map(|(page, to, ram, bits)| Deed::Leaf { page, to, ram, bits }),
        2 => bits().prop_map(|bits| Deed::All { bits }),
        1 => bits().prop_map(|bits| Deed::Large { bits }),
        6 => page().prop_map(|page| Deed::Write { page }),
        6 => page().prop_map(|page| Deed::Read { page }),
        1 => Just(Deed::Unmap),
    ]
}

/// What a guest's page leads to, by its own table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Nothing,
    Section(u64, u64),
    Ram(u64, u64),
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_guests_do_to_their_tables_each_sees_the_section_and_its_own(
        deeds in prop::collection::vec((0_usize..2, deed()), 1..60),
        protect in any::<bool>(),
    ) {
        const PAGES: u64 = 510;
        let coherence = if protect { Coherence::WriteProtect } else { Coherence::Fence };
        let mut fixture = neighbours(2, coherence, PAGES * PAGE);
        let mut maps = [[Target::Nothing; 512]; 2];
        for map in &mut maps {
            for page in 0..PAGES {
                map[page as usize] = Target::Section(page, DATA);
            }
        }
        let (mut mapped, mut large) = ([true; 2], [false; 2]);
        let (mut section, mut rams) = ([0_u64; 512], [[0_u64; 512]; 2]);
        let mut next = 1;
        for (guest, deed) in deeds {
            match deed {
                Deed::Leaf { page, to, ram: own, bits } => {
                    let base = if own { ram(0x40_0000) } else { AT };
                    fixture.directory(guest, ROOT, pte(ram(ROOT + 2 * PAGE), V));
                    // What a large page hid is in the table behind it still.
                    for (number, target) in maps[guest].into_iter().enumerate().filter(|_| large[guest]) {
                        let entry = match target {
                            Target::Nothing => 0,
                            Target::Section(to, bits) => pte(AT.wrapping_add(to * PAGE), bits),
                            Target::Ram(to, bits) => pte(ram(0x40_0000 + to * PAGE), bits),
                        };
                        fixture.leaf(guest, ROOT, number as u64, entry);
                    }
                    large[guest] = false;
                    fixture.leaf(guest, ROOT, page, pte(base.wrapping_add(to * PAGE), bits));
                    maps[guest][page as usize] = if own { Target::Ram(to, bits) } else { Target::Section(to, bits) };
                    fixture.fence(guest, None);
                }
                Deed::All { bits } => {
                    fixture.leaves(guest, ROOT, AT, 512, bits);
                    fixture.directory(guest, ROOT, pte(ram(ROOT + 2 * PAGE), V));
                    large[guest] = false;
                    (0..512).for_each(|page| maps[guest][page as usize] = Target::Section(page, bits));
                    fixture.fence(guest, None);
                }
                Deed::Large { bits } => {
                    fixture.directory(guest, ROOT, pte(AT, bits));
                    large[guest] = true;
                    (0..512).for_each(|page| maps[guest][page as usize] = Target::Section(page, bits));
                    fixture.fence(guest, None);
                }
                Deed::Unmap => {
                    if mapped[guest] { fixture.unmap(guest, AT) } else { let _ = fixture.map(guest, "data", AT); }
                    mapped[guest] = !mapped[guest];
                    prop_assume!(mapped[0] || mapped[1]);
                }
                Deed::Write { page } | Deed::Read { page } => {
                    let writes = matches!(deed, Deed::Write { .. });
                    let target = maps[guest][page as usize];
                    // A and D are the guest's to set here: an entry without D faults at a store.
                    let may = |bits: u64| !writes || bits & (W | D) == W | D;
                    let expected = match target {
                        Target::Nothing => Err(End::PageFault),
                        Target::Section(_, bits) | Target::Ram(_, bits) if !may(bits) => Err(End::PageFault),
                        Target::Section(to, _) if !mapped[guest] || to >= PAGES => Err(End::AccessFault),
                        Target::Section(to, _) => Ok(section[to as usize]),
                        Target::Ram(to, _) => Ok(rams[guest][to as usize]),
                    };
                    if writes {
                        prop_assert_eq!(fixture.write(guest, page * PAGE, next), expected.map(|_| ()));
                        match (target, expected) {
                            (Target::Section(to, _), Ok(_)) => section[to as usize] = next,
                            (Target::Ram(to, _), Ok(_)) => rams[guest][to as usize] = next,
                            _ => {}
                        }
                        next += 1;
                    } else {
                        prop_assert_eq!(fixture.read(guest, page * PAGE), expected);
                    }
                }
            }
        }
        prop_assert_eq!(fixture.wrong(), Vec::<String>::new());
    }
}
