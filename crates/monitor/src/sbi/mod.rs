//! Supervisor Binary Interface 2.0: a call becomes a validated [`Request`], or the error that the guest gets.
//!
//! One file per extension holds its function numbers and rules. Nothing here has an effect: the machine executes requests, and
//! whatever is in a request can be executed (its harts exist, its buffers are RAM).
//!
//! Absent, and answered with [`SbiError::NotSupported`]: the legacy extensions (as Linux is built today it never calls them),
//! PMU, SUSP, NACL, STA, CPPC, and the fences of a nested hypervisor.

mod base;
mod console;
mod harts;
mod hsm;
mod ipi;
mod paravirtual;
mod reset;
mod rfence;
mod timer;

pub use base::BaseQuery;
pub use console::{ConsoleBuffer, ConsoleRequest};
pub use harts::HartSet;
pub use hsm::HsmRequest;
pub use paravirtual::{ParavirtualRequest, PartialPurge, SectionCall, SpinReport};
pub use reset::{ResetKind, ResetReason};
pub use rfence::{FULL_FENCE_PAGES, FenceRange, RemoteFence};

use crate::exits::ExitReason;
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
        }
    }
}

/// An extension that is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extension {
    /// BASE.
    Base,
    /// TIME.
    Time,
    /// sPI: interprocessor interrupts.
    Ipi,
    /// RFENCE.
    Rfence,
    /// HSM: hart state management.
    Hsm,
    /// SRST: system reset.
    Reset,
    /// DBCN: debug console.
    Console,
    /// Pagewalk's own (docs/paravirtual.md).
    Paravirtual,
}

impl Extension {
    /// Every extension.
    pub const ALL: [Self; 8] =
        [Self::Base, Self::Time, Self::Ipi, Self::Rfence, Self::Hsm, Self::Reset, Self::Console, Self::Paravirtual];

    /// The extension ID.
    #[must_use]
    pub const fn eid(self) -> u64 {
        match self {
            Self::Base => 0x10,
            Self::Time => 0x5449_4d45,
            Self::Ipi => 0x0073_5049,
            Self::Rfence => 0x5246_4e43,
            Self::Hsm => 0x0048_534d,
            Self::Reset => 0x5352_5354,
            Self::Console => 0x4442_434e,
            Self::Paravirtual => 0x0850_4157,
        }
    }

    /// The extension of that ID.
    #[must_use]
    pub fn of(eid: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|extension| extension.eid() == eid)
    }
}

/// What a call can refer to: the machine of the guest that makes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Harts, with IDs from 0.
    pub harts: usize,
    /// RAM.
    pub ram: Range<Gpa>,
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
    /// What only a guest that knows Pagewalk asks for.
    Paravirtual(ParavirtualRequest),
}

/// What `call` asks for, of a guest with these `limits`.
///
/// # Errors
/// What the guest is to be told instead.
pub fn decode(call: &SbiCall, limits: &Limits) -> Result<Request, SbiError> {
    match Extension::of(call.eid).ok_or(SbiError::NotSupported)? {
        Extension::Base => base::decode(call).map(Request::Base),
        Extension::Time => timer::decode(call),
        Extension::Ipi => ipi::decode(call, limits),
        Extension::Rfence => rfence::decode(call, limits),
        Extension::Hsm => hsm::decode(call, limits).map(Request::Hsm),
        Extension::Reset => reset::decode(call),
        Extension::Console => console::decode(call, limits).map(Request::Console),
        Extension::Paravirtual => paravirtual::decode(call, limits).map(Request::Paravirtual),
    }
}

/// What a call of extension `eid` is counted as.
#[must_use]
pub fn exit_reason(eid: u64) -> ExitReason {
    match Extension::of(eid) {
        Some(Extension::Base) => ExitReason::SbiBase,
        Some(Extension::Time) => ExitReason::SbiTime,
        Some(Extension::Ipi) => ExitReason::SbiIpi,
        Some(Extension::Rfence) => ExitReason::SbiRfence,
        Some(Extension::Hsm) => ExitReason::SbiHsm,
        Some(Extension::Reset) => ExitReason::SbiReset,
        Some(Extension::Console) => ExitReason::SbiConsole,
        Some(Extension::Paravirtual) => ExitReason::SbiParavirtual,
        None => ExitReason::SbiAbsent,
    }
}

#[cfg(test)]
mod tests;
