//! SUSP, EID 0x53555350: system suspend (SBI 3.0, chapter 13).

use super::call::{Limits, SbiCall};
use super::error::SbiError;
use super::request::Request;
use crate::sbi::hsm;

/// Suspend to RAM, the one sleep type that the specification defines.
const SUSPEND_TO_RAM: u32 = 0;

pub(super) fn decode(call: &SbiCall, limits: &Limits) -> Result<Request, SbiError> {
    let [kind, pc, opaque, ..] = call.args;
    if call.fid != 0 {
        return Err(SbiError::NotSupported);
    }
    // The type is 32 bits wide: the upper bits are not part of it. Other types are reserved, or of a platform, and not implemented.
    match kind as u32 {
        SUSPEND_TO_RAM => Ok(Request::Suspend(hsm::entry(pc, opaque, limits)?)),
        _ => Err(SbiError::InvalidParam),
    }
}
