use super::*;
use crate::memory::{HostPage, TableMemory};
use crate::stage::SecondStage;
use crate::{MmuConfig, TlbArray};
use std::collections::BTreeSet;
use types::TranslationContext;

/// Where a constant second stage leads, without translation in the first: no table is read.
struct Plain;

impl TableMemory for Plain {
    fn read(&mut self, _: Hpa) -> Option<u64> {
        None
    }

    fn compare_exchange(&mut self, _: Hpa, old: u64, _: u64) -> Option<u64> {
        Some(old)
    }

    fn host_page(&self, page: Hpa, size: PageSize) -> HostPage {
        if size == PageSize::Size4K {
            HostPage::Ram(std::ptr::without_provenance_mut(page.0 as usize))
        } else {
            HostPage::Mixed
        }
    }
}

const SETS: u64 = 4;
const WAYS: u64 = 4;

/// A guest on L1s and an L2 of four sets of four ways.
struct Guest {
    mmu: Mmu,
    stamp: u64,
}

impl Guest {
    fn new() -> Self {
        let array = || vec![TlbArray::new(&[PageSize::Size4K], SETS as u32, WAYS as u32)];
        let config = MmuConfig { l1d: array(), l1i: array(), l2: array(), ..MmuConfig::default() };
        let mut mmu = Mmu::new(&config).unwrap();
        mmu.set_context(&TranslationContext::default(), Vmid(1));
        Self { mmu, stamp: 1 }
    }

    fn access(&mut self, page: u64, access: Access) {
        self.stamp += 1;
        let second = SecondStage::Constant { ram: Gpa(0)..Gpa(1 << 40), offset: 0 };
        self.mmu.access(&mut Plain, &second, Gva(page << 12), access, self.stamp).unwrap();
    }

    /// Fills one set with pages, and returns those that it still holds after the hypervisor's use of `host_pages` pages of that set.
    fn left_after(&mut self, host_pages: u64, access: Access) -> BTreeSet<u64> {
        let pages = || (0..WAYS).map(|number| number * SETS);
        pages().for_each(|page| self.access(page, access));
        self.stamp += 1;
        for number in 0..host_pages {
            let page = Hpa((number * SETS) << 12);
            let mut host = HostPages::of(&mut self.mmu);
            assert!(!host.use_in_l1(page, access, self.stamp));
            assert!(!host.use_in_l2(page));
        }
        let host = HostPages::of(&mut self.mmu);
        pages().filter(|page| host.guest_hits(Gva(page << 12), access)).collect()
    }
}

#[test]
fn a_set_loses_as_many_entries_as_pages_come_and_no_more_than_its_ways() {
    for access in [Access::Read, Access::Write, Access::Execute] {
        for host_pages in 0..=WAYS + 2 {
            let mut guest = Guest::new();
            // Those used longest ago.
            let left: BTreeSet<u64> = (host_pages.min(WAYS)..WAYS).map(|number| number * SETS).collect();
            assert_eq!(guest.left_after(host_pages, access), left, "{access:?}, {host_pages}");
            let before = *guest.mmu.statistics();
            for number in (0..WAYS).rev() {
                guest.access(number * SETS, access);
            }
            let counted = guest.mmu.statistics().since(&before);
            let missed = host_pages.min(WAYS);
            assert_eq!(counted.l1d_misses + counted.l1i_misses, missed, "{access:?}, {host_pages}");
            assert_eq!((counted.l2_hits, counted.l2_misses), (0, missed), "{access:?}, {host_pages}");
        }
    }
}

#[test]
fn other_sets_and_the_other_first_level_keep_what_they_hold() {
    let mut guest = Guest::new();
    (0..SETS * WAYS).for_each(|page| guest.access(page, Access::Read));
    (0..SETS * WAYS).for_each(|page| guest.access(page, Access::Execute));
    for page in [1, 1 + SETS] {
        HostPages::of(&mut guest.mmu).use_in_l1(Hpa(page << 12), Access::Execute, 0);
    }
    let host = HostPages::of(&mut guest.mmu);
    let lost = |access| (0..SETS * WAYS).filter(|page| !host.guest_hits(Gva(page << 12), access)).collect::<Vec<_>>();
    assert_eq!(lost(Access::Read), []);
    assert_eq!(lost(Access::Execute), [1, 1 + SETS]);
}

/// A page of the hypervisor's at the address of a guest's answers no guest, and nothing of it is counted.
#[test]
fn no_guest_hits_a_page_of_the_hypervisors() {
    let mut guest = Guest::new();
    let before = *guest.mmu.statistics();
    for access in [Access::Read, Access::Execute] {
        HostPages::of(&mut guest.mmu).use_in_l1(Hpa(0), access, 1);
    }
    HostPages::of(&mut guest.mmu).use_in_l2(Hpa(0));
    assert_eq!(*guest.mmu.statistics(), before);
    for access in [Access::Read, Access::Write, Access::Execute] {
        assert!(!HostPages::of(&mut guest.mmu).guest_hits(Gva(DIRECT_MAP), access));
    }
    let mut host = HostPages::of(&mut guest.mmu);
    assert!(
        host.use_in_l1(Hpa(0), Access::Read, 2) && host.use_in_l1(Hpa(0), Access::Execute, 2) && host.use_in_l2(Hpa(0))
    );
}
