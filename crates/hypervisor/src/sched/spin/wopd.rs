//! `wopd`: waiting for one partner to be dispatched (section 3.2.2, 4), and `wopd-ready`, without the paper's exception.

use super::control::{Answer, Partners, SpinCall, SpinControl};
use crate::sched::set::VcpuSet;

/// The policy `wopd`, with the vCPUs that wait.
#[derive(Clone, Debug, Default)]
pub struct Wopd {
    /// Whether a vCPU waits beside a partner that runs (`wopd-ready`).
    waits_beside_running: bool,
    waiting: VcpuSet,
    /// How many partners each has.
    partners: u64,
    examined: u64,
}

impl Wopd {
    /// `wopd`, for a VM with this many vCPUs.
    #[must_use]
    pub fn new(vcpus: usize) -> Self {
        Self { partners: vcpus as u64 - 1, ..Self::default() }
    }

    /// `wopd-ready`: a partner that runs is no reason to go on. It shows what the paper's exception costs a guest whose lock is held by a partner
    /// without a pCPU.
    #[must_use]
    pub fn beside_running(vcpus: usize) -> Self {
        Self { waits_beside_running: true, ..Self::new(vcpus) }
    }
}

impl SpinControl for Wopd {
    fn spin(&mut self, caller: usize, _: SpinCall, partners: &Partners) -> Answer {
        self.examined += self.partners;
        // "If one of its partners is in running state, no action is taken."
        let goes_on = !partners.running.is_empty() && !self.waits_beside_running;
        if goes_on || partners.ready().is_empty() {
            return Answer::Continue;
        }
        self.waiting.insert(caller);
        Answer::Wait
    }

    fn dispatched(&mut self, number: usize) -> VcpuSet {
        debug_assert!(!self.waiting.contains(number), "who waits is not dispatched");
        self.examined += u64::from(self.waiting.len());
        core::mem::take(&mut self.waiting)
    }

    fn waiting(&self) -> VcpuSet {
        self.waiting
    }

    fn release_all(&mut self) -> VcpuSet {
        core::mem::take(&mut self.waiting)
    }

    fn examined(&self) -> u64 {
        self.examined
    }
}
