//! HSM, EID 0x48534D: hart state management (SBI 3.0, chapter 9).

use super::call::{Limits, SbiCall};
use super::error::SbiError;
use crate::hart_state::{Entry, Suspend};
use types::Gpa;

/// What to do with a hart. Whether its state allows it is [`HartState`](crate::HartState)'s to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HsmRequest {
    /// Start a hart.
    Start {
        /// Which.
        hart: usize,
        /// Where.
        entry: Entry,
    },
    /// Stop the calling hart.
    Stop,
    /// Return the status of a hart.
    Status {
        /// Which.
        hart: usize,
    },
    /// Suspend the calling hart.
    Suspend(Suspend),
}

/// Retentive, with the default latency. Bit 31 makes it non-retentive (table 6).
const DEFAULT_RETENTIVE: u32 = 0;
const NON_RETENTIVE: u32 = 1 << 31;
/// From here on, below bit 31, types are the platform's.
const PLATFORM_TYPES: u32 = 0x1000_0000;

pub(super) fn decode(call: &SbiCall, limits: &Limits) -> Result<HsmRequest, SbiError> {
    let [first, pc, opaque, ..] = call.args;
    match call.fid {
        0 => Ok(HsmRequest::Start { hart: limits.hart(first)?, entry: entry(pc, opaque, limits)? }),
        1 => Ok(HsmRequest::Stop),
        2 => Ok(HsmRequest::Status { hart: limits.hart(first)? }),
        // The type is 32 bits wide: the upper bits are not part of it.
        3 => match first as u32 {
            DEFAULT_RETENTIVE => Ok(HsmRequest::Suspend(Suspend::Retentive)),
            NON_RETENTIVE => Ok(HsmRequest::Suspend(Suspend::NonRetentive(entry(pc, opaque, limits)?))),
            kind if kind & !NON_RETENTIVE >= PLATFORM_TYPES => Err(SbiError::NotSupported),
            _ => Err(SbiError::InvalidParam),
        },
        _ => Err(SbiError::NotSupported),
    }
}

/// A place where a hart can begin: an instruction's address in RAM.
pub(super) fn entry(pc: u64, opaque: u64, limits: &Limits) -> Result<Entry, SbiError> {
    let pc = Gpa(pc);
    if !pc.is_aligned(2) || !limits.is_ram(pc, 2) {
        return Err(SbiError::InvalidAddress);
    }
    Ok(Entry { pc, opaque })
}
