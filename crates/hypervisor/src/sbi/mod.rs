//! Supervisor Binary Interface 3.0: a call becomes a validated [`Request`], or the error that the guest gets.
//!
//! One file per extension holds its function numbers and rules. Nothing here has an effect: the machine executes requests, and
//! whatever is in a request can be executed (its harts exist, its buffers are RAM).
//!
//! Absent, and answered with [`SbiError::NotSupported`]: NACL, CPPC, SSE, DBTR, MPXY, and the fences of a nested hypervisor. Which of the others
//! a guest finds is for the configuration to say (`sbi.*`).

mod base;
mod call;
mod console;
mod error;
mod extension;
mod features;
mod harts;
mod hsm;
mod ipi;
mod legacy;
mod paravirtual;
mod pmu;
mod request;
mod reset;
mod rfence;
mod steal;
mod suspend;
mod timer;

pub use base::BaseQuery;
pub use call::{Limits, SbiCall};
pub use console::{ConsoleBuffer, ConsoleRequest};
pub use error::{SbiError, SbiReturn};
pub use extension::{Extension, ExtensionSet};
pub use features::{Feature, FeatureRequest, Features};
pub use harts::HartSet;
pub use hsm::HsmRequest;
pub use paravirtual::{ParavirtualRequest, PartialPurge, SectionCall, SpinReport};
pub use pmu::{CounterSet, PmuRequest};
pub use request::{LegacyRequest, MaskedCall, Request};
pub use reset::{ResetKind, ResetReason};
pub use rfence::{FULL_FENCE_PAGES, FenceRange, RemoteFence};
pub use steal::STEAL_AREA_BYTES;

/// What `call` asks for, of a guest with these `limits`.
///
/// # Errors
/// What the guest is to be told instead.
pub fn decode(call: &SbiCall, limits: &Limits) -> Result<Request, SbiError> {
    match limits.extensions.of(call.eid).ok_or(SbiError::NotSupported)? {
        Extension::Base => base::decode(call, limits).map(Request::Base),
        Extension::Legacy => legacy::decode(call),
        Extension::Time => timer::decode(call),
        Extension::Ipi => ipi::decode(call, limits),
        Extension::Rfence => rfence::decode(call, limits).map(|(harts, fence)| Request::RemoteFence { harts, fence }),
        Extension::Hsm => hsm::decode(call, limits).map(Request::Hsm),
        Extension::Reset => reset::decode(call).map(|(kind, reason)| Request::Reset { kind, reason }),
        Extension::Console => console::decode(call, limits).map(Request::Console),
        Extension::Pmu => pmu::decode(call).map(Request::Pmu),
        Extension::Suspend => suspend::decode(call, limits),
        Extension::Features => features::decode(call).map(Request::Features),
        Extension::StealTime => steal::decode(call, limits),
        Extension::Paravirtual => paravirtual::decode(call, limits).map(Request::Paravirtual),
    }
}

#[cfg(test)]
mod tests;
