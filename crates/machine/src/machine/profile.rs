//! A machine that is profiled: when profiling begins, and at which moments what the counters have gained is charged.

use crate::code::Code;
use crate::machine::Machine;
use crate::profile::{Counters, Ledger, Profile, ProfileDetail};
use crate::results::gauge::Phase;
use crate::state::profile as counting;
use hart::Exit;
use types::{Access, Gpa, Gva, PagingMode};

/// The longest name of a range or a figure, in bytes.
const LONGEST_NAME: u64 = 64;

pub(super) const A0: u8 = 10;
pub(super) const A1: u8 = 11;
const A2: u8 = 12;

/// Profiles from now on. To be called before the machine runs.
pub(crate) fn open(machine: &mut Machine, detail: ProfileDetail) {
    let harts = machine.records.iter().map(|record| record.vcpus.len());
    machine.state.profile = Some(Box::new(Ledger::new(machine.state.processors.len(), harts, detail)));
    for vcpu in &machine.vcpus {
        if let (Some(pcpu), Some(ledger)) = (vcpu.residence.pcpu, &mut machine.state.profile) {
            ledger.seat(pcpu, (vcpu.guest, vcpu.hart_id), vcpu.residence.begun.counters());
        }
    }
    machine.code = Code::new(machine.isa, &mut machine.state);
}

/// The profile of the measured part of a guest's run; `None` where nothing is profiled.
pub(crate) fn of(machine: &Machine, guest: usize) -> Option<Profile> {
    let totals = Counters::of_statistics(&machine.measured_of(guest));
    let rates = counting::rates(&machine.state, &totals);
    machine.state.profile.as_ref().map(|ledger| ledger.profile(guest, totals, rates))
}

/// vCPU `index` begins a turn on a pCPU.
pub(super) fn begin_turn(machine: &mut Machine, index: usize, pcpu: usize) {
    if let Some(ledger) = &mut machine.state.profile {
        let vcpu = &mut machine.vcpus[index];
        if ledger.keeps_callers() {
            vcpu.hart.tell_transfers();
        }
        ledger.at(pcpu, vcpu.hart.pc());
        counting::sweep(&mut machine.state, pcpu, vcpu.guest);
    }
}

/// The hart of vCPU `index` has left, on a pCPU. What follows is of the instruction that it asks something by, or else of where it is.
pub(super) fn leave(machine: &mut Machine, index: usize, exit: Exit) {
    if machine.state.profile.is_none() {
        return;
    }
    let current = machine.state.current;
    counting::sweep(&mut machine.state, current.processor, current.guest);
    match exit {
        // The turn of a stopped hart goes on later.
        Exit::Stopped(_) => {}
        Exit::Budget => counting::at(&mut machine.state, machine.vcpus[index].hart.pc()),
        Exit::SupervisorCall | Exit::Wait | Exit::Marker(_) | Exit::TimerSet | Exit::Pause | Exit::ReservationWait => {}
    }
}

/// Charges what the turn of a pCPU has changed behind its hart.
pub(super) fn end_turn(machine: &mut Machine, pcpu: usize) {
    if machine.state.profile.is_some()
        && let Some(index) = machine.dispatch.occupant(pcpu)
    {
        let guest = machine.vcpus[index].guest;
        counting::sweep(&mut machine.state, pcpu, guest);
    }
}

/// A vCPU leaves a pCPU.
pub(super) fn end_stay(machine: &mut Machine, index: usize, pcpu: usize) {
    let guest = machine.vcpus[index].guest;
    counting::sweep(&mut machine.state, pcpu, guest);
}

/// vCPU `index` has a pCPU from now on.
pub(super) fn begin_stay(machine: &mut Machine, index: usize, pcpu: usize) {
    let counters = counting::counters(&machine.state, pcpu);
    let vcpu = &machine.vcpus[index];
    if let Some(ledger) = &mut machine.state.profile {
        ledger.seat(pcpu, (vcpu.guest, vcpu.hart_id), counters);
    }
}

/// A region of interest of a guest begins.
pub(super) fn begin_region(machine: &mut Machine, guest: usize) {
    charge_all(machine, guest);
    if let Some(ledger) = &mut machine.state.profile {
        ledger.begin(guest);
    }
}

/// A region of interest of a guest ends.
pub(super) fn end_region(machine: &mut Machine, guest: usize) {
    if machine.records[guest].region.phase() == Phase::Measure {
        charge_all(machine, guest);
        if let Some(ledger) = &mut machine.state.profile {
            ledger.end(guest);
        }
    }
}

/// Charges what has changed on every pCPU that a hart of `guest` has.
fn charge_all(machine: &mut Machine, guest: usize) {
    for index in machine.harts_of(guest) {
        if let Some(pcpu) = machine.vcpus[index].residence.pcpu {
            counting::sweep(&mut machine.state, pcpu, guest);
        }
    }
}

/// vCPU `index`, whose turn it is, gives `a1` bytes from `a0` on the name at `a2`. The name is read without any effect on what is simulated. A range without
/// bytes, or whose name cannot be read, stays without a name.
pub(super) fn name_range(machine: &mut Machine, index: usize) {
    if machine.state.profile.is_none() {
        return;
    }
    let hart = &machine.vcpus[index].hart;
    let (start, bytes) = (Gva(hart.register(A0)), hart.register(A1));
    let name = name_at(machine, index, hart.register(A2));
    let current = machine.state.current;
    if let Some(ledger) = &mut machine.state.profile
        && bytes > 0
        && !name.is_empty()
    {
        ledger.name(current.processor, current.guest, (start, bytes), name);
    }
}

/// The name at a virtual address of a hart, up to its zero byte. Empty where it cannot be read without an effect.
pub(super) fn name_at(machine: &Machine, index: usize, at: u64) -> String {
    (0..LONGEST_NAME)
        .map_while(|offset| peek(machine, index, at.wrapping_add(offset)).filter(|&byte| byte != 0))
        .map(|byte| if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '?' })
        .collect()
}

/// The byte at a virtual address of a hart; `None` where nothing can be read without an effect.
fn peek(machine: &Machine, index: usize, at: u64) -> Option<u8> {
    let vm = machine.state.vm();
    let memory = &machine.state.host.memory;
    let context = machine.vcpus[index].hart.context();
    let gpa = match context.mode {
        PagingMode::Bare => Gpa(at),
        PagingMode::Sv39 | PagingMode::Sv48 | PagingMode::Sv57 => {
            let found = vm.peek_guest(memory, &context, Gva(at), Access::Read).ok()?;
            Gpa(found.page.0 | at & (found.size.bytes() - 1))
        }
    };
    let word = vm.peek(memory, Gpa(gpa.0 & !7))?;
    Some(word.to_le_bytes()[(gpa.0 & 7) as usize])
}
