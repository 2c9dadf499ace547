//! Miss classification (Gandhi et al. 2014, slide 27: "find TLB misses that lie in the direct segment", which BadgerTrap does): on a
//! machine without segments, which of its misses would each of them have answered?

use crate::context::Context;
use crate::segment::{Lookup, Segments};
use crate::statistics::MmuStatistics;
use types::{Access, Gpa, Gva, PageSize};

/// Index of a class in the counts: whether the guest's segment holds the address, and the monitor's the page that it leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MissClass {
    /// Neither.
    Neither = 0,
    /// The guest's alone.
    Guest = 1,
    /// The monitor's alone.
    Monitor = 2,
    /// Both.
    Both = 3,
}

/// Segments that the processor does not have.
#[derive(Clone, Debug)]
pub(crate) struct Classifier(pub(crate) Segments);

impl Classifier {
    /// Counts an L1 miss at `gva`, which leads to `gpa`, and which the L2 answered or did not.
    #[inline(never)]
    pub(crate) fn count(
        &self,
        statistics: &mut MmuStatistics,
        context: &Context,
        (gva, access): (Gva, Access),
        gpa: Gpa,
        l2_hit: bool,
    ) {
        let holds = |lookup| matches!(lookup, Lookup::Page { .. });
        let permits = !context.spaces.local.is_bare() && Segments::GUEST_RIGHTS.meet(context.query(access).demand);
        let guest = permits && holds(self.0.guest.look_up(gva.0, PageSize::Size4K));
        let monitor = holds(self.0.monitor.look_up(gpa.0, PageSize::Size4K));
        let class = match (guest, monitor) {
            (false, false) => MissClass::Neither,
            (true, false) => MissClass::Guest,
            (false, true) => MissClass::Monitor,
            (true, true) => MissClass::Both,
        };
        let counts = if l2_hit { &mut statistics.classified_hits } else { &mut statistics.classified_misses };
        counts[class as usize] += 1;
    }
}
