//! Where an access leads.

use hart::Stop;
use mmu::Hit;
use types::Gpa;

/// What an address leads to.
#[derive(Clone, Copy)]
pub(crate) enum Reached {
    /// Memory: the predicted slot of the entry that was hit, and where the byte lies in the host.
    Ram(u16, *mut u8),
    /// Memory that this access alone may store to: nothing was cached.
    Once(*mut u8),
    /// A device's register.
    Device(Gpa),
}

impl Reached {
    #[inline(always)]
    pub(super) fn of(hit: &Hit) -> Self {
        match hit.host {
            Some(at) => Self::Ram(hit.slot, at),
            None => Self::Device(hit.gpa),
        }
    }

    /// The predicted slot of an access that has hit an entry; any other outcome is `elsewhere`.
    #[inline(always)]
    pub(super) fn slot_or(elsewhere: &mut Option<Result<Self, Stop>>, outcome: Result<Self, Stop>) -> Option<u16> {
        if let Ok(Self::Ram(predicted, _)) = outcome {
            return Some(predicted);
        }
        *elsewhere = Some(outcome);
        None
    }
}
