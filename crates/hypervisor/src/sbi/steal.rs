//! STA, EID 0x535441: steal-time accounting (SBI 3.0, chapter 16).

use super::call::{Limits, SbiCall, shared_memory};
use super::error::SbiError;
use super::request::Request;

/// Alignment and length of the shared structure.
pub const STEAL_AREA_BYTES: u64 = 64;

pub(super) fn decode(call: &SbiCall, limits: &Limits) -> Result<Request, SbiError> {
    let [low, high, flags, ..] = call.args;
    if call.fid != 0 {
        return Err(SbiError::NotSupported);
    }
    if flags != 0 {
        return Err(SbiError::InvalidParam);
    }
    shared_memory(low, high, STEAL_AREA_BYTES, limits).map(Request::StealTime)
}
