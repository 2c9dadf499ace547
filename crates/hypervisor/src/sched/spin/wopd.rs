//! `wopd`: waiting for one partner to be dispatched (section 3.2.2, 4).

use super::control::{Answer, Partners, SpinCall, SpinControl};
use crate::sched::set::VcpuSet;

/// The policy `wopd`, with the vCPUs that wait.
#[derive(Clone, Debug, Default)]
pub struct Wopd {
    waiting: VcpuSet,
    /// How many partners each has.
    partners: u64,
    examined: u64,
}

impl Wopd {
    /// For a VM with this many vCPUs.
    #[must_use]
    pub fn new(vcpus: usize) -> Self {
        Self { partners: vcpus as u64 - 1, ..Self::default() }
    }
}

impl SpinControl for Wopd {
    fn spin(&mut self, caller: usize, _: SpinCall, partners: &Partners) -> Answer {
        self.examined += self.partners;
        // "If one of its partners is in running state, no action is taken."
        if !partners.running.is_empty() || partners.ready().is_empty() {
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
