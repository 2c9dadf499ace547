//! Supervisor Binary Interface 3.0: a call becomes a validated [`Request`], or the error that the guest gets.
//!
//! One file per extension holds its function numbers and rules. Nothing here has an effect: the machine executes requests, and
//! whatever is in a request can be executed (its harts exist, its buffers are RAM).
//!
//! Absent, and answered with [`SbiError::NotSupported`]: NACL, CPPC, SSE, DBTR, MPXY, and the fences of a nested hypervisor. Which of the others
//! a guest finds is for the configuration to say (`sbi.*`).

mod base;
mod console;
mod extension;
mod features;
mod harts;
mod hsm;
mod ipi;
mod legacy;
mod paravirtual;
mod pmu;
mod reset;
mod rfence;
mod steal;
mod suspend;
mod timer;

pub use base::BaseQuery;
pub use console::{ConsoleBuffer, ConsoleRequest};
pub use extension::{Extension, ExtensionSet};
pub use features::{Feature, FeatureRequest, Features};
pub use harts::HartSet;
pub use hsm::HsmRequest;
pub use legacy::{LegacyRequest, MaskedCall};
pub use paravirtual::{ParavirtualRequest, PartialPurge, SectionCall, SpinReport};
pub use pmu::{CounterSet, PmuRequest};
pub use reset::{ResetKind, ResetReason};
pub use rfence::{FULL_FENCE_PAGES, FenceRange, RemoteFence};
pub use steal::STEAL_AREA_BYTES;

use crate::hart_state::Entry;
use core::ops::Range;
use types::Gpa;

/// A call as the guest made it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SbiCall {
    /// Extension ID, `a7`.
    pub eid: u64,
    /// Function ID, `a6`.
    pub fid: u64,
    /// `a0` to `a5`.
    pub args: [u64; 6],
}

/// What goes back to the guest: `a0` and `a1` (section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SbiReturn {
    /// `a0`: 0, or an error code.
    pub error: i64,
    /// `a1`.
    pub value: u64,
}

impl From<Result<u64, SbiError>> for SbiReturn {
    fn from(result: Result<u64, SbiError>) -> Self {
        match result {
            Ok(value) => Self { error: 0, value },
            Err(error) => Self { error: error.code(), value: 0 },
        }
    }
}

/// Standard errors (table 1), as far as these extensions return them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SbiError {
    /// Failed for no cause that another code names.
    #[error("failed")]
    Failed,
    /// No such extension or function.
    #[error("not supported")]
    NotSupported,
    /// An argument is out of its range.
    #[error("invalid parameter")]
    InvalidParam,
    /// The caller may not have that.
    #[error("denied")]
    Denied,
    /// An address is not one that can be used so.
    #[error("invalid address")]
    InvalidAddress,
    /// The hart runs already.
    #[error("already available")]
    AlreadyAvailable,
    /// A counter of the set counts already.
    #[error("already started")]
    AlreadyStarted,
    /// A counter of the set is stopped already.
    #[error("already stopped")]
    AlreadyStopped,
    /// The guest has given no memory for that.
    #[error("no shared memory")]
    NoSharedMemory,
    /// The caller has locked that itself.
    #[error("denied, as it is locked")]
    DeniedLocked,
}

impl SbiError {
    /// The code in `a0`.
    #[must_use]
    pub const fn code(self) -> i64 {
        match self {
            Self::Failed => -1,
            Self::NotSupported => -2,
            Self::InvalidParam => -3,
            Self::Denied => -4,
            Self::InvalidAddress => -5,
            Self::AlreadyAvailable => -6,
            Self::AlreadyStarted => -7,
            Self::AlreadyStopped => -8,
            Self::NoSharedMemory => -9,
            Self::DeniedLocked => -14,
        }
    }
}

/// What a call can refer to: the machine of the guest that makes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Harts, with IDs from 0.
    pub harts: usize,
    /// RAM.
    pub ram: Range<Gpa>,
    /// The extensions that it finds.
    pub extensions: ExtensionSet,
}

impl Limits {
    /// The ID of an existing hart.
    fn hart(&self, id: u64) -> Result<usize, SbiError> {
        usize::try_from(id).ok().filter(|&id| id < self.harts).ok_or(SbiError::InvalidParam)
    }

    /// Whether `bytes` bytes at `gpa` are all RAM.
    fn is_ram(&self, gpa: Gpa, bytes: u64) -> bool {
        gpa >= self.ram.start && gpa.checked_add(bytes).is_some_and(|end| end <= self.ram.end)
    }
}

/// What the guest wants, and may have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// A question about the machine, with its answer.
    Base(BaseQuery),
    /// The hart's timer interrupt is due when `time` reaches `at`; it is no longer pending before.
    SetTimer {
        /// In ticks of `time`. 2^64 − 1 is never.
        at: u64,
    },
    /// A software interrupt at each of the harts.
    SendIpi {
        /// To whom.
        harts: HartSet,
    },
    /// A fence, done at each of the harts before the call returns.
    RemoteFence {
        /// Where.
        harts: HartSet,
        /// Which.
        fence: RemoteFence,
    },
    /// Starting, stopping, suspending a hart.
    Hsm(HsmRequest),
    /// The end of the run, or a new beginning.
    Reset {
        /// Which of them.
        kind: ResetKind,
        /// Why.
        reason: ResetReason,
    },
    /// Input or output of the debug console.
    Console(ConsoleRequest),
    /// A legacy call that is none of these.
    Legacy(LegacyRequest),
    /// Counters of the performance monitoring unit.
    Pmu(PmuRequest),
    /// The guest sleeps until an interrupt, and goes on at the entry.
    Suspend(Entry),
    /// A firmware feature, set or read.
    Features(FeatureRequest),
    /// Where the calling hart's steal time is kept, from now on; `None` for nowhere.
    StealTime(Option<Gpa>),
    /// What only a guest that knows Pagewalk asks for.
    Paravirtual(ParavirtualRequest),
}

/// What `call` asks for, of a guest with these `limits`.
///
/// # Errors
/// What the guest is to be told instead.
pub fn decode(call: &SbiCall, limits: &Limits) -> Result<Request, SbiError> {
    match limits.extensions.of(call.eid).ok_or(SbiError::NotSupported)? {
        Extension::Base => base::decode(call, limits).map(Request::Base),
        Extension::Legacy => legacy::decode(call),
        Extension::Time => timer::decode(call),
        Extension::Ipi => ipi::decode(call, limits),
        Extension::Rfence => rfence::decode(call, limits),
        Extension::Hsm => hsm::decode(call, limits).map(Request::Hsm),
        Extension::Reset => reset::decode(call),
        Extension::Console => console::decode(call, limits).map(Request::Console),
        Extension::Pmu => pmu::decode(call).map(Request::Pmu),
        Extension::Suspend => suspend::decode(call, limits),
        Extension::Features => features::decode(call),
        Extension::StealTime => steal::decode(call, limits),
        Extension::Paravirtual => paravirtual::decode(call, limits).map(Request::Paravirtual),
    }
}

/// The address of memory that guest and firmware share, `bytes` long and so aligned (section 3.2). All ones are none.
fn shared_memory(low: u64, high: u64, bytes: u64, limits: &Limits) -> Result<Option<Gpa>, SbiError> {
    if (low, high) == (u64::MAX, u64::MAX) {
        return Ok(None);
    }
    let at = Gpa(low);
    if !at.is_aligned(bytes) {
        return Err(SbiError::InvalidParam);
    }
    // The address is 2 × XLEN wide, and nothing of ours lies in its upper half.
    if high != 0 || !limits.is_ram(at, bytes) {
        return Err(SbiError::InvalidAddress);
    }
    Ok(Some(at))
}

#[cfg(test)]
mod tests;
