//! What the scheduler asks of a spin method, and how it is answered.

use crate::sched::{ready_queue::Subqueue, set::VcpuSet};
use core::fmt;

/// What a vCPU spins for (section 2.2), as far as is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpinReason {
    /// To get a lock.
    Lock,
    /// For a partner to complete a process.
    Process,
    /// For a partner to carry out what was requested of it, such as a TLB purge.
    Request,
    /// Not known: found out by its `pause` loop.
    PauseLoop,
    /// Not known: it waits for a store to its reservation (`wrs.nto`).
    ReservationWait,
}

impl SpinReason {
    /// Every reason, in order.
    pub const ALL: [Self; 5] = [Self::Lock, Self::Process, Self::Request, Self::PauseLoop, Self::ReservationWait];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Process => "process",
            Self::Request => "request",
            Self::PauseLoop => "pause_loop",
            Self::ReservationWait => "reservation_wait",
        }
    }
}

/// A spin call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpinCall {
    /// What for.
    pub reason: SpinReason,
    /// The number of the partner that can end the spin, where the guest says so. A hint: nothing but time depends on it.
    pub partner: Option<usize>,
}

/// The partners of the vCPU that spins: the other ones of its VM, by state. Those that wait, for whatever reason, are in no set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Partners {
    /// On pCPUs.
    pub running: VcpuSet,
    /// Ready, in the proper-ready queue.
    pub proper_ready: VcpuSet,
    /// Ready, in the time-slice-end queue.
    pub time_slice_end: VcpuSet,
    /// Ready, in the out-of-service queue.
    pub out_of_service: VcpuSet,
}

impl Partners {
    /// Ready, in whichever subqueue, and not in a wait state due to spinning.
    #[must_use]
    pub const fn ready(&self) -> VcpuSet {
        self.proper_ready.union(self.time_slice_end).union(self.out_of_service)
    }
}

/// What happens to the vCPU that spins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// No action is taken: it goes on.
    Continue,
    /// It is in a wait state due to spinning, in its normal position in the proper-ready queue, until a dispatch releases it.
    Wait,
    /// It goes to the last position of that subqueue.
    Requeue(Subqueue),
    /// It goes to the last position of the proper-ready queue, and that partner, which is ready, runs in its place.
    YieldTo(usize),
}

/// One VM's spin control. vCPUs are numbers from 0 in their VM. A method that puts no vCPU into a wait state has only [`SpinControl::spin`] to say.
pub trait SpinControl: fmt::Debug + Send {
    /// vCPU `caller`, which runs, spins. A caller that has to wait is released later.
    fn spin(&mut self, caller: usize, call: SpinCall, partners: &Partners) -> Answer;

    /// vCPU `number`, which was ready and not in a wait state due to spinning, is dispatched. Those whose wait state due to
    /// spinning that ends.
    fn dispatched(&mut self, number: usize) -> VcpuSet {
        let _ = number;
        VcpuSet::EMPTY
    }

    /// Those in a wait state due to spinning.
    fn waiting(&self) -> VcpuSet {
        VcpuSet::EMPTY
    }

    /// Ends every wait state due to spinning, because the VM is scheduled otherwise from now on; whose it was.
    fn release_all(&mut self) -> VcpuSet {
        VcpuSet::EMPTY
    }

    /// Whether the VM's vCPUs are dispatched together.
    fn co_schedules(&self) -> bool {
        false
    }

    /// How many control blocks of partners have been looked at so far: what the method's own overhead is charged by.
    fn examined(&self) -> u64 {
        0
    }
}
