//! Miss classification (Gandhi et al. 2014, slide 27: "find TLB misses that lie in the direct segment", which BadgerTrap does): on a
//! machine without segments, which of its misses would each of them have answered?

use super::{Eviction, Fill, Miss, Observer, Source, TlbLevel, Walk};
use crate::rights::{Masks, Required};
use crate::segment::{Lookup, Segments};
use crate::statistics::MmuStatistics;
use types::{PageSize, PagingMode};

/// Index of a class in the counts: whether the guest's segment holds the address, and the hypervisor's the page that it leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MissClass {
    /// Neither.
    Neither = 0,
    /// The guest's alone.
    Guest = 1,
    /// The hypervisor's alone.
    Hypervisor = 2,
    /// Both.
    Both = 3,
}

/// Counts the misses that end in a fill of an L1 by segments that the processor does not have.
pub(crate) struct Classifier<'a> {
    pub(crate) segments: &'a Segments,
    pub(crate) statistics: &'a mut MmuStatistics,
}

impl Classifier<'_> {
    fn class(&self, fill: &Fill<'_>) -> MissClass {
        let holds = |lookup| matches!(lookup, Lookup::Page { .. });
        let required = Masks::of(Required::of_guest(fill.context, fill.access));
        let permits = fill.context.mode != PagingMode::Bare && Segments::GUEST_RIGHTS.meet(required);
        let guest = permits && holds(self.segments.guest.look_up(fill.gva.0, PageSize::Size4K));
        let hypervisor = holds(self.segments.hypervisor.look_up(fill.gpa.0, PageSize::Size4K));
        match (guest, hypervisor) {
            (false, false) => MissClass::Neither,
            (true, false) => MissClass::Guest,
            (false, true) => MissClass::Hypervisor,
            (true, true) => MissClass::Both,
        }
    }
}

impl Observer for Classifier<'_> {
    const OBSERVES: bool = true;

    fn fill(&mut self, fill: &Fill<'_>) {
        let class = self.class(fill) as usize;
        match (fill.level, fill.source) {
            (TlbLevel::L2, _) | (_, Source::Segments) => {}
            (TlbLevel::L1d | TlbLevel::L1i, Source::L2) => self.statistics.classified_hits[class] += 1,
            (TlbLevel::L1d | TlbLevel::L1i, Source::Outer | Source::Walk) => {
                self.statistics.classified_misses[class] += 1;
            }
        }
    }

    fn miss(&mut self, _: &Miss) {}

    fn eviction(&mut self, _: &Eviction) {}

    fn walk(&mut self, _: &Walk) {}
}
