//! Which vCPU ran where and when.

use hypervisor::sched::Why;
use types::Cycles;

/// A vCPU's time on a pCPU, from a dispatch to the next change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stay {
    /// The pCPU.
    pub pcpu: usize,
    /// The guest.
    pub guest: usize,
    /// The vCPU's number in the guest.
    pub hart: usize,
    /// When it was dispatched.
    pub from: Cycles,
    /// When it left.
    pub to: Cycles,
    /// Why it left.
    pub why: Why,
}
