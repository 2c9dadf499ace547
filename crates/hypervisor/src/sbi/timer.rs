//! TIME, EID 0x54494D45 (SBI 3.0, chapter 6).

use super::call::SbiCall;
use super::error::SbiError;
use super::request::Request;

pub(super) fn decode(call: &SbiCall) -> Result<Request, SbiError> {
    match call.fid {
        0 => Ok(Request::SetTimer { at: call.args[0] }),
        _ => Err(SbiError::NotSupported),
    }
}
