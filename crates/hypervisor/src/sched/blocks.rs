//! The scheduler's data areas (section 3.2.2, 2): a control block for each vCPU (LPCB) and for each VM (VMCB); and what goes in
//! and out.

use super::{
    PcpuId, VcpuId, VcpuSet,
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
    /// vCPUs, 1 to [`MOST_VCPUS`](super::MOST_VCPUS).
    pub vcpus: usize,
    /// Its part in the service ratio, at most [`MOST_WEIGHT`](super::service::MOST_WEIGHT). One of weight 0 runs when no other VM can.
    pub weight: u32,
    /// Whose its pCPUs are.
    pub allocation: Allocation,
    /// What happens when one of its vCPUs spins.
    pub spin: SpinMethod,
}

/// How a VM's vCPUs get pCPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Allocation {
    /// One to one, in this order: no other VM uses these.
    Dedicated(Vec<PcpuId>),
    /// Floating: any vCPU on any pCPU that is not dedicated.
    Shared,
}

/// The state of a vCPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Has nothing to do: not started, stopped, in `wfi`, or its VM has ended.
    Waiting,
    /// In the ready queue.
    Ready(Ticket),
    /// In a wait state due to spinning, with a position in the proper-ready queue.
    SpinWaiting(Ticket),
    /// On a pCPU.
    Running(PcpuId),
}

/// Why a vCPU has left its pCPU.
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
    /// Others go first: the partners of a gang, a VM with a weight before one without, or the owner of the pCPU.
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

/// A pCPU has changed hands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// `vcpu` has left `pcpu`.
    Left {
        /// Which pCPU.
        pcpu: PcpuId,
        /// Who.
        vcpu: VcpuId,
        /// Why.
        why: Why,
    },
    /// `vcpu` was dispatched on `pcpu`.
    Dispatched {
        /// Which pCPU.
        pcpu: PcpuId,
        /// Who.
        vcpu: VcpuId,
    },
}

/// What the scheduler has done, for its cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Decisions whom to dispatch.
    pub decisions: u64,
    /// vCPUs that came to their turn and were found out of service.
    pub deferred: u64,
    /// Control blocks of partners looked at, for spin control.
    pub examined: u64,
}

/// LPCB.
#[derive(Debug)]
pub(super) struct VcpuBlock {
    pub(super) vm: usize,
    /// In its VM.
    pub(super) number: usize,
    pub(super) state: State,
    /// Its own pCPU, where it has one.
    pub(super) dedicated: Option<PcpuId>,
    pub(super) slice_left: Cycles,
    /// When it began to wait for a pCPU.
    pub(super) since: Cycles,
    /// Whether it has waited since a spin call.
    pub(super) spun: bool,
    /// Whether it has had no time of the pCPU yet that it was last dispatched on.
    pub(super) fresh: bool,
    pub(super) ran_on: Option<PcpuId>,
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
    /// How many of its vCPUs have something to do.
    pub(super) active: usize,
    pub(super) running: VcpuSet,
    pub(super) statistics: VmStatistics,
    /// What of its control's work has been taken.
    pub(super) examined: u64,
}

impl VmBlock {
    /// Another method from now on. No vCPU is in a wait state due to spinning.
    pub(super) fn set_control(&mut self, method: SpinMethod) {
        self.control = method.control(self.count);
        self.examined = 0;
    }

    pub(super) fn members(&self) -> impl Iterator<Item = usize> + use<> {
        self.first..self.first + self.count
    }
}

/// A pCPU.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Real {
    /// Who has it: who runs on it, or the one that it is dedicated to.
    pub(super) occupant: Option<VcpuId>,
    pub(super) dedicated: bool,
}
