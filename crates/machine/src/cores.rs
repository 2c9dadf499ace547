//! Out-of-order cores, for the fidelity `core`: the time of each pCPU is that of a [`timing::Core`], which is given what its harts report
//! ([`hart::report`]) and where the caches found each line (docs/core.md).

mod pending;
mod port;
mod report;
mod statistics;

#[cfg(test)]
pub(crate) use pending::Exited;
pub(crate) use pending::Pending;
pub(crate) use port::{GuestPages, PrefetchPort};
pub use statistics::CoreStatistics;

use crate::caches::Caches;
use hart::report::Outstanding;
use timing::{Core, CoreModel, CoreState, Index};

/// The cores of all pCPUs.
#[derive(Debug)]
pub(crate) struct Cores {
    own: Vec<OwnCore>,
    width: u64,
}

/// The core of one pCPU.
#[derive(Debug)]
struct OwnCore {
    core: Core,
    pending: Pending,
    /// What was outstanding behind the latest report.
    outstanding: Outstanding,
    /// How often [`Self::outstanding`] was due to be computed.
    looks: u32,
}

impl Cores {
    /// Cores of `pcpus` processors as `model` has them, with those caches and so many cycles for a hit of the L2 TLB.
    pub(crate) fn new(model: &CoreModel, caches: &Caches, l2_tlb: u64, pcpus: usize) -> Self {
        let around = caches.surroundings(l2_tlb);
        let own = || OwnCore {
            core: Core::new(model, &around),
            pending: Pending::default(),
            outstanding: Outstanding::NOTHING,
            looks: 0,
        };
        Self { own: (0..pcpus).map(|_| own()).collect(), width: model.width }
    }

    /// What the next report of a pCPU is to say beside the instruction.
    pub(crate) fn pending(&mut self, pcpu: usize) -> &mut Pending {
        &mut self.own[pcpu].pending
    }

    /// Where the state of the core of a pCPU lies, for the hit path.
    pub(crate) fn state(&mut self, pcpu: usize) -> CoreState {
        self.own[pcpu].core.state()
    }

    /// A turn of a pCPU has ended before an instruction.
    pub(crate) fn settle(&mut self, pcpu: usize, index: Index) {
        self.own[pcpu].core.settle(index);
    }

    /// What was counted of the core of a pCPU.
    pub(crate) fn statistics(&self, pcpu: usize) -> CoreStatistics {
        CoreStatistics::of(&self.own[pcpu].core.time(), self.width)
    }
}
