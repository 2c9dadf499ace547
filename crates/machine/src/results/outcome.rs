//! How a run ends.

use crate::set_aside::FastForward;
use core::fmt;
use hart::CodeMemoryError;
use hypervisor::PageUnavailable;
use memory::Inconsistency;

/// Why a machine stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The command that was asked for ended with this status (marker 0x100 + status).
    Finished(u8),
    /// The guest shut itself down, for no reason it gave.
    Shutdown,
    /// The guest shut itself down because of a failure of its own.
    GuestFailure,
    /// The guest asked to be started again, cold or warm, for no reason it gave. It is not.
    Reset,
    /// The same, because of a failure of its own.
    ResetAfterFailure,
    /// The guest's kernel gave up, and printed this line. A machine does not read what a guest prints: the owner of its console finds it.
    Panicked(String),
    /// The guest came to a good end, but ended no region of interest: nothing was measured.
    Unmeasured(Unmeasured),
    /// Every hart of the guest waits, and nothing will ever wake one.
    Halted,
    /// The time limit is over.
    Timeout {
        /// The limit, in guest seconds.
        seconds: u64,
        /// What the guest's harts were doing.
        doing: String,
    },
    /// The host is out of memory for the guest.
    OutOfMemory(PageUnavailable),
    /// The hypervisor's own accounts of tables and frames turned out to be wrong.
    Inconsistent(Inconsistency),
    /// The host refused to let compiled code be executed.
    CodeMemory(CodeMemoryError),
    /// The guest came to the point at which its snapshot was to be taken, and was left there.
    SnapshotTaken,
    /// The user ended the run.
    Interrupted,
    /// It was in the background, and still running when the others had ended.
    Unfinished,
}

/// Why a run without a region of interest has no results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unmeasured {
    /// So many instructions of each region were to be left out.
    Warmup(u64),
    /// This was modelled in regions only.
    FastForward(FastForward),
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Warmup(warmup) => {
                write!(f, "no region of interest ended after its warmup of {warmup} instructions")
            }
            Self::FastForward(FastForward::Caches) => {
                f.write_str("no region of interest ended, and fast_forward=on models caches only in one")
            }
            Self::FastForward(FastForward::Cores) => {
                f.write_str("no region of interest ended, and fast_forward=warm models cores only in one")
            }
        }
    }
}

impl Outcome {
    /// The exit status of a command that ran the machine.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Self::Finished(status) => *status,
            Self::Shutdown | Self::Reset | Self::SnapshotTaken | Self::Interrupted | Self::Unfinished => 0,
            Self::GuestFailure
            | Self::ResetAfterFailure
            | Self::Panicked(_)
            | Self::Unmeasured(_)
            | Self::Halted
            | Self::Timeout { .. }
            | Self::OutOfMemory(_)
            | Self::Inconsistent(_)
            | Self::CodeMemory(_) => 1,
        }
    }

    /// Whether the guest came to the end that was asked for, and says that it succeeded.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        matches!(self, Self::Finished(0) | Self::Shutdown | Self::Reset)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished(status) => write!(f, "the guest's command ended with status {status}"),
            Self::Shutdown => f.write_str("the guest shut down"),
            Self::GuestFailure => f.write_str("the guest shut down because of a failure"),
            Self::Reset => f.write_str("the guest asked for a reset"),
            Self::ResetAfterFailure => f.write_str("the guest asked for a reset because of a failure"),
            Self::Panicked(line) => write!(f, "the guest's kernel gave up: {line}"),
            Self::Unmeasured(why) => why.fmt(f),
            Self::Halted => f.write_str("every hart of the guest waits for an interrupt that never comes"),
            Self::Timeout { seconds, doing } => {
                write!(f, "the time limit of {seconds} guest seconds is over: {doing}")
            }
            Self::OutOfMemory(why) => write!(f, "the host has no memory left for the guest: {why}"),
            Self::Inconsistent(what) => what.fmt(f),
            Self::CodeMemory(why) => why.fmt(f),
            Self::SnapshotTaken => f.write_str("the guest came to the point of its snapshot"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Unfinished => f.write_str("the guest was still running, in the background, when the run was over"),
        }
    }
}
