//! The legacy extensions, EIDs 0 to 8 (SBI 3.0, chapter 5): the calls of SBI 0.1, as third-party kernels still make them.
//!
//! They take no function ID, return a value in `a0` alone and leave `a1` as it is. Where such a call takes a hart mask, `a0` is the guest
//! virtual address of a bit vector.

use super::call::SbiCall;
use super::console::ConsoleRequest;
use super::error::SbiError;
use super::request::{LegacyRequest, MaskedCall, Request};
use super::reset::{ResetKind, ResetReason};
use super::rfence::{FenceRange, RemoteFence};
use types::{Asid, Gva};

pub(super) fn decode(call: &SbiCall) -> Result<Request, SbiError> {
    let [first, start, size, asid, ..] = call.args;
    let masked = |call| Request::Legacy(LegacyRequest::Masked { mask: Gva(first), call });
    let fence = |asid: Option<u16>| -> Result<MaskedCall, SbiError> {
        let range = FenceRange::new(start, size)?;
        Ok(MaskedCall::Fence(RemoteFence::Address { range, asid: asid.map(Asid) }))
    };
    Ok(match call.eid {
        0 => Request::SetTimer { at: first },
        1 => Request::Console(ConsoleRequest::WriteByte(first as u8)),
        2 => Request::Legacy(LegacyRequest::GetCharacter),
        3 => Request::Legacy(LegacyRequest::ClearIpi),
        4 => masked(MaskedCall::Ipi),
        5 => masked(MaskedCall::Fence(RemoteFence::Instruction)),
        6 => masked(fence(None)?),
        7 => masked(fence(Some(u16::try_from(asid).map_err(|_| SbiError::InvalidParam)?))?),
        8 => Request::Reset { kind: ResetKind::Shutdown, reason: ResetReason::None },
        _ => return Err(SbiError::NotSupported),
    })
}
