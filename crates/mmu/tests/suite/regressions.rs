//! What the fuzz found, named after the bug.

use crate::common::builder::{A, D, R, U, W, X};
use crate::common::fixture::Fixture;
use mmu::{
    Cause, DirectSegment, EscapeFilter, Fault, L1Entry, MmuConfig, NestedFault, Purpose, SecondStage, Segment,
    Segments, ShadowRoot,
};
use types::{Access, Gpa, Gva, PageSize, PagingMode, Width};

const ALL: u64 = R | W | X | U | A | D;

/// A stale nested-TLB entry let a guest PTE be read in one frame; the update of its A bit then went to the frame that
/// the tables name now, found another PTE there, and went back to read the first one, for ever.
#[test]
fn a_stale_nested_tlb_entry_does_not_hang_the_update_of_a_bits() {
    let mut fixture = Fixture::nested(&MmuConfig::default());
    let (gva, gpa) = (0x1000, 0x9000_0000);
    fixture.map(gva, PageSize::Size4K, gpa, R | U);
    fixture.map_host(gpa, PageSize::Size4K, gpa, ALL);
    // The guest's tables are readable and not dirty, so that their update must ask the second stage again.
    for region in [0x8000_0000, 0x8020_0000] {
        fixture.map_host(region, PageSize::Size2M, region, R | W | U | A);
    }
    let other = 0x9100_0000;
    fixture.map(0x2000, PageSize::Size4K, gpa, R | U | A);
    fixture.access(0x2000, Access::Read).unwrap();
    // The hypervisor moves all of the tables to other frames, but does not fence.
    for page in 0..0x400 {
        let at = 0x8000_0000 + page * 0x1000;
        for word in 0..512 {
            let pte = fixture.memory.peek(at + word * 8);
            if pte != 0 {
                fixture.memory.write(other + page * 0x1000 + word * 8, pte | 1 << 8);
            }
        }
        fixture.map_host(at, PageSize::Size4K, other + page * 0x1000, R | W | U | A);
    }
    let hit = fixture.access(gva, Access::Read).unwrap();
    assert_eq!(hit.gpa.0, gpa);
}

/// A page larger than the mode's largest, left under the same ASID by a mode with more levels, spans addresses that are
/// not canonical in this one; the fast copy hit them.
#[test]
fn a_larger_modes_huge_page_does_not_hit_where_addresses_are_not_canonical() {
    let mut fixture = Fixture::native(&MmuConfig::default());
    fixture.context.mode = PagingMode::Sv48;
    fixture.enter();
    fixture.map(0, PageSize::Size512G, 0x80_0000_0000, ALL);
    fixture.access(0x1000, Access::Read).unwrap();
    fixture.context.mode = PagingMode::Sv39;
    fixture.enter();
    let slot = fixture.access(0x1000, Access::Read).unwrap().slot;
    let (view, stamp) = (fixture.mmu.data_view(), fixture.stamp());
    // Bit 38 is set, and those above it are not.
    let wild = Gva(0x40_0000_1000);
    // SAFETY: the view and the slot are this MMU's.
    assert_eq!(unsafe { L1Entry::read_hit(view, slot, wild, Width::Double, stamp) }, None);
    // SAFETY: as above.
    assert!(unsafe { L1Entry::read_hit(view, slot, Gva(0x1008), Width::Double, stamp) }.is_some());
    assert!(fixture.access(wild.0, Access::Read).is_err());
}

/// The address of a walk of agile paging has its mode in the upper four bits: a guest's segment that leads beyond all second stages lost bits of the
/// address that the fault names.
#[test]
fn an_address_with_more_bits_than_a_second_stage_is_refused_whole_under_agile_paging() {
    let mut fixture = Fixture::nested(&MmuConfig::default());
    let SecondStage::Nested { mode, root } = fixture.second else { panic!("the fixture is nested") };
    fixture.second = SecondStage::Agile { mode, root, shadow: ShadowRoot::NONE };
    let target = Gpa(0x20b4_9191_d666_d000);
    let segment = Segment::of_guest(Gva(0x1000)..Gva(0x2000), target).unwrap();
    let guest = DirectSegment { segment, escape: EscapeFilter::default() };
    fixture.mmu.set_segments(&Segments { guest, hypervisor: DirectSegment::default() });
    let refused = NestedFault {
        gpa: target.wrapping_add(0xf38),
        access: Access::Write,
        purpose: Purpose::Data,
        cause: Cause::TooWide,
    };
    assert_eq!(fixture.access(0x1f38, Access::Write), Err(Fault::Nested(refused)));
}
