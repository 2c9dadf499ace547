//! Guest tables that are write-protected: a store to them outdates at once what was made from them, without a fence.

use super::fixture::{Choice, DATA, End, Fixture, V, pte, ram};
use crate::dma::Dma;
use crate::shadow::{Coherence, Tables};
use crate::testing::{NoProcessors, supply};
use types::{Access, Gpa, Gva, PageSize};

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
