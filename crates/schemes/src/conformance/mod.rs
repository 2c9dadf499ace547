//! What every scheme has to do, as a test for the scheme's own crate: `schemes::conformance::check(&MyScheme)`.
//!
//! * [`walks`]: accesses of a guest arrive at the guest's own bytes, in every mode; the longest walk is what the scheme's closed form says, in
//!   references and in steps, through shadow tables where the scheme has them; what a balloon takes away is not found any more.
//! * [`tables`]: random edits of its second-stage table against a map, and every address walked by the hardware.
//!
//! The tests of this crate check every scheme of the registry.

mod fixture;
pub mod tables;
pub mod walks;

#[cfg(test)]
pub(crate) use fixture::memory;

use crate::scheme::SchemeRef;
use hypervisor::Backing;

/// Checks a scheme.
///
/// # Panics
/// With what is wrong.
pub fn check(scheme: SchemeRef) {
    walks::check(scheme);
    if let Backing::Table { .. } = scheme.backing(&fixture::memory(types::SecondStageMode::Sv39x4)) {
        tables::check(scheme);
    }
}

#[cfg(test)]
mod tests {
    use crate::registry;

    #[test]
    fn every_scheme_conforms() {
        for scheme in registry::all() {
            super::check(*scheme);
        }
    }
}
