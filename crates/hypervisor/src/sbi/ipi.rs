//! sPI, EID 0x735049: interprocessor interrupts (SBI 3.0, chapter 7).

use super::call::{Limits, SbiCall};
use super::error::SbiError;
use super::harts::HartSet;
use super::request::Request;

pub(super) fn decode(call: &SbiCall, limits: &Limits) -> Result<Request, SbiError> {
    let [mask, base, ..] = call.args;
    match call.fid {
        0 => Ok(Request::SendIpi { harts: HartSet::from_mask(mask, base, limits.harts)? }),
        _ => Err(SbiError::NotSupported),
    }
}
