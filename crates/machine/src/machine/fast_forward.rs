//! When caches and cores are modelled on a machine that fast-forwards ([`crate::state::fast_forward`]): while any guest is in a region of interest.

use crate::code::Code;
use crate::machine::Machine;
use crate::state::fast_forward;

/// A guest is in a region from here on, which may have a warmup.
pub(super) fn region_begins(machine: &mut Machine) {
    if fast_forward::take_back(&mut machine.state) {
        translate_again(machine);
    }
}

/// A guest is in no region any more: it has marked the end of one, or is at its own end.
pub(super) fn region_ends(machine: &mut Machine) {
    let runs_in_one = |guest: usize| !machine.has_ended(guest) && machine.records[guest].is_in_region();
    if machine.pace.fast_forward
        && !(0..machine.records.len()).any(runs_in_one)
        && fast_forward::set_aside(&mut machine.state)
    {
        translate_again(machine);
    }
}

/// Code is translated for what is modelled.
fn translate_again(machine: &mut Machine) {
    machine.code = Code::new(machine.isa, &mut machine.state);
}
