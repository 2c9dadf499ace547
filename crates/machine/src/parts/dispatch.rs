//! Who is where: the pCPUs that vcpu ones have and had, and what their stays counted. What happens at a dispatch is in
//! `machine/dispatch.rs`.

use crate::{
    caches::CacheStatistics, cores::CoreStatistics, profile::Counters, results::footprint::FootprintStatistics,
    results::trace::Stay,
};
use config::host_model::SchedulingModel;
use hypervisor::{
    ExitCounts, ExitReason, PagingCounts,
    sched::{Parameters, PauseLoop, PauseLoopLimits, Scheduler},
};
use mmu::MmuStatistics;
use std::collections::BTreeSet;
use types::Cycles;

/// Who is where, beside what the scheduler knows.
pub(crate) struct Dispatch {
    pub(crate) scheduler: Scheduler,
    pub(crate) prices: SchedulingModel,
    /// Who has each pCPU; the scheduler's view as of the last [`Machine::carry_out`](crate::Machine::carry_out).
    pub(crate) seats: Vec<Option<usize>>,
    /// Timers of vCPUs that wait and have no pCPU. One that is out of date is dropped when it is due.
    pub(crate) timers: BTreeSet<(Cycles, usize)>,
    /// What counts as a spin.
    pub(crate) pause_limits: PauseLoopLimits,
    /// Stays that have ended, if they are recorded.
    pub(crate) stays: Option<Vec<Stay>>,
}

/// What a vCPU has beside its architectural state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Residence {
    /// The pCPU that it has.
    pub(crate) pcpu: Option<usize>,
    /// The pCPU that it had last.
    pub(crate) ran_on: Option<usize>,
    /// What its stays so far have counted: MMU, exits, time in the hypervisor.
    pub(crate) past: Counted,
    /// The pCPU's counts when this stay began.
    pub(crate) begun: Counted,
    /// When it began.
    pub(crate) since: Cycles,
    /// Its `pause` instructions in a row.
    pub(crate) pauses: PauseLoop,
    /// Events that happened to it while it had no pCPU: charged when it gets one.
    pub(crate) owed: Vec<ExitReason>,
}

/// Counts of a pCPU, or the part of a stay in them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) mmu: MmuStatistics,
    pub(crate) exits: ExitCounts,
    pub(crate) paging: PagingCounts,
    pub(crate) hypervisor: Cycles,
    /// Time of nested traps.
    pub(crate) traps: Cycles,
    /// If caches are modelled.
    pub(crate) caches: Option<CacheStatistics>,
    /// If cores are.
    pub(crate) core: Option<CoreStatistics>,
    /// If the hypervisor's own accesses are.
    pub(crate) footprint: Option<FootprintStatistics>,
}

impl Counted {
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            mmu: self.mmu.since(&earlier.mmu),
            exits: self.exits.since(&earlier.exits),
            paging: self.paging.since(&earlier.paging),
            hypervisor: self.hypervisor - earlier.hypervisor,
            traps: self.traps - earlier.traps,
            caches: self.caches.map(|caches| caches.since(&earlier.caches.unwrap_or_default())),
            core: self.core.map(|core| core.since(&earlier.core.unwrap_or_default())),
            footprint: self.footprint.map(|all| all.since(&earlier.footprint.unwrap_or_default())),
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.mmu.add(&other.mmu);
        self.exits.add(&other.exits);
        self.paging.add(&other.paging);
        self.hypervisor += other.hypervisor;
        self.traps += other.traps;
        if let Some(caches) = &other.caches {
            self.caches.get_or_insert_default().add(caches);
        }
        if let Some(core) = &other.core {
            self.core.get_or_insert_default().add(core);
        }
        if let Some(footprint) = &other.footprint {
            self.footprint.get_or_insert_default().add(footprint);
        }
    }
}

impl Counted {
    /// What a profile looks at.
    pub(crate) fn counters(&self) -> Counters {
        Counters::of(&self.mmu, &self.exits, self.hypervisor, self.caches.as_ref(), self.core.as_ref())
    }
}

impl Dispatch {
    pub(crate) fn new(parameters: Parameters, prices: SchedulingModel, pause_limits: PauseLoopLimits) -> Self {
        Self {
            scheduler: Scheduler::new(0, parameters),
            prices,
            seats: Vec::new(),
            timers: BTreeSet::new(),
            pause_limits,
            stays: None,
        }
    }

    /// One more pCPU.
    pub(crate) fn add_pcpu(&mut self) {
        self.scheduler.add_pcpu();
        self.seats.push(None);
    }

    /// Who has a pCPU.
    pub(crate) fn occupant(&self, pcpu: usize) -> Option<usize> {
        self.seats[pcpu]
    }

    /// The timer that is due first among those of vCPUs without a pCPU.
    pub(crate) fn first_timer(&self) -> Option<(Cycles, usize)> {
        self.timers.first().copied()
    }
}
