//! Changes of a host that are planned for times of its run.

use hypervisor::sched::{Allocation, AllocationError};
use memory::registry::{FreeError, SectionName};
use types::Cycles;

/// A change, and when it is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedChange {
    /// When.
    pub at: Cycles,
    /// What.
    pub change: HostChange,
}

/// What changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostChange {
    /// How a guest gets its pCPUs.
    Allocation {
        /// Which guest, in the plan's order.
        guest: usize,
        /// To what.
        allocation: Allocation,
    },
    /// The reservation of this name is freed.
    Free(SectionName),
}

/// Why a planned change was not made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RefusedChange {
    /// A change of allocation.
    #[error("a change of allocation was refused: guest {guest}: {error}")]
    Allocation {
        /// Which guest, in the plan's order.
        guest: usize,
        /// Why.
        error: AllocationError,
    },
    /// A reservation was to be freed.
    #[error("a free of reserved memory was refused: {0}")]
    Free(#[from] FreeError),
}
