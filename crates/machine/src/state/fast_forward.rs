//! Fast-forward: outside of regions of interest no cores are modelled, or neither cores nor caches, so that the harts run faster.
//!
//! The models are set aside, with what is in them. What they have counted stays counted, so that no clock jumps: an instruction takes what it takes
//! if it waits for nothing, and translation takes no time. TLBs and walk caches are used as ever. So are caches where only cores are set aside: they
//! are warm when a region begins (functional warming: Wunderlich, Wenisch, Falsafi and Hoe, "SMARTS", ISCA 2003).

use crate::set_aside::{FastForward, SetAside};
use crate::state::MachineState;

/// Sets models aside; whether there are any that were in use.
pub(crate) fn set_aside(state: &mut MachineState, what: FastForward) -> bool {
    if state.set_aside.is_some() {
        return false;
    }
    let caches = match what {
        FastForward::Cores => None,
        FastForward::Caches => state.caches.take(),
    };
    state.set_aside = Some(Box::new(SetAside { caches, cores: state.cores.take() }));
    state.misses_do_more = state.caches.is_some() || state.footprint.is_some();
    true
}

/// Uses the models again that were set aside; whether there are any.
pub(crate) fn take_back(state: &mut MachineState) -> bool {
    let Some(models) = state.set_aside.take() else { return false };
    let SetAside { caches, cores } = *models;
    state.caches = caches.or_else(|| state.caches.take());
    state.cores = cores;
    state.misses_do_more = true;
    true
}
