//! What the scheduler asks of a spin method, and how it is answered.

use crate::sched::{ready_queue::Subqueue, set::LogicalSet};
use core::fmt;

/// What a logical processor spins for (section 2.2), as far as is known.
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

/// The partners of the logical processor that spins: the other ones of its VM, by state. Those that wait, for whatever reason, are in no set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Partners {
    /// On real processors.
    pub running: LogicalSet,
    /// Ready, in the proper-ready queue.
    pub proper_ready: LogicalSet,
    /// Ready, in the time-slice-end queue.
    pub time_slice_end: LogicalSet,
    /// Ready, in the out-of-service queue.
    pub out_of_service: LogicalSet,
}

impl Partners {
    /// Ready, in whichever subqueue, and not in a wait state due to spinning.
    #[must_use]
    pub const fn ready(&self) -> LogicalSet {
        self.proper_ready.union(self.time_slice_end).union(self.out_of_service)
    }
}

/// What happens to the logical processor that spins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// No action is taken: it goes on.
    Continue,
    /// It is in a wait state due to spinning, in its normal position in the proper-ready queue, until a despatch releases it.
    Wait,
    /// It goes to the last position of that subqueue.
    Requeue(Subqueue),
    /// It goes to the last position of the proper-ready queue, and that partner, which is ready, runs in its place.
    YieldTo(usize),
}

/// One VM's spin control. Logical processors are numbers from 0 in their VM. A method that puts nobody into a wait state has only [`SpinControl::spin`] to say.
pub trait SpinControl: fmt::Debug + Send {
    /// Logical processor `caller`, which runs, spins. A caller that is told to wait is released later.
    fn spin(&mut self, caller: usize, call: SpinCall, partners: &Partners) -> Answer;

    /// Logical processor `number`, which was ready and not in a wait state due to spinning, is despatched. Those whose wait state due to
    /// spinning that ends.
    fn despatched(&mut self, number: usize) -> LogicalSet {
        let _ = number;
        LogicalSet::EMPTY
    }

    /// Those in a wait state due to spinning.
    fn waiting(&self) -> LogicalSet {
        LogicalSet::EMPTY
    }

    /// Ends every wait state due to spinning, because the VM is scheduled otherwise from now on; whose it was.
    fn release_all(&mut self) -> LogicalSet {
        LogicalSet::EMPTY
    }

    /// Whether the VM's logical processors are despatched together.
    fn co_schedules(&self) -> bool {
        false
    }

    /// How many control blocks of partners have been looked at so far: what the method's own overhead is priced by.
    fn examined(&self) -> u64 {
        0
    }
}
