//! Which logical processor ran where and when.

use hypervisor::sched::Why;
use types::Cycles;

/// A logical processor's time on a real one, from a despatch to the next change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stay {
    /// The real processor.
    pub real: usize,
    /// The guest.
    pub guest: usize,
    /// The logical processor's number in the guest.
    pub hart: usize,
    /// When it was despatched.
    pub from: Cycles,
    /// When it left.
    pub to: Cycles,
    /// Why it left.
    pub why: Why,
}
