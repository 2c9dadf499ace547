//! Fences that the hypervisor makes are wide enough: what a shadow table no longer has, no TLB has.

use super::fixture::{Choice, D, DATA, End, Fixture, RAM, pte, ram};
use crate::shadow::{Coherence, Invalidation};
use mmu::{Mmu, MmuConfig, TlbArray};
use types::{Access, Gpa, Gva, PageSize, TranslationContext};

const ROOT: Gpa = ram(1 << 20);
const PAGE: Gva = Gva(0x3000);

/// Where a large page is mapped, and the entry of the middle table that maps it.
const LARGE: Gva = Gva(16 << 20);
const ENTRY_OF_LARGE: Gpa = Gpa(ROOT.0 + 4096 + 8 * 8);

/// The second small page of the large one.
const SECOND: Gva = Gva(LARGE.0 + 4096);

fn fixture(choice: &Choice) -> Fixture {
    let mut fixture = Fixture::new(choice);
    fixture.space(ROOT);
    fixture
}

/// The host has small pages, so that a shadow table has the guest's large page in pieces.
#[test]
fn a_partial_purge_of_a_large_page_in_pieces_takes_all_of_them() {
    let mut fixture = fixture(&Choice::default());
    fixture.store(ENTRY_OF_LARGE, pte(ram(32 << 20), DATA));
    fixture.switch(0, ROOT, 1);
    for gva in [LARGE, SECOND] {
        assert!(matches!(fixture.access(0, gva, Access::Read), End::Memory(_)));
    }
    fixture.partial_purge(0, ENTRY_OF_LARGE, LARGE, true);
    for gva in [SECOND, LARGE] {
        assert_eq!(fixture.access(0, gva, Access::Read), End::PageFault, "{gva}");
    }
    assert_eq!(fixture.wrong(), [""; 0]);
}

/// The hypervisor clears the entry of a protected table itself, and nothing that was made from it is left for the purge to find.
#[test]
fn a_partial_purge_of_a_protected_table_reaches_the_tlb_of_a_single_processor() {
    let mut fixture = fixture(&Choice { coherence: Coherence::WriteProtect, harts: 1, ..Choice::default() });
    let entry = Fixture::entry(ROOT, PAGE);
    fixture.map(ROOT, PAGE, ram(30 << 20), DATA);
    fixture.switch(0, ROOT, 1);
    assert!(matches!(fixture.access(0, PAGE, Access::Read), End::Memory(_)));
    fixture.partial_purge(0, entry, PAGE, true);
    assert_eq!(fixture.access(0, PAGE, Access::Read), End::PageFault);
    fixture.enter(0, TranslationContext::default());
    assert_eq!(fixture.load(entry) & 1, 0);
    assert_eq!(fixture.wrong(), [""; 0]);
}

/// Section 3.1 of the paper: what is invalidated in full takes the TLB with it.
#[test]
fn a_full_invalidation_empties_the_tlb() {
    let mut fixture = fixture(&Choice { invalidation: Invalidation::Full, ..Choice::default() });
    let other = Gva(0x4000);
    for (gva, at) in [(PAGE, ram(30 << 20)), (other, ram(31 << 20))] {
        fixture.map(ROOT, gva, at, DATA);
    }
    fixture.switch(0, ROOT, 1);
    for gva in [PAGE, other] {
        fixture.access(0, gva, Access::Read);
    }
    fixture.fence(0, Some(PAGE), None);
    let walks = fixture.mmus[0].statistics().walks;
    fixture.access(0, other, Access::Read);
    assert!(fixture.mmus[0].statistics().walks > walks, "the TLB has what the tables no longer have");
}

/// A TLB without large entries has a large page in pieces, and loses all of them with the page's entry.
#[test]
fn a_large_page_that_is_displaced_leaves_no_piece_in_a_tlb() {
    let mut fixture = fixture(&Choice { host_page: PageSize::Size2M, harts: 3, ..Choice::default() });
    let small = || vec![TlbArray::new(&[PageSize::Size4K], 16, 4)];
    let config = MmuConfig { l1i: small(), l1d: small(), l2: Vec::new(), ..MmuConfig::default() };
    fixture.mmus[0] = Mmu::new(&config).unwrap();
    // Clean, so that a store takes a fault.
    fixture.store(ENTRY_OF_LARGE, pte(ram(RAM / 2), DATA & !D));
    for hart in [0, 1] {
        fixture.switch(hart, ROOT, 1);
    }
    let [old, new] = [RAM / 2, RAM / 4].map(|page| move |gva: Gva| ram(page + (gva.0 - LARGE.0)));
    for gva in [LARGE, SECOND] {
        assert_eq!(fixture.access(0, gva, Access::Read), End::Memory(fixture.hpa(old(gva)).unwrap()));
    }
    fixture.store(ENTRY_OF_LARGE, pte(ram(RAM / 4), DATA));
    assert_eq!(fixture.access(1, LARGE, Access::Write), End::Memory(fixture.hpa(new(LARGE)).unwrap()));
    for gva in [SECOND, LARGE] {
        assert_eq!(fixture.access(0, gva, Access::Read), End::Memory(fixture.hpa(new(gva)).unwrap()), "{gva}");
    }
    assert_eq!(fixture.wrong(), [""; 0]);
}
