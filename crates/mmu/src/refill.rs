//! Who refills a TLB after a miss of every level: the processor's walker, or privileged firmware.
//!
//! On a processor whose TLBs software refills, a miss enters the *hardware mode* (Sunway's HMcode, Sha et al. 2022, section 2.3; Alpha's
//! PALcode). A routine there walks the tables, fills the TLB by the processor's fill operation, and leaves. What it finds is what a
//! walker finds, in as many references, so the walk is the same; the cost is that of the steps it takes, which are counted here.

use crate::fault::{Fault, Purpose};
use crate::statistics::MmuStatistics;
use types::Access;

/// Who walks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Refill {
    /// The processor's walker.
    #[default]
    Hardware,
    /// A routine in the hardware mode.
    Software(RefillRoutine),
}

/// Instructions of the refill routine, by its steps. `docs/flat.md` has the routine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefillRoutine {
    /// From the entry to the first level: the address and the root are read, the address is checked.
    pub begin: u32,
    /// For each entry of the guest's tables: index, load, check, decode.
    pub guest_level: u32,
    /// For each guest physical address that nested tables translate, beside their entries.
    pub nested_lookup: u32,
    /// For each entry of the nested tables: index, load, check, decode.
    pub nested_level: u32,
    /// For each guest physical address that the flat table translates, its entry included.
    pub flat_lookup: u32,
    /// For each guest physical address that reserved memory or the hypervisor's segment translates: the bounds are compared, and the constant
    /// is added.
    pub reserved_lookup: u32,
    /// For each entry whose A or D bit is set.
    pub update: u32,
    /// The leaf is checked, the translation put together and written to the TLB; not where the walk ends in a fault.
    pub fill: u32,
}

/// Instructions of the routine in a second stage of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefillSteps {
    /// For each address that it translates.
    pub lookup: u32,
    /// For each entry that it reads.
    pub level: u32,
}

/// What was counted when a walk began.
pub(crate) struct Begun {
    guest_refs: u64,
    host_refs: u64,
    updates: u64,
    hypervisor_segment_hits: u64,
}

impl Begun {
    pub(crate) const fn of(statistics: &MmuStatistics) -> Self {
        let updates = statistics.guest_updates + statistics.host_updates;
        let MmuStatistics { guest_refs, host_refs, hypervisor_segment_hits, .. } = *statistics;
        Self { guest_refs, host_refs, updates, hypervisor_segment_hits }
    }

    /// Entries of the guest's tables and of the second stage's that were read since.
    pub(crate) const fn refs_since(&self, statistics: &MmuStatistics) -> (u64, u64) {
        (statistics.guest_refs - self.guest_refs, statistics.host_refs - self.host_refs)
    }
}

impl RefillRoutine {
    /// Counts one refill, from what the walk has counted and how it ended.
    #[inline(never)]
    pub(crate) fn count(
        &self,
        statistics: &mut MmuStatistics,
        begun: &Begun,
        second: &RefillSteps,
        fault: Option<Fault>,
    ) {
        let now = Begun::of(statistics);
        let guest_refs = now.guest_refs - begun.guest_refs;
        // Each entry of the guest's tables has its address translated before it is read, and so has the page in the end. The address that is
        // refused was looked up, too.
        let in_segment = now.hypervisor_segment_hits - begun.hypervisor_segment_hits;
        let lookups = guest_refs + u64::from(!fault.is_some_and(ends_at_entry)) - in_segment;
        let times = |count: u64, instructions: u32| count * u64::from(instructions);
        let second_stage = times(lookups, second.lookup) + times(now.host_refs - begun.host_refs, second.level);
        statistics.refills += 1;
        statistics.refill_instructions += u64::from(self.begin)
            + times(guest_refs, self.guest_level)
            + second_stage
            + times(in_segment, self.reserved_lookup)
            + times(now.updates - begun.updates, self.update)
            + times(u64::from(fault.is_none()), self.fill);
    }
}

/// Whether a walk with that fault ended at an entry of the guest's tables: it refuses, or its A or D bit may not be written.
const fn ends_at_entry(fault: Fault) -> bool {
    match fault {
        Fault::Page(_) | Fault::Shadow(_) => true,
        Fault::Nested(fault) => matches!((fault.purpose, fault.access), (Purpose::Table, Access::Write)),
        Fault::Access(_) => false,
    }
}
