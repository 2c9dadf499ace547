//! What the hypervisor's own work displaces (docs/footprint.md).
//!
//! An event uses its lines, and its pages in the L2 TLB, at once. They enter an L1 TLB when the guest next misses in it, each once, in the order of
//! their last uses. The reason is that engines keep the entries that a block hits: an exit in the middle of a block may not take away the page that the
//! hart executes from. In the L1D the pages have the time of the guest's access before the miss.

use crate::caches::{Caches, Found};
use crate::results::footprint::FootprintStatistics;
use hypervisor::footprint::{FootprintEvent, FootprintPlace, FootprintPlan, Touched};
use memory::HOST_BASE;
use mmu::{HostPages, Mmu};
use types::{Access, Gva, Hpa};

/// What the hypervisor touches, and what has come of it.
#[derive(Debug)]
pub(crate) struct Footprint {
    plan: FootprintPlan,
    own: Vec<OwnFootprint>,
}

/// The part of one pCPU.
#[derive(Debug, Default)]
struct OwnFootprint {
    /// Pages that have not entered the L1D yet, from the least to the most recently used.
    data: Vec<Hpa>,
    /// The same of the L1I.
    code: Vec<Hpa>,
    statistics: FootprintStatistics,
}

impl Footprint {
    /// Nothing has happened on any of so many pCPUs.
    pub(crate) fn new(plan: FootprintPlan, pcpus: usize) -> Self {
        Self { plan, own: (0..pcpus).map(|_| OwnFootprint::default()).collect() }
    }

    /// What was counted on a pCPU.
    pub(crate) fn statistics(&self, pcpu: usize) -> FootprintStatistics {
        self.own[pcpu].statistics
    }

    /// An event happens on a pCPU, which has this MMU, and whose caches are among `caches` if they are modelled.
    pub(crate) fn touch(
        &mut self,
        at: FootprintPlace,
        event: FootprintEvent,
        mmu: &mut Mmu,
        mut caches: Option<&mut Caches>,
    ) {
        let own = &mut self.own[at.pcpu];
        own.statistics.events += 1;
        for touched in self.plan.touched(event, at) {
            own.use_pages(&touched, mmu);
            if let Some(caches) = &mut caches {
                own.use_lines(&touched, at.pcpu, caches);
            }
        }
    }

    /// An access of the guest on a pCPU is about to be translated; a load or store has the time `stamp`. If it misses in the L1, pending pages enter the L1 first.
    pub(crate) fn before_access(&mut self, pcpu: usize, mmu: &mut Mmu, (gva, access): (Gva, Access), stamp: u64) {
        let pending = self.own[pcpu].pending(access);
        let mut pages = HostPages::of(mmu);
        if pending.is_empty() || pages.guest_hits(gva, access) {
            return;
        }
        for page in pending.drain(..) {
            pages.use_in_l1(page, access, stamp.saturating_sub(1));
        }
    }
}

impl OwnFootprint {
    fn pending(&mut self, access: Access) -> &mut Vec<Hpa> {
        if access == Access::Execute { &mut self.code } else { &mut self.data }
    }

    fn use_pages(&mut self, touched: &Touched, mmu: &mut Mmu) {
        let mut pages = HostPages::of(mmu);
        for page in touched.pages() {
            self.statistics.pages += 1;
            self.statistics.page_misses += u64::from(!pages.use_in_l2(page));
            let pending = self.pending(touched.access);
            pending.retain(|&other| other != page);
            pending.push(page);
        }
    }

    fn use_lines(&mut self, touched: &Touched, pcpu: usize, caches: &mut Caches) {
        for line in touched.lines(caches.line_bytes(touched.access)) {
            let found = caches.use_line_of_hypervisor(pcpu, line.0 - HOST_BASE.0, touched.access);
            self.statistics.lines += 1;
            self.statistics.line_misses += u64::from(found != Found::L1);
        }
    }
}

#[cfg(test)]
mod tests;
