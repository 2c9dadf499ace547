//! What calls ask for, once they are validated.

use super::base::BaseQuery;
use super::call::Limits;
use super::console::ConsoleRequest;
use super::features::FeatureRequest;
use super::harts::HartSet;
use super::hsm::HsmRequest;
use super::paravirtual::ParavirtualRequest;
use super::pmu::PmuRequest;
use super::reset::{ResetKind, ResetReason};
use super::rfence::RemoteFence;
use crate::hart_state::Entry;
use types::{Gpa, Gva};

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
    /// A legacy call that is none of these.
    Legacy(LegacyRequest),
    /// Counters of the performance monitoring unit.
    Pmu(PmuRequest),
    /// The guest sleeps until an interrupt, and goes on at the entry.
    Suspend(Entry),
    /// A firmware feature, set or read.
    Features(FeatureRequest),
    /// Where the calling hart's steal time is kept, from now on; `None` for nowhere.
    StealTime(Option<Gpa>),
    /// What only a guest that knows Pagewalk asks for.
    Paravirtual(ParavirtualRequest),
}

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
