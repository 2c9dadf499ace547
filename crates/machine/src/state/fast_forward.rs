//! Fast-forward: outside of regions of interest no caches and no cores are modelled, so that the harts run as fast as with fixed costs.
//!
//! The models are set aside, with what is in them. What they have counted stays counted, so that no clock jumps: an instruction takes what it takes
//! if it waits for nothing, and translation takes no time. TLBs and walk caches are used as ever.

use crate::set_aside::SetAside;
use crate::state::MachineState;

/// Sets the modelled caches and cores aside; whether there are any that were in use.
pub(crate) fn set_aside(state: &mut MachineState) -> bool {
    let Some(caches) = state.caches.take() else { return false };
    state.set_aside = Some(Box::new(SetAside { caches, cores: state.cores.take() }));
    state.misses_do_more = state.footprint.is_some();
    true
}

/// Uses the models again that were set aside; whether there are any.
pub(crate) fn take_back(state: &mut MachineState) -> bool {
    let Some(models) = state.set_aside.take() else { return false };
    let SetAside { caches, cores } = *models;
    state.caches = Some(caches);
    state.cores = cores;
    state.misses_do_more = true;
    true
}
