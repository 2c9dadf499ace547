//! Where the hypervisor's work meets a machine's MMUs and caches (docs/footprint.md).

use crate::results::footprint::FootprintStatistics;
use crate::state::{Current, MachineState};
use hypervisor::footprint::{FootprintEvent, FootprintPlace};
use types::{Access, Gva};

/// What was counted of the hypervisor's own accesses on a pCPU, if they are modelled.
pub(crate) fn statistics(state: &MachineState, pcpu: usize) -> Option<FootprintStatistics> {
    state.footprint.as_ref().map(|footprint| footprint.statistics(pcpu))
}

/// The hypervisor touches what an event needs, if that is modelled.
pub(crate) fn touch(state: &mut MachineState, at: FootprintPlace, event: FootprintEvent) {
    let MachineState { footprint: Some(footprint), processors, caches, .. } = state else { return };
    footprint.touch(at, event, &mut processors[at.pcpu].mmu, caches.as_mut());
}

/// An access of the current hart is about to be translated, at the time `stamp`.
#[cold]
#[inline(never)]
pub(crate) fn before_access(state: &mut MachineState, gva: Gva, access: Access, stamp: u32) {
    let Current { processor, .. } = state.current;
    let MachineState { footprint: Some(footprint), processors, .. } = state else { return };
    footprint.before_access(processor, &mut processors[processor].mmu, (gva, access), u64::from(stamp));
}
