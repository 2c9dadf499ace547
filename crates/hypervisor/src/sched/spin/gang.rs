//! `gang`: the VM's vCPUs are dispatched together and leave together, so that the partner that ends a spin runs while it is
//! spun. After Ousterhout, "Scheduling Techniques for Concurrent Systems" (ICDCS 1982), who calls it coscheduling. A spin is not acted upon.

use super::control::{Answer, Partners, SpinCall, SpinControl};

/// The policy `gang`: coscheduling.
#[derive(Clone, Copy, Debug)]
pub struct Gang;

impl SpinControl for Gang {
    fn spin(&mut self, _: usize, _: SpinCall, _: &Partners) -> Answer {
        Answer::Continue
    }

    fn co_schedules(&self) -> bool {
        true
    }
}
