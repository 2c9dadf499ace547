//! The scheduler's data areas (section 3.2.2, 2): a control block for each logical processor (LPCB) and for each VM (VMCB); and what goes in
//! and out.

use super::{
    LogicalId, LogicalSet, RealId,
    account::Account,
    ready_queue::Ticket,
    spin::{SpinControl, SpinMethod},
    statistics::VmStatistics,
};
use types::Cycles;

/// What all VMs have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// A time slice.
    pub slice: Cycles,
}

/// What a VM is scheduled by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VmParameters {
    /// Logical processors, 1 to [`MOST_LOGICALS`](super::MOST_LOGICALS).
    pub logicals: usize,
    /// Its part in the service ratio, at most [`MOST_WEIGHT`](super::service::MOST_WEIGHT). One of weight 0 runs when nobody else can.
    pub weight: u32,
    /// Whose its real processors are.
    pub allocation: Allocation,
    /// What happens when one of its logical processors spins.
    pub spin: SpinMethod,
}

/// How a VM's logical processors get real ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Allocation {
    /// One to one, in this order: nobody else uses these.
    Dedicated(Vec<RealId>),
    /// Floating: any logical processor on any real one that is not dedicated.
    Shared,
}

/// Where a logical processor stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Has nothing to do: not started, stopped, in `wfi`, or its VM has ended.
    Waiting,
    /// In the ready queue.
    Ready(Ticket),
    /// In a wait state due to spinning, with a position in the proper-ready queue.
    SpinWaiting(Ticket),
    /// On a real processor.
    Running(RealId),
}

/// Why a logical processor has left its real one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// Its time slice is over.
    SliceEnd,
    /// Its VM has consumed its service quantity.
    OutOfService,
    /// It spins.
    Spins,
    /// It waits.
    Waits,
    /// Others go first: the partners of a gang, somebody with a weight before one with none, or the owner of the real processor.
    Preempted,
    /// Its VM, or the allocation it had, has ended.
    Removed,
}

impl Why {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SliceEnd => "slice_end",
            Self::OutOfService => "out_of_service",
            Self::Spins => "spins",
            Self::Waits => "waits",
            Self::Preempted => "preempted",
            Self::Removed => "removed",
        }
    }
}

/// A real processor has changed hands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// `logical` has left `real`.
    Left {
        /// Which real processor.
        real: RealId,
        /// Who.
        logical: LogicalId,
        /// Why.
        why: Why,
    },
    /// `logical` was despatched on `real`.
    Despatched {
        /// Which real processor.
        real: RealId,
        /// Who.
        logical: LogicalId,
    },
}

/// What the scheduler has done, for its price.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Decisions whom to despatch.
    pub decisions: u64,
    /// Logical processors that came to their turn and were found out of service.
    pub deferred: u64,
    /// Control blocks of partners looked at, for spin control.
    pub examined: u64,
}

/// LPCB.
#[derive(Debug)]
pub(super) struct LogicalBlock {
    pub(super) vm: usize,
    /// In its VM.
    pub(super) number: usize,
    pub(super) state: State,
    /// Its own real processor, where it has one.
    pub(super) dedicated: Option<RealId>,
    pub(super) slice_left: Cycles,
    /// When it began to wait for a real processor.
    pub(super) since: Cycles,
    /// Whether it has waited since a spin call.
    pub(super) spun: bool,
    /// Whether it has had no time of the real processor yet that it was last despatched on.
    pub(super) fresh: bool,
    pub(super) ran_on: Option<RealId>,
}

/// VMCB.
#[derive(Debug)]
pub(super) struct VmBlock {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) weight: u32,
    pub(super) shared: bool,
    pub(super) alive: bool,
    pub(super) control: Box<dyn SpinControl>,
    pub(super) account: Account,
    /// How many of its logical processors have something to do.
    pub(super) active: usize,
    pub(super) running: LogicalSet,
    pub(super) statistics: VmStatistics,
    /// What of its control's work has been taken.
    pub(super) examined: u64,
}

impl VmBlock {
    /// Another method from now on. Nobody is in a wait state due to spinning.
    pub(super) fn set_control(&mut self, method: SpinMethod) {
        self.control = method.control(self.count);
        self.examined = 0;
    }

    pub(super) fn members(&self) -> impl Iterator<Item = usize> + use<> {
        self.first..self.first + self.count
    }
}

/// A real processor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Real {
    /// Who has it: who runs on it, or the one that it is dedicated to.
    pub(super) occupant: Option<LogicalId>,
    pub(super) dedicated: bool,
}
