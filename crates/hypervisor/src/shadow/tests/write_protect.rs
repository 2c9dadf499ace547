//! Guest tables that are write-protected: a store to them outdates at once what was made from them, without a fence.

use super::fixture::{Choice, DATA, End, Fixture, V, pte, ram};
use crate::dma::Dma;
use crate::shadow::{Coherence, Tables};
use crate::testing::{NoProcessors, supply};
use types::{Access, Gpa, Gva, Hpa, PageSize};

const ROOT: Gpa = ram(1 << 20);
const PAGE: Gva = Gva(0x3000);

fn fixture(host_page: PageSize) -> Fixture {
    let choice = Choice {
        tables: Tables::Multiple(4),
        coherence: Coherence::WriteProtect,
        host_page,
        harts: 3,
        ..Choice::default()
    };
    let mut fixture = Fixture::new(&choice);
    fixture.space(ROOT);
    fixture.map(ROOT, PAGE, ram(30 << 20), DATA);
    for hart in [0, 1] {
        fixture.switch(hart, ROOT, 1);
        fixture.access(hart, PAGE, Access::Write);
    }
    fixture.counted();
    fixture
}

#[test]
fn a_store_to_a_table_outdates_its_entry_on_every_hart() {
    for host_page in [PageSize::Size4K, PageSize::Size2M] {
        let mut fixture = fixture(host_page);
        fixture.map(ROOT, PAGE, ram(31 << 20), DATA);
        assert_eq!(fixture.counted().table_writes, 1);
        for hart in [0, 1] {
            assert_eq!(fixture.access(hart, PAGE, Access::Write), End::Memory(fixture.hpa(ram(31 << 20)).unwrap()));
        }
        fixture.map(ROOT, PAGE, ram(31 << 20), 0);
        assert_eq!(fixture.access(0, PAGE, Access::Read), End::PageFault);
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn a_store_to_an_upper_table_outdates_everything_below() {
    let mut fixture = fixture(PageSize::Size4K);
    fixture.map(ROOT, Gva(0x4000), ram(32 << 20), DATA);
    fixture.access(0, Gva(0x4000), Access::Read);
    fixture.store(Gpa(ROOT.0 + 4096), 0);
    for gva in [PAGE, Gva(0x4000)] {
        assert_eq!(fixture.access(1, gva, Access::Read), End::PageFault);
    }
    // The table below is a table no more, and stores to it are not trapped.
    fixture.counted();
    for _ in 0..3 {
        fixture.map(ROOT, PAGE, ram(31 << 20), DATA);
    }
    assert_eq!(fixture.counted().table_writes, 0);
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn a_page_that_is_stored_to_again_and_again_is_no_table() {
    let mut fixture = fixture(PageSize::Size4K);
    for number in 0..100 {
        fixture.map(ROOT, Gva(number << 12), ram((30 << 20) + (number << 12)), DATA);
    }
    let counted = fixture.counted();
    assert_eq!((counted.table_writes, counted.unprotects), (3, 1), "the third store is one too many");
    // Until a walk reads it again.
    assert_eq!(fixture.access(0, PAGE, Access::Read), End::Memory(fixture.hpa(ram((30 << 20) + 0x3000)).unwrap()));
    fixture.map(ROOT, PAGE, ram(29 << 20), DATA);
    assert_eq!(fixture.counted().table_writes, 1);
    assert_eq!(fixture.access(0, PAGE, Access::Read), End::Memory(fixture.hpa(ram(29 << 20)).unwrap()));
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn a_device_that_writes_to_a_table_is_noticed() {
    let mut fixture = fixture(PageSize::Size4K);
    let entry = pte(ram(31 << 20), DATA).to_le_bytes();
    let write = |fixture: &mut Fixture, at| {
        Dma::new(supply(&mut fixture.host, &mut fixture.vm, None, NoProcessors), 0).write(at, &entry).unwrap();
    };
    write(&mut fixture, Fixture::entry(ROOT, PAGE));
    let fence = fixture.vm.shadow_fence_due().expect("the TLBs have the old page");
    fixture.mmus.iter_mut().for_each(|mmu| mmu.fence(&fence));
    assert_eq!(fixture.vm.shadow_fence_due(), None);
    assert_eq!(fixture.access(0, PAGE, Access::Read), End::Memory(fixture.hpa(ram(31 << 20)).unwrap()));
    write(&mut fixture, ram(40 << 20));
    assert_eq!(fixture.vm.shadow_fence_due(), None, "a page of data");
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn a_device_that_writes_up_to_a_table_leaves_it_and_one_that_writes_into_it_does_not() {
    let mut fixture = fixture(PageSize::Size4K);
    for (bytes, noticed) in [(8, false), (16, true)] {
        let data = vec![0; bytes];
        let before = Gpa(ROOT.0 - 8);
        Dma::new(supply(&mut fixture.host, &mut fixture.vm, None, NoProcessors), 0).write(before, &data).unwrap();
        assert_eq!(fixture.vm.shadow_fence_due().is_some(), noticed, "{bytes} bytes");
    }
}

#[test]
fn a_page_that_becomes_a_table_is_protected_wherever_it_is_mapped() {
    for host_page in [PageSize::Size4K, PageSize::Size2M] {
        let mut fixture = fixture(host_page);
        // The page of a table to be, mapped for stores, on hart 0, and used so.
        let (table, window) = (ram(33 << 20), Gva(0x5000));
        fixture.map(ROOT, window, table, DATA);
        let End::Memory(at) = fixture.access(0, window, Access::Write) else { panic!("it is mapped") };
        fixture.host.memory.write(at, pte(ram(34 << 20), DATA)).unwrap();
        // Now it is linked, and walked on hart 1.
        fixture.store(Gpa(ROOT.0 + 4096 + 5 * 8), pte(table, V));
        let there = Gva(5 << 21);
        assert_eq!(fixture.access(1, there, Access::Read), End::Memory(fixture.hpa(ram(34 << 20)).unwrap()));
        fixture.counted();
        let End::Memory(at) = fixture.access(0, window, Access::Write) else { panic!("it is mapped still") };
        assert_eq!(fixture.counted().table_writes, 1, "hart 0 has no way around the hypervisor");
        fixture.host.memory.write(at, pte(ram(35 << 20), DATA)).unwrap();
        assert_eq!(fixture.access(1, there, Access::Read), End::Memory(fixture.hpa(ram(35 << 20)).unwrap()));
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn fences_take_no_exit() {
    let mut fixture = fixture(PageSize::Size4K);
    fixture.events.clear();
    fixture.fence(0, None, None);
    fixture.fence_all(Some(PAGE), Some(1));
    assert_eq!(fixture.events, []);
}

#[test]
fn a_store_to_one_entry_leaves_the_rest_of_the_tlb_alone() {
    let mut fixture = fixture(PageSize::Size4K);
    let neighbour = Gva(0x4000);
    fixture.map(ROOT, neighbour, ram(32 << 20), DATA);
    fixture.access(0, PAGE, Access::Read);
    fixture.access(0, neighbour, Access::Read);
    let walks = fixture.mmus[0].statistics().walks;
    fixture.map(ROOT, PAGE, ram(31 << 20), DATA);
    fixture.access(0, neighbour, Access::Read);
    assert_eq!(fixture.mmus[0].statistics().walks, walks, "the neighbour is in the TLB");
    assert_eq!(fixture.access(0, PAGE, Access::Read), End::Memory(fixture.hpa(ram(31 << 20)).unwrap()));
}

#[test]
fn a_store_across_two_entries_outdates_what_was_made_from_either() {
    let pages = [PAGE, Gva(0x4000)];
    for used in [&pages[..], &pages[..1]] {
        let mut fixture = fixture(PageSize::Size4K);
        fixture.map(ROOT, pages[1], ram(32 << 20), DATA);
        for &page in used {
            fixture.access(0, page, Access::Read);
        }
        let at = Gva(Fixture::entry(ROOT, PAGE).0 + 4);
        let End::Memory(hpa) = fixture.access(fixture.bare(), at, Access::Write) else { panic!("it is RAM") };
        let to = [ram(33 << 20), ram(34 << 20)];
        for (offset, page) in [0, 8].into_iter().zip(to) {
            fixture.host.memory.write(Hpa(hpa.0 - 4 + offset), pte(page, DATA)).unwrap();
        }
        for (page, to) in pages.into_iter().zip(to) {
            let end = fixture.access(0, page, Access::Write);
            assert_eq!(end, End::Memory(fixture.hpa(to).unwrap()), "{page}");
        }
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn a_store_to_a_table_with_two_places_outdates_both() {
    let mut fixture = fixture(PageSize::Size4K);
    // The second entry of the middle table leads to the same last-level table as the first.
    let again = Gva(PAGE.0 + (1 << 21));
    fixture.store(Gpa(ROOT.0 + 4096 + 8), pte(Gpa(ROOT.0 + 2 * 4096), V));
    for gva in [PAGE, again] {
        assert_eq!(fixture.access(0, gva, Access::Read), End::Memory(fixture.hpa(ram(30 << 20)).unwrap()));
    }
    fixture.map(ROOT, PAGE, ram(31 << 20), DATA);
    for gva in [PAGE, again] {
        let end = fixture.access(0, gva, Access::Write);
        assert_eq!(end, End::Memory(fixture.hpa(ram(31 << 20)).unwrap()), "{gva}");
    }
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn a_store_to_an_upper_entry_leaves_the_tables_beside_it_protected() {
    let mut fixture = fixture(PageSize::Size4K);
    let beside = Gva(1 << 21);
    fixture.map(ROOT, beside, ram(32 << 20), DATA);
    fixture.access(0, beside, Access::Read);
    fixture.counted();
    fixture.store(Gpa(ROOT.0 + 4096), 0);
    assert_eq!(fixture.counted().unprotects, 1, "the table of `PAGE`");
    fixture.map(ROOT, beside, ram(31 << 20), DATA);
    assert_eq!(fixture.counted().table_writes, 1);
    assert_eq!(fixture.access(0, beside, Access::Read), End::Memory(fixture.hpa(ram(31 << 20)).unwrap()));
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn a_large_page_around_a_table_is_mapped_in_pieces() {
    let mut fixture = fixture(PageSize::Size2M);
    // Data in the large page of the host in which the tables lie.
    fixture.store(Gpa(ROOT.0 + 64 * 4096), 1);
    fixture.counted();
    fixture.map(ROOT, PAGE, ram(31 << 20), DATA);
    assert_eq!(fixture.counted().table_writes, 1, "the store to the data has not made the table writable");
    assert_eq!(fixture.wrong(), [""; 0]);
}

#[test]
fn the_tables_of_a_space_whose_shadow_table_is_stolen_are_ordinary_pages() {
    let tables = Tables::Multiple(1);
    let mut fixture =
        Fixture::new(&Choice { tables, coherence: Coherence::WriteProtect, harts: 2, ..Choice::default() });
    let other = ram(2 << 20);
    for root in [ROOT, other] {
        fixture.space(root);
        fixture.map(root, PAGE, ram(30 << 20), DATA);
    }
    fixture.switch(0, ROOT, 1);
    fixture.access(0, PAGE, Access::Read);
    fixture.switch(0, other, 2);
    fixture.counted();
    fixture.map(ROOT, PAGE, ram(31 << 20), DATA);
    assert_eq!(fixture.counted().table_writes, 0);
    assert_eq!(fixture.wrong(), [""; 0]);
}
