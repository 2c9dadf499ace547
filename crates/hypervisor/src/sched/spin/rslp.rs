//! `rslp`: requeuing the spinning vCPU (section 3.2.2, 5), so that it runs after all its partners.

use super::control::{Answer, Partners, SpinCall, SpinControl};
use crate::sched::ready_queue::Subqueue;

/// The policy `rslp`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rslp {
    /// How many partners each has.
    partners: u64,
    examined: u64,
}

impl Rslp {
    /// For a VM with this many vCPUs.
    #[must_use]
    pub fn new(vcpus: usize) -> Self {
        Self { partners: vcpus as u64 - 1, ..Self::default() }
    }
}

impl SpinControl for Rslp {
    fn spin(&mut self, _: usize, _: SpinCall, partners: &Partners) -> Answer {
        self.examined += self.partners;
        Answer::Requeue(if !partners.out_of_service.is_empty() {
            Subqueue::OutOfService
        } else if !partners.time_slice_end.is_empty() {
            Subqueue::TimeSliceEnd
        } else {
            Subqueue::ProperReady
        })
    }

    fn examined(&self) -> u64 {
        self.examined
    }
}
