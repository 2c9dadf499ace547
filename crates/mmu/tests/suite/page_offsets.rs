//! What a walk counts does not depend on where in its page the access falls: the tables do not see those bits. Every offset is tried, through
//! every kind of second stage, on the fast path and on the general one.

use crate::closed_form::ROUTINE;
use crate::common::builder::{A, D, R, U, W, X, flat, leaf};
use crate::common::fixture::{Fixture, HOST_ROOT};
use mmu::{Fence, MmuConfig, MmuStatistics, Refill, SecondStage, WalkCaches};
use types::{Access, Gpa, Gva, Hpa, PageSize};

const FLAGS: u64 = R | W | X | U | A | D;
/// Where the guest's page is; aligned to every size used here.
const GVA: u64 = 0x40_0000_0000 - (1 << 30);
const GPA: u64 = 0xc000_0000;
/// A base page in the same gibibyte, under another table of the last level; and where it leads, in the same 2M.
const NEIGHBOUR: u64 = GVA + (1 << 29);
const NEIGHBOUR_GPA: u64 = GPA + 0x10_0000;
/// The guest's tables, and what `Fixture` gives out for more of them.
const TABLES: [u64; 2] = [0x8000_0000, 0x8020_0000];

#[derive(Clone, Copy, Debug)]
enum Stage {
    Constant,
    Nested,
    Flat,
    Reserved,
}

/// What is cached before an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Before {
    Nothing,
    /// A base page nearby: then the fast path takes base pages.
    Neighbour,
}

/// A guest with one page of `size`, and a neighbour. The second stage has base pages where the fast path is to take them, and else 2M pages.
fn fixture(config: &MmuConfig, stage: Stage, size: PageSize, before: Before) -> Fixture {
    let ram = Gpa(0x8000_0000)..Gpa(1 << 45);
    let mut fixture = match stage {
        Stage::Nested => Fixture::nested(config),
        Stage::Constant | Stage::Flat | Stage::Reserved => Fixture::native(config),
    };
    fixture.map(GVA, size, GPA, FLAGS);
    if size < PageSize::Size1G {
        fixture.map(NEIGHBOUR, PageSize::Size4K, NEIGHBOUR_GPA, FLAGS);
    }
    let regions = TABLES.into_iter().chain((0..size.bytes().div_ceil(2 << 20)).map(|piece| GPA + (piece << 21)));
    let (host_size, pieces) = match before {
        Before::Nothing => (PageSize::Size2M, 1),
        Before::Neighbour => (PageSize::Size4K, 512),
    };
    let host_pages = regions.flat_map(|region| (0..pieces).map(move |piece| region + piece * 4096));
    match stage {
        Stage::Constant => {}
        Stage::Nested => host_pages.for_each(|page| fixture.map_host(page, host_size, page, FLAGS)),
        Stage::Flat => {
            let (first, entries) = (ram.start, 1 << 20);
            for page in host_pages {
                for (at, pte) in flat(HOST_ROOT, first.0, entries, page, leaf(page, host_size, FLAGS)) {
                    fixture.memory.write(at, pte);
                }
            }
            fixture.second = SecondStage::Flat { table: Hpa(HOST_ROOT), first, entries };
        }
        Stage::Reserved => fixture.second = SecondStage::Reserved { ram, offset: 0 },
    }
    fixture
}

/// What one access counts, and whether the fast path made it.
fn count(fixture: &mut Fixture, before: Before, gva: u64, access: Access) -> (MmuStatistics, bool) {
    fixture.mmu.fence(&Fence::Vvma { vmid: fixture.vmid, gva: None, asid: None });
    fixture.mmu.fence(&Fence::Gvma { gpa: None, vmid: None });
    if before == Before::Neighbour {
        for access in [Access::Read, Access::Execute] {
            fixture.access(NEIGHBOUR, access).unwrap();
        }
    }
    fixture.mmu.restart_maximum();
    let statistics = *fixture.mmu.statistics();
    let (gva, stamp) = (Gva(gva), fixture.stamp());
    let Fixture { mmu, memory, second, .. } = fixture;
    let unfinished = match mmu.fast_access(memory, || second.clone(), gva, access, stamp) {
        Ok(slot) => Err(slot),
        Err(unfinished) => Ok(unfinished.finish(memory, || second.clone()).unwrap()),
    };
    let (hit, fast) = match unfinished {
        Ok(hit) => (hit, false),
        Err(slot) => (mmu.hit(slot, gva, access), true),
    };
    let offset = gva.0 - GVA;
    assert_eq!((hit.gpa, hit.hpa), (Gpa(GPA + offset), Hpa(GPA + offset)), "{access:?} of {gva}");
    (mmu.statistics().since(&statistics), fast)
}

/// Compares every offset in a base page, each in another base page of the page, with the page's start.
fn every_offset_counts_alike(config: &MmuConfig, stage: Stage, size: PageSize, before: Before) {
    let mut fixture = fixture(config, stage, size, before);
    for access in [Access::Read, Access::Write, Access::Execute] {
        let expected = count(&mut fixture, before, GVA, access);
        assert_eq!(expected.0.walks, 1, "{stage:?}, {size}");
        // Through tables of the second stage, the fast path may leave the walk to the general one halfway.
        if before == Before::Neighbour
            && config.refill == Refill::Hardware
            && matches!(stage, Stage::Constant | Stage::Reserved)
        {
            assert!(expected.1, "{stage:?}, {size}: the fast path is not taken");
        }
        // Fetches are of two bytes.
        let step = if access == Access::Execute { 2 } else { 1 };
        for offset in (0..4096).step_by(step) {
            let gva = GVA + (offset << 12 & (size.bytes() - 1)) + offset;
            let seen = count(&mut fixture, before, gva, access);
            assert_eq!(seen, expected, "{stage:?}, {size}, {before:?}, {access:?} at offset {offset:#x}");
        }
    }
}

fn every_walk_counts_alike(config: &MmuConfig) {
    for stage in [Stage::Constant, Stage::Nested, Stage::Flat, Stage::Reserved] {
        for size in [PageSize::Size4K, PageSize::Size64K, PageSize::Size2M, PageSize::Size1G] {
            every_offset_counts_alike(config, stage, size, Before::Nothing);
        }
        every_offset_counts_alike(config, stage, PageSize::Size4K, Before::Neighbour);
    }
}

/// A mutant that counted a reference too many for the accesses at one offset passed every test: closed forms were compared at offset 0
/// alone, and the random steps of the differential test rarely walk at a given offset.
#[test]
fn a_walk_at_any_page_offset_is_counted_as_one_at_the_pages_start() {
    every_walk_counts_alike(&MmuConfig::default());
    every_walk_counts_alike(&MmuConfig { walk_caches: WalkCaches::OFF, ..MmuConfig::default() });
}

/// Walks by a refill routine count alike at any page offset, too. None of them is on the fast path.
#[test]
fn a_refill_at_any_page_offset_takes_the_same_instructions() {
    every_walk_counts_alike(&MmuConfig { nested_tlb: None, refill: Refill::Software(ROUTINE), ..MmuConfig::default() });
}
