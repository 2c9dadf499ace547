//! The legacy extensions, EIDs 0 to 8 (SBI 3.0, chapter 5): the calls of SBI 0.1, as third-party kernels still make them.
//!
//! They take no function ID, return a value in `a0` alone and leave `a1` as it is. Where such a call takes a hart mask, `a0` is the guest
//! virtual address of a bit vector.

use super::rfence::FenceRange;
use super::{ConsoleRequest, HartSet, Limits, RemoteFence, Request, ResetKind, ResetReason, SbiCall, SbiError};
use types::{Asid, Gva};

/// A legacy call that has no counterpart among the requests of other extensions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LegacyRequest {
    /// The next byte that was typed, or −1.
    GetCharacter,
    /// Clears the calling hart's software interrupt; whether it was pending.
    ClearIpi,
    /// A call for the harts of a bit vector.
    Masked {
        /// Where the vector lies. 0 means all harts, as in OpenSBI.
        mask: Gva,
        /// What they are to do.
        call: MaskedCall,
    },
}

/// What a legacy call asks of several harts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MaskedCall {
    /// A software interrupt.
    Ipi,
    /// A fence.
    Fence(RemoteFence),
}

impl MaskedCall {
    /// The request, for the harts whose bits are set in `mask`, or for all. Bits of harts that do not exist are ignored.
    #[must_use]
    pub fn request(self, mask: Option<u64>, limits: &Limits) -> Request {
        let harts = mask.map_or(HartSet::All { harts: limits.harts }, |mask| HartSet::existing(mask, limits.harts));
        match self {
            Self::Ipi => Request::SendIpi { harts },
            Self::Fence(fence) => Request::RemoteFence { harts, fence },
        }
    }
}

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
