//! `none`: the spin is spun out, to the end of the time slice. What a hypervisor does that knows nothing of spins.

use super::{Answer, Partners, SpinCall, SpinControl};
use crate::sched::set::LogicalSet;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct SpinOut;

impl SpinControl for SpinOut {
    fn spin(&mut self, _: usize, _: SpinCall, _: &Partners) -> Answer {
        Answer::Continue
    }

    fn despatched(&mut self, _: usize) -> LogicalSet {
        LogicalSet::EMPTY
    }

    fn waiting(&self) -> LogicalSet {
        LogicalSet::EMPTY
    }

    fn release_all(&mut self) -> LogicalSet {
        LogicalSet::EMPTY
    }

    fn co_schedules(&self) -> bool {
        false
    }

    fn examined(&self) -> u64 {
        0
    }
}
