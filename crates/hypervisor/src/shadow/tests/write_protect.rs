//! Guest tables that are write-protected: a store to them outdates at once what was made from them, without a fence.

use super::bed::{Bed, Choice, DATA, End, V, pte, ram};
use crate::dma::Dma;
use crate::shadow::{Coherence, Tables};
use crate::testing::{NoProcessors, supply};
use types::{Access, Gpa, Gva, PageSize};

const ROOT: Gpa = ram(1 << 20);
const PAGE: Gva = Gva(0x3000);

fn bed(host_page: PageSize) -> Bed {
    let choice = Choice {
        tables: Tables::Multiple(4),
        coherence: Coherence::WriteProtect,
        host_page,
        harts: 3,
        ..Choice::default()
    };
    let mut bed = Bed::new(&choice);
    bed.space(ROOT);
    bed.map(ROOT, PAGE, ram(30 << 20), DATA);
    for hart in [0, 1] {
        bed.switch(hart, ROOT, 1);
        bed.access(hart, PAGE, Access::Write);
    }
    bed.counted();
    bed
}

#[test]
fn a_store_to_a_table_outdates_its_entry_on_every_hart() {
    for host_page in [PageSize::Size4K, PageSize::Size2M] {
        let mut bed = bed(host_page);
        bed.map(ROOT, PAGE, ram(31 << 20), DATA);
        assert_eq!(bed.counted().table_writes, 1);
        for hart in [0, 1] {
            assert_eq!(bed.access(hart, PAGE, Access::Write), End::Memory(bed.hpa(ram(31 << 20)).unwrap()));
        }
        bed.map(ROOT, PAGE, ram(31 << 20), 0);
        assert_eq!(bed.access(0, PAGE, Access::Read), End::PageFault);
        assert_eq!(bed.wrong(), [""; 0]);
    }
}

#[test]
fn a_store_to_an_upper_table_outdates_everything_below() {
    let mut bed = bed(PageSize::Size4K);
    bed.map(ROOT, Gva(0x4000), ram(32 << 20), DATA);
    bed.access(0, Gva(0x4000), Access::Read);
    bed.store(Gpa(ROOT.0 + 4096), 0);
    for gva in [PAGE, Gva(0x4000)] {
        assert_eq!(bed.access(1, gva, Access::Read), End::PageFault);
    }
    // The table below is a table no more, and stores to it are nobody's business.
    bed.counted();
    for _ in 0..3 {
        bed.map(ROOT, PAGE, ram(31 << 20), DATA);
    }
    assert_eq!(bed.counted().table_writes, 0);
    assert_eq!(bed.wrong(), [""; 0]);
}

#[test]
fn a_page_that_is_stored_to_again_and_again_is_no_table() {
    let mut bed = bed(PageSize::Size4K);
    for number in 0..100 {
        bed.map(ROOT, Gva(number << 12), ram((30 << 20) + (number << 12)), DATA);
    }
    let counted = bed.counted();
    assert_eq!((counted.table_writes, counted.unprotects), (3, 1), "the third store is one too many");
    // Until a walk reads it again.
    assert_eq!(bed.access(0, PAGE, Access::Read), End::Memory(bed.hpa(ram((30 << 20) + 0x3000)).unwrap()));
    bed.map(ROOT, PAGE, ram(29 << 20), DATA);
    assert_eq!(bed.counted().table_writes, 1);
    assert_eq!(bed.access(0, PAGE, Access::Read), End::Memory(bed.hpa(ram(29 << 20)).unwrap()));
    assert_eq!(bed.wrong(), [""; 0]);
}

#[test]
fn a_device_that_writes_to_a_table_is_noticed() {
    let mut bed = bed(PageSize::Size4K);
    let entry = pte(ram(31 << 20), DATA).to_le_bytes();
    let write = |bed: &mut Bed, at| {
        Dma::new(supply(&mut bed.host, &mut bed.vm, None, NoProcessors), 0).write(at, &entry).unwrap();
    };
    write(&mut bed, Bed::entry(ROOT, PAGE));
    let fence = bed.vm.shadow_fence_due().expect("the TLBs have the old page");
    bed.mmus.iter_mut().for_each(|mmu| mmu.fence(&fence));
    assert_eq!(bed.vm.shadow_fence_due(), None);
    assert_eq!(bed.access(0, PAGE, Access::Read), End::Memory(bed.hpa(ram(31 << 20)).unwrap()));
    write(&mut bed, ram(40 << 20));
    assert_eq!(bed.vm.shadow_fence_due(), None, "a page of data");
    assert_eq!(bed.wrong(), [""; 0]);
}

#[test]
fn a_page_that_becomes_a_table_is_protected_wherever_it_is_mapped() {
    for host_page in [PageSize::Size4K, PageSize::Size2M] {
        let mut bed = bed(host_page);
        // The page of a table to be, mapped for stores, on hart 0, and used so.
        let (table, window) = (ram(33 << 20), Gva(0x5000));
        bed.map(ROOT, window, table, DATA);
        let End::Memory(at) = bed.access(0, window, Access::Write) else { panic!("it is mapped") };
        bed.host.memory.write(at, pte(ram(34 << 20), DATA)).unwrap();
        // Now it is linked, and walked on hart 1.
        bed.store(Gpa(ROOT.0 + 4096 + 5 * 8), pte(table, V));
        let there = Gva(5 << 21);
        assert_eq!(bed.access(1, there, Access::Read), End::Memory(bed.hpa(ram(34 << 20)).unwrap()));
        bed.counted();
        let End::Memory(at) = bed.access(0, window, Access::Write) else { panic!("it is mapped still") };
        assert_eq!(bed.counted().table_writes, 1, "hart 0 has no way around the hypervisor");
        bed.host.memory.write(at, pte(ram(35 << 20), DATA)).unwrap();
        assert_eq!(bed.access(1, there, Access::Read), End::Memory(bed.hpa(ram(35 << 20)).unwrap()));
        assert_eq!(bed.wrong(), [""; 0]);
    }
}

#[test]
fn fences_take_no_exit() {
    let mut bed = bed(PageSize::Size4K);
    bed.events.clear();
    bed.fence(0, None, None);
    bed.fence_all(Some(PAGE), Some(1));
    assert_eq!(bed.events, []);
}
