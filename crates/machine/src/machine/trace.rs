//! A machine that is traced: who is where, and what happens between turns.

use crate::code::Code;
use crate::machine::Machine;
use crate::parts::intervals::RegionChange;
use crate::parts::tracer::Tracer;
use crate::results::events::{EventInterrupt, EventKind, EventPlace, Trace};
use crate::results::gauge::Phase;
use types::Cycles;

/// Keeps events from now on. To be called before the machine runs.
pub(super) fn open(machine: &mut Machine) {
    machine.state.tracer = Some(Box::new(Tracer::new(machine.state.processors.len(), machine.records.len())));
    machine.record_stays();
    for index in 0..machine.vcpus.len() {
        begin_stay(machine, index);
    }
    for guest in 0..machine.records.len() {
        if machine.records[guest].region.phase() == Phase::Measure {
            region(machine, guest, RegionChange::Begins);
        }
    }
    machine.code = Code::new(machine.isa, &mut machine.state);
}

/// The events of a guest; `None` where none are kept.
pub(super) fn of(machine: &Machine, guest: usize) -> Option<Trace> {
    machine.state.tracer.as_ref().map(|tracer| tracer.trace(guest))
}

/// vCPU `index` has the pCPU where it is from now on.
pub(super) fn begin_stay(machine: &mut Machine, index: usize) {
    let (place, instructions) = (place(machine, index), machine.vcpus[index].hart.counts().instructions);
    if let Some(pcpu) = machine.vcpus[index].residence.pcpu {
        machine.state.processors[pcpu].stands = instructions;
    }
    if let Some(tracer) = &mut machine.state.tracer {
        tracer.seat(place);
    }
}

/// The hart of vCPU `index`, whose turn it is, stands where it stands: what follows happens there.
pub(super) fn stands(machine: &mut Machine, index: usize) {
    machine.state.processor().stands = machine.vcpus[index].hart.counts().instructions;
}

/// vCPU `index` has waited on its pCPU from `from` on.
pub(super) fn waited(machine: &mut Machine, index: usize, from: Cycles, waited: Cycles) {
    if machine.state.tracer.is_some() && waited > Cycles(0) {
        event(machine, index, (from, waited), EventKind::Idle);
    }
}

/// An interrupt of vCPU `index` has become pending at `now`.
pub(super) fn interrupt(machine: &mut Machine, index: usize, now: Cycles, which: EventInterrupt) {
    if machine.state.tracer.is_some() {
        event(machine, index, (now, Cycles(0)), EventKind::Interrupt(which));
    }
}

/// Something without a duration happens to vCPU `index`, whose turn it is.
pub(super) fn instant(machine: &mut Machine, index: usize, what: EventKind) {
    if machine.state.tracer.is_some() {
        let now = machine.clock_of_pcpu(machine.state.current.processor);
        event(machine, index, (now, Cycles(0)), what);
    }
}

/// A region of interest of a guest changes: it is measured from now on, or has been, or what was measured does not count.
pub(super) fn region(machine: &mut Machine, guest: usize, change: RegionChange) {
    let now = machine.clock_of_pcpu(machine.state.current.processor);
    let Some(tracer) = &mut machine.state.tracer else { return };
    match change {
        RegionChange::Warms => tracer.drop_region(guest),
        RegionChange::Begins => tracer.begin_region(guest, now),
        RegionChange::Ends => tracer.end_region(guest, now),
    }
}

fn event(machine: &mut Machine, index: usize, when: (Cycles, Cycles), what: EventKind) {
    let place = place(machine, index);
    if let Some(tracer) = &mut machine.state.tracer {
        tracer.event(place, when, what);
    }
}

fn place(machine: &Machine, index: usize) -> EventPlace {
    let vcpu = &machine.vcpus[index];
    EventPlace {
        pcpu: vcpu.residence.pcpu.map(|pcpu| pcpu as u32),
        guest: vcpu.guest as u32,
        hart: vcpu.hart_id as u32,
    }
}
