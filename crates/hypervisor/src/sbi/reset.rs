//! SRST, EID 0x53525354: system reset (SBI 3.0, chapter 10).

use super::call::SbiCall;
use super::error::SbiError;

/// What is to happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResetKind {
    /// Power off.
    Shutdown,
    /// Power off and on again.
    ColdReboot,
    /// Reset the harts, and begin again.
    WarmReboot,
}

/// Why the guest wants it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResetReason {
    /// It gives none.
    None,
    /// It failed.
    SystemFailure,
}

pub(super) fn decode(call: &SbiCall) -> Result<(ResetKind, ResetReason), SbiError> {
    if call.fid != 0 {
        return Err(SbiError::NotSupported);
    }
    // Both are 32 bits wide. Reserved numbers and those of a vendor's platform are invalid alike (table 8).
    let kind = match call.args[0] as u32 {
        0 => ResetKind::Shutdown,
        1 => ResetKind::ColdReboot,
        2 => ResetKind::WarmReboot,
        _ => return Err(SbiError::InvalidParam),
    };
    let reason = match call.args[1] as u32 {
        0 => ResetReason::None,
        1 => ResetReason::SystemFailure,
        _ => return Err(SbiError::InvalidParam),
    };
    Ok((kind, reason))
}
