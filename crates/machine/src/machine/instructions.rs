//! A machine whose instructions are traced: who gets them.

use crate::machine::Machine;
use crate::parts::instruction_sink::{GuestTables, InstructionSink};

/// See [`Machine::trace_instructions`].
pub(super) fn open(machine: &mut Machine, sink: Box<dyn InstructionSink>) {
    machine.instructions = Some(sink);
}

/// vCPU `index` begins a turn.
pub(super) fn begin_turn(machine: &mut Machine, index: usize) {
    if machine.instructions.is_some() {
        machine.vcpus[index].hart.log_instructions();
    }
}

/// The hart of vCPU `index` has left its turn.
pub(super) fn end_turn(machine: &mut Machine, index: usize) {
    let Some(sink) = &mut machine.instructions else { return };
    let vcpu = &mut machine.vcpus[index];
    let phase = machine.records[vcpu.guest].region.phase();
    let tables = GuestTables { vm: &machine.state.vms[vcpu.guest], memory: &machine.state.host.memory };
    sink.retired(&vcpu.hart.take_instructions(), phase, &tables);
}
