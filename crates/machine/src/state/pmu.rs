//! The counters behind the SBI's PMU extension: what the model counts anyhow, shown to the guest ([`hypervisor::pmu`], docs/sbi.md).

use crate::machine::Machine;
use crate::parts::vcpu::Vcpu;
use crate::state::{Current, MachineState};
use hypervisor::pmu::{FirmwareEvent, HARDWARE_COUNTERS, Pmu, PmuEvent, exists};
use hypervisor::sbi::{HartSet, PmuRequest, SbiError};

/// What a pCPU has counted of a hardware event, whose vCPU has retired `instructions`.
fn counted_event(state: &MachineState, processor: usize, instructions: u64, event: PmuEvent) -> u64 {
    let clock = || state.clock_of(processor, instructions);
    let processor = &state.processors[processor];
    let mmu = processor.mmu.statistics();
    match event {
        // The clock of a hart that waits stands still.
        PmuEvent::Cycles => clock().0 - processor.idle.0,
        PmuEvent::Instructions => processor.instructions + instructions - processor.entered,
        PmuEvent::DataTlbMisses => mmu.l1d_misses,
        PmuEvent::InstructionTlbMisses => mmu.l1i_misses,
        PmuEvent::SecondLevelHits => mmu.l2_hits,
        PmuEvent::SecondLevelMisses => mmu.l2_misses,
        PmuEvent::Walks => mmu.walks,
        PmuEvent::GuestReferences => mmu.guest_refs,
        PmuEvent::HostReferences => mmu.host_refs,
        // The unit counts these itself.
        PmuEvent::Firmware(_) => 0,
    }
}

/// The hardware counter `counter` of the current hart, `retired` instructions into the run.
pub(crate) fn read_counter(state: &MachineState, counter: u32, retired: u64) -> Option<u64> {
    let Current { processor, guest, hart } = state.current;
    let pmu = state.guests[guest].pmus.get(hart).filter(|_| counter < HARDWARE_COUNTERS && exists(counter))?;
    let instructions = state.processors[processor].retired + retired;
    Some(pmu.value(counter, |event| counted_event(state, processor, instructions, event)))
}

/// Serves a call of the current hart, which has retired `instructions`.
pub(crate) fn serve(state: &mut MachineState, request: PmuRequest, instructions: u64) -> Result<u64, SbiError> {
    let Current { processor, guest, hart } = state.current;
    with_pmu(state, guest, hart, |state, pmu| {
        pmu.serve(request, |event| counted_event(state, processor, instructions, event))
    })
    .unwrap_or(Err(SbiError::NotSupported))
}

/// A hart that has retired `instructions` gets a pCPU.
pub(crate) fn enter(state: &mut MachineState, pcpu: usize, (guest, hart): (usize, usize), instructions: u64) {
    with_pmu(state, guest, hart, |state, pmu| pmu.enter(|event| counted_event(state, pcpu, instructions, event)));
}

/// It leaves it.
pub(crate) fn leave(state: &mut MachineState, pcpu: usize, (guest, hart): (usize, usize), instructions: u64) {
    with_pmu(state, guest, hart, |state, pmu| pmu.leave(|event| counted_event(state, pcpu, instructions, event)));
}

/// The counters of a hart as they are where it has no pCPU.
pub(crate) fn at_rest(state: &MachineState, vcpu: &Vcpu) -> Option<Pmu> {
    let mut pmu = state.guests[vcpu.guest].pmus.get(vcpu.hart_id)?.clone();
    if let Some(pcpu) = vcpu.residence.pcpu {
        let instructions = vcpu.hart.counts().instructions;
        pmu.leave(|event| counted_event(state, pcpu, instructions, event));
    }
    Some(pmu)
}

/// Counts a firmware event of a hart.
pub(crate) fn count_firmware(state: &mut MachineState, guest: usize, hart: usize, event: FirmwareEvent) {
    if let Some(pmu) = state.guests[guest].pmus.get_mut(hart) {
        pmu.count(event);
    }
}

/// What `act` gives, with a hart's counters taken out meanwhile; `None` if it has none.
fn with_pmu<T>(
    state: &mut MachineState,
    guest: usize,
    hart: usize,
    act: impl FnOnce(&MachineState, &mut Pmu) -> T,
) -> Option<T> {
    let mut pmu = std::mem::take(state.guests[guest].pmus.get_mut(hart)?);
    let result = act(state, &mut pmu);
    state.guests[guest].pmus[hart] = pmu;
    Some(result)
}

impl Machine {
    /// A request that harts send to each other: counted at the sender once for each of the others, and at each of those.
    pub(crate) fn count_request(
        &mut self,
        sender: usize,
        harts: HartSet,
        sent: FirmwareEvent,
        received: FirmwareEvent,
    ) {
        let Vcpu { guest, hart_id, .. } = self.vcpus[sender];
        if self.state.guests[guest].pmus.is_empty() {
            return;
        }
        for target in harts.iter().filter(|&target| target != hart_id) {
            count_firmware(&mut self.state, guest, hart_id, sent);
            count_firmware(&mut self.state, guest, target, received);
        }
    }
}
