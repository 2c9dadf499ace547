//! Levels between the L2 and the walker: a TLB in memory that is looked up by one reference, and an L3.

use crate::common::builder::{A, D, R, U, W};
use crate::common::fixture::Fixture;
use mmu::{Fence, L3, MmuConfig, MmuStatistics, OuterEntry, OuterTlb, References, TlbArray, WalkCaches};
use types::{Access, Asid, Gva, Hpa, PageSize::Size4K, Vmid};

const PAGES: u64 = 64;
const FLAGS: u64 = R | W | U | A | D;
/// Where the TLB in memory lies.
const BASE: Hpa = Hpa(0x9000_0000);

/// A part-of-memory TLB of base pages: a set is a line of 64 bytes with four entries, and is read at once. The replacement is FIFO.
#[derive(Debug)]
struct InMemory {
    sets: Vec<Vec<OuterEntry>>,
}

impl InMemory {
    fn new(sets: usize) -> Box<Self> {
        Box::new(Self { sets: vec![Vec::new(); sets] })
    }

    fn index(&self, gva: Gva) -> usize {
        (gva.0 >> 12) as usize % self.sets.len()
    }
}

impl OuterTlb for InMemory {
    fn look_up(
        &mut self,
        gva: Gva,
        answers: &dyn Fn(&OuterEntry) -> bool,
        memory: &mut References<'_>,
    ) -> Option<OuterEntry> {
        let index = self.index(gva);
        memory.read(Hpa(BASE.0 + index as u64 * 64)).expect("the TLB is in memory");
        self.sets[index].iter().copied().find(answers)
    }

    fn fill(&mut self, gva: Gva, entry: &OuterEntry) {
        let index = self.index(gva);
        let set = &mut self.sets[index];
        set.retain(|other| !other.is_same_page(entry));
        set.truncate(3);
        set.insert(0, *entry);
    }

    fn remove(&mut self, gva: Option<Gva>, drops: &dyn Fn(&OuterEntry) -> bool) {
        let named = |entry: &OuterEntry| gva.is_none_or(|gva| entry.covers(gva)) && drops(entry);
        self.sets.iter_mut().for_each(|set| set.retain(|entry| !named(entry)));
    }
}

/// TLBs of eight pages, without walk caches: each walk of Sv39 makes three references.
fn config() -> MmuConfig {
    let small = || vec![TlbArray::new(&[Size4K], 1, 4)];
    let l2 = vec![TlbArray::new(&[Size4K], 4, 2)];
    MmuConfig { l1d: small(), l1i: small(), l2, walk_caches: WalkCaches::OFF, ..MmuConfig::default() }
}

fn fixture(level: Option<Box<dyn OuterTlb>>) -> Fixture {
    let mut fixture = Fixture::native(&config());
    level.into_iter().for_each(|level| fixture.mmu.add_outer_level(level));
    for page in 0..PAGES {
        fixture.map(page << 12, Size4K, 0xa000_0000 + (page << 12), FLAGS);
    }
    fixture
}

/// What is counted as all pages are loaded in turn, again and again.
fn stride(fixture: &mut Fixture, rounds: u64) -> MmuStatistics {
    let before = *fixture.mmu.statistics();
    for page in (0..rounds).flat_map(|_| 0..PAGES) {
        let hit = fixture.access(page << 12 | 8, Access::Read).unwrap();
        assert_eq!(hit.hpa, Hpa(0xa000_0000 + (page << 12) + 8));
    }
    fixture.mmu.statistics().since(&before)
}

#[test]
fn a_tlb_in_memory_takes_one_reference_where_a_walk_takes_three() {
    let without = stride(&mut fixture(None), 10);
    assert_eq!((without.walks, without.refs()), (10 * PAGES, 30 * PAGES), "the stride does not fit the L2");
    assert_eq!((without.outer_hits, without.outer_misses, without.outer_refs), (0, 0, 0));

    let mut fixture = fixture(Some(InMemory::new(32)));
    let cold = stride(&mut fixture, 1);
    assert_eq!((cold.outer_hits, cold.outer_misses, cold.outer_refs), (0, PAGES, PAGES));
    assert_eq!((cold.walks, cold.refs()), (PAGES, 3 * PAGES));
    let warm = stride(&mut fixture, 9);
    assert_eq!((warm.outer_hits, warm.outer_misses, warm.outer_refs), (9 * PAGES, 0, 9 * PAGES));
    assert_eq!((warm.walks, warm.refs(), warm.l2_misses), (0, 0, 9 * PAGES));
}

#[test]
fn an_l3_makes_no_references_and_levels_form_a_chain() {
    let l3 = || Box::new(L3::new(&[TlbArray::new(&[Size4K], 4, 4)]).unwrap());
    let mut fixture = fixture(Some(l3()));
    fixture.mmu.add_outer_level(InMemory::new(32));
    assert_eq!(fixture.mmu.outer_levels().len(), 2);
    stride(&mut fixture, 1);
    // Sixteen pages fit the L3, which has what the TLB in memory has found.
    for round in 0..3 {
        let before = *fixture.mmu.statistics();
        for page in 0..16 {
            fixture.access(page << 12, Access::Read).unwrap();
        }
        let counts = fixture.mmu.statistics().since(&before);
        assert_eq!((counts.walks, counts.outer_hits), (0, 16), "round {round}");
        assert_eq!(counts.outer_refs, if round == 0 { 16 } else { 0 }, "round {round}");
    }
    let problem = L3::new(&[TlbArray::new(&[Size4K], 3, 4)]).unwrap_err().to_string();
    assert_eq!(problem, "l3: 3 sets are not a power of two");
}

#[test]
fn fences_remove_what_they_name_from_outer_levels() {
    let l3 = L3::new(&[TlbArray::new(&[Size4K], 16, 8)]).unwrap();
    let levels: [Box<dyn OuterTlb>; 2] = [InMemory::new(64), Box::new(l3)];
    for level in levels {
        let mut fixture = fixture(Some(level));
        stride(&mut fixture, 1);
        let mut walks_after = |fence: Fence| {
            fixture.mmu.fence(&fence);
            stride(&mut fixture, 1).walks
        };
        assert_eq!(walks_after(Fence::Vma { gva: Some(Gva(5 << 12)), asid: None }), 1);
        assert_eq!(walks_after(Fence::Vma { gva: Some(Gva(5 << 12)), asid: Some(Asid(2)) }), 0);
        assert_eq!(walks_after(Fence::Vma { gva: None, asid: Some(Asid(1)) }), PAGES);
        assert_eq!(walks_after(Fence::Vvma { vmid: Vmid(2), gva: None, asid: None }), 0);
        assert_eq!(walks_after(Fence::Gvma { gpa: None, vmid: Some(Vmid(1)) }), PAGES);
        assert_eq!(walks_after(Fence::Gvma { gpa: None, vmid: Some(Vmid(3)) }), 0);
    }
}

#[test]
fn an_outer_entry_answers_only_its_address_space_and_what_it_permits() {
    let mut fixture = fixture(Some(InMemory::new(64)));
    fixture.map(0, Size4K, 0xa000_0000, R | U | A);
    stride(&mut fixture, 1);
    // Without W a store walks, and faults.
    let before = fixture.mmu.statistics().walks;
    fixture.access(0, Access::Write).unwrap_err();
    assert_eq!(fixture.mmu.statistics().walks, before + 1);
    // Once the page is writable the store's walk replaces the entry for the page, so that stores hit it.
    fixture.map(0, Size4K, 0xa000_0000, FLAGS);
    for walks in [1, 0] {
        let before = fixture.mmu.statistics().walks;
        fixture.access(0, Access::Write).unwrap();
        assert_eq!(fixture.mmu.statistics().walks, before + walks);
        for page in 1..PAGES {
            fixture.access(page << 12, Access::Read).unwrap();
        }
    }
    let (asid, vmid) = (fixture.context.asid, fixture.vmid);
    fixture.context.asid = Asid(7);
    fixture.enter();
    assert!(fixture.walks(0), "another ASID");
    (fixture.context.asid, fixture.vmid) = (asid, Vmid(9));
    fixture.enter();
    assert!(fixture.walks(0), "another VMID");
    fixture.vmid = vmid;
    fixture.enter();
    assert!(!fixture.walks(0));
}
