//! What the hypervisor's own work displaces (docs/footprint.md).
//!
//! An event uses its lines, and its pages in the L2 TLB, at once. An L1 TLB gets the pages when the guest next misses in it. Between two misses
//! of an L1, nothing can be told from what it holds, as long as the guest's pages in use stay: so a hart may go on in the middle of a block, with the
//! page that it executes from, and engines need not look it up again. The time of that access is also that of the pages.

use crate::caches::Found;
use crate::results::footprint::FootprintStatistics;
use crate::state::{Current, MachineState};
use hypervisor::footprint::{FootprintEvent, FootprintPlace, FootprintPlan};
use memory::HOST_BASE;
use mmu::HostPages;
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
    /// Pages that the L1D does not have yet: each once, in the order of their last uses.
    data: Vec<Hpa>,
    /// The same of the L1I.
    code: Vec<Hpa>,
    statistics: FootprintStatistics,
}

impl OwnFootprint {
    fn owed(&mut self, access: Access) -> &mut Vec<Hpa> {
        if access == Access::Execute { &mut self.code } else { &mut self.data }
    }
}

impl Footprint {
    /// Nothing has happened on any of so many pCPUs.
    pub(crate) fn new(plan: FootprintPlan, pcpus: usize) -> Self {
        Self { plan, own: (0..pcpus).map(|_| OwnFootprint::default()).collect() }
    }
}

impl MachineState {
    /// What was counted of the hypervisor's own accesses on a pCPU, if they are modelled.
    pub(crate) fn footprint_statistics(&self, pcpu: usize) -> Option<FootprintStatistics> {
        self.footprint.as_ref().map(|footprint| footprint.own[pcpu].statistics)
    }
}

/// The hypervisor handles an exit of a guest on a pCPU.
pub(crate) fn exit(state: &mut MachineState, at: FootprintPlace, event: FootprintEvent) {
    touch(state, at, FootprintEvent::Exit);
    touch(state, at, event);
}

/// The hypervisor touches what an event needs, if that is modelled.
#[inline]
pub(crate) fn touch(state: &mut MachineState, at: FootprintPlace, event: FootprintEvent) {
    if state.footprint.is_some() {
        touch_all(state, at, event);
    }
}

#[cold]
fn touch_all(state: &mut MachineState, at: FootprintPlace, event: FootprintEvent) {
    let MachineState { footprint: Some(footprint), processors, caches, .. } = state else { return };
    let Footprint { plan, own } = &mut **footprint;
    let own = &mut own[at.pcpu];
    own.statistics.events += 1;
    for touched in plan.touched(event, at) {
        let mut pages = HostPages::of(&mut processors[at.pcpu].mmu);
        for page in touched.pages() {
            own.statistics.pages += 1;
            own.statistics.page_misses += u64::from(!pages.use_in_l2(page));
            let owed = own.owed(touched.access);
            owed.retain(|&other| other != page);
            owed.push(page);
        }
        let Some(caches) = caches else { continue };
        for line in touched.lines(caches.line_bytes(touched.access)) {
            let found = caches.use_line_of_hypervisor(at.pcpu, line.0 - HOST_BASE.0, touched.access);
            own.statistics.lines += 1;
            own.statistics.line_misses += u64::from(found != Found::L1);
        }
    }
}

/// The current hart is about to be translated an access of this kind, at the time `stamp`: if it misses the L1, the L1 gets the pages first that it has
/// not got yet.
#[cold]
#[inline(never)]
pub(crate) fn before_access(state: &mut MachineState, gva: Gva, access: Access, stamp: u32) {
    let Current { processor, .. } = state.current;
    let Some(footprint) = &mut state.footprint else { return };
    let owed = footprint.own[processor].owed(access);
    let mut pages = HostPages::of(&mut state.processors[processor].mmu);
    if owed.is_empty() || pages.guest_hits(gva, access) {
        return;
    }
    for page in owed.drain(..) {
        pages.use_in_l1(page, access, u64::from(stamp));
    }
}
