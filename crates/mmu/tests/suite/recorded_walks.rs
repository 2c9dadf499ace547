//! The walks that reports show: with what the processor remembers, and with nothing.

use crate::common::builder::{A, D, R, U, W};
use crate::common::fixture::Fixture;
use mmu::{Memo, MmuConfig};
use types::{Access, Gva, PageSize};

const FLAGS: u64 = R | W | U | A | D;
const GVA: u64 = 0x4000_0000;
const GPA: u64 = 0xc000_0000;
/// A page beside that one, for which the same tables are read.
const NEIGHBOUR: u64 = GVA + 0x1000;

/// Two neighbours, and everything that their walks read, in base pages of the second stage.
fn fixture() -> Fixture {
    let mut fixture = Fixture::nested(&MmuConfig::default());
    fixture.map(GVA, PageSize::Size4K, GPA, FLAGS);
    fixture.map(NEIGHBOUR, PageSize::Size4K, GPA + 0x1000, FLAGS);
    for region in [0x8000_0000, 0x8020_0000, GPA] {
        for page in (region..region + (2 << 20)).step_by(4096) {
            fixture.map_host(page, PageSize::Size4K, page, FLAGS);
        }
    }
    fixture
}

fn references(fixture: &mut Fixture, memo: Memo) -> usize {
    let Fixture { mmu, memory, second, .. } = fixture;
    mmu.record_walk(memory, second, Gva(GVA), memo).unwrap().references()
}

/// Regression: a mutant that forgot nothing passed every test of this crate. A report showed the walk of warm walk caches as the whole one.
#[test]
fn a_walk_with_nothing_remembered_reads_every_level() {
    // (3 + 1) × (3 + 1) − 1, as the closed form of Sv39 on Sv39x4 has it.
    const WHOLE: usize = 15;
    let mut fixture = fixture();
    assert_eq!(references(&mut fixture, Memo::Empty), WHOLE);
    // The walk caches remember what the walk itself has read.
    let first = references(&mut fixture, Memo::AsItIs);
    fixture.access(NEIGHBOUR, Access::Read).unwrap();
    assert_eq!(references(&mut fixture, Memo::Empty), WHOLE);
    let next = references(&mut fixture, Memo::AsItIs);
    assert!(next < first && first < WHOLE, "{next} and {first} references");
}

/// Regression: a mutant that returned no pages passed every test of this crate. A report then had no page whose walk it could show.
#[test]
fn the_pages_of_the_l1d_are_those_that_loads_hit() {
    let mut fixture = fixture();
    assert_eq!(fixture.mmu.data_pages(), []);
    for gva in [NEIGHBOUR, GVA] {
        fixture.access(gva + 8, Access::Read).unwrap();
    }
    let page = |gva| (Gva(gva), PageSize::Size4K);
    assert_eq!(fixture.mmu.data_pages(), [page(GVA), page(NEIGHBOUR)], "in the order of their addresses");
}
