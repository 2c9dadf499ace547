//! What goes back to the guest.

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
    #[error("denied: it is locked")]
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
