//! The answers to a spin call: a vCPU says, or is found out, that it spins; what happens to it? (Section 3.2.)
//!
//! [`SpinControl`] is the seam: one for each VM, one file for each method. The scheduler asks it at each call, and tells it of each
//! dispatch of one of the VM's vCPUs.

mod control;
mod directed_yield;
mod gang;
mod none;
mod rslp;
mod wapd;
mod wopd;
mod yielding;

pub use control::{Answer, Partners, SpinCall, SpinControl, SpinReason};
pub use directed_yield::DirectedYield;
pub use gang::Gang;
pub use none::SpinOut;
pub use rslp::Rslp;
pub use wapd::Wapd;
pub use wopd::Wopd;
pub use yielding::Yield;

use core::fmt;

/// The methods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SpinMethod {
    /// Spins on to the end of its slice.
    #[default]
    None,
    /// To the tail of the proper-ready queue.
    Yield,
    /// Requeuing the spinning vCPU, behind its partners.
    Rslp,
    /// Waiting for one partner to be dispatched.
    Wopd,
    /// The same, also beside a partner that runs.
    WopdReady,
    /// Waiting for all partners to be dispatched.
    Wapd,
    /// A partner runs in its place, as in KVM.
    DirectedYield,
    /// The VM's vCPUs run together.
    Gang,
}

impl SpinMethod {
    /// Every method, in order.
    pub const ALL: [Self; 8] =
        [Self::None, Self::Yield, Self::Rslp, Self::Wopd, Self::WopdReady, Self::Wapd, Self::DirectedYield, Self::Gang];

    /// The name in configurations and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Yield => "yield",
            Self::Rslp => "rslp",
            Self::Wopd => "wopd",
            Self::WopdReady => "wopd-ready",
            Self::Wapd => "wapd",
            Self::DirectedYield => "directed-yield",
            Self::Gang => "gang",
        }
    }

    /// Whether anything may come of a spin call: what a hypervisor would look for spins for.
    #[must_use]
    pub const fn acts(self) -> bool {
        !matches!(self, Self::None | Self::Gang)
    }

    /// The method of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Control of a VM with this many vCPUs.
    #[must_use]
    pub fn control(self, vcpus: usize) -> Box<dyn SpinControl> {
        match self {
            Self::None => Box::new(SpinOut),
            Self::Yield => Box::new(Yield),
            Self::Rslp => Box::new(Rslp::new(vcpus)),
            Self::Wopd => Box::new(Wopd::new(vcpus)),
            Self::WopdReady => Box::new(Wopd::beside_running(vcpus)),
            Self::Wapd => Box::new(Wapd::new(vcpus)),
            Self::DirectedYield => Box::new(DirectedYield::default()),
            Self::Gang => Box::new(Gang),
        }
    }
}

impl fmt::Display for SpinMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_found_by_their_names() {
        for method in SpinMethod::ALL {
            assert_eq!(SpinMethod::of(method.name()), Some(method));
        }
        assert_eq!(SpinMethod::of("WAPD"), None);
    }
}
