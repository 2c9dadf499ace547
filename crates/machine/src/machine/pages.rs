//! A machine whose guests' pages are watched: when what was accessed is looked at.

use crate::code::Code;
use crate::machine::Machine;
use crate::pages::{Heatmap, Reuse, SpacePage};
use crate::parts::intervals::RegionChange;
use crate::parts::page_watch::{PageRequest, PageWatch};
use crate::profile::Space;
use crate::results::gauge::Phase;
use types::Cycles;

/// Watches pages from now on. To be called before the machine runs.
pub(super) fn open(machine: &mut Machine, request: PageRequest) {
    let harts = machine.records.iter().map(|record| record.vcpus.len());
    machine.state.pages = Some(Box::new(PageWatch::new(request, machine.state.processors.len(), harts)));
    for guest in 0..machine.records.len() {
        if machine.records[guest].region.phase() == Phase::Measure {
            region(machine, guest, RegionChange::Begins);
        }
    }
    machine.code = Code::new(machine.isa, &mut machine.state);
}

/// vCPU `index` begins a turn. Its hart may be another one than that of the turn before.
pub(super) fn begin_turn(machine: &mut Machine, index: usize) {
    if machine.state.pages.as_ref().is_some_and(|pages| pages.needs_accesses()) {
        machine.vcpus[index].hart.log_accesses();
    }
}

/// The hart of vCPU `index` has left the turn that began at `from`.
pub(super) fn end_turn(machine: &mut Machine, index: usize, from: Cycles) {
    let Some(pages) = &mut machine.state.pages else { return };
    let vcpu = &mut machine.vcpus[index];
    for used in vcpu.hart.take_accesses() {
        let space = Space { mode: used.mode, root: used.root, asid: used.asid };
        pages.accessed((vcpu.guest, vcpu.hart_id), SpacePage::of(space, used.page), from, used.count);
    }
}

/// The region of interest of a guest changes.
pub(super) fn region(machine: &mut Machine, guest: usize, change: RegionChange) {
    if let Some(pages) = &mut machine.state.pages {
        pages.region(guest, change);
    }
}

/// The reuse distances of a guest's pages, where they are kept.
pub(super) fn reuse(machine: &Machine, guest: usize) -> Option<Reuse> {
    Some(machine.state.pages.as_ref()?.distances(guest)?.reuse())
}

/// The heatmap of a guest, where one is kept.
pub(super) fn heatmap(machine: &Machine, guest: usize) -> Option<Heatmap> {
    Some(machine.state.pages.as_ref()?.heatmaps(guest)?.heatmap())
}
