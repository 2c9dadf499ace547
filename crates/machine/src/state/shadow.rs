//! Guests with shadow tables: what their harts do to translation goes to the hypervisor, and what the hypervisor decides to the processors' MMUs.

use crate::results::events::{EventKind, ShadowEvent};
use crate::state::footprint;
use crate::state::{Current, MachineState, Processor};
use hypervisor::footprint::{FootprintEvent, FootprintPlace};
use hypervisor::sbi::{FenceRange, HartSet, ParavirtualRequest, PartialPurge, Request, SbiError};
use hypervisor::shadow::{Event, GuestFence, ShadowFault, ShadowFaultOutcome, Tlbs, Way, Work};
use hypervisor::{ReclaimRequest, Vm};
use memory::Host;
use mmu::{Fence, NestedFault};
use types::{Access, Asid, Gva, TranslationContext};

/// The processors of a machine, as the maintenance of one guest's tables flushes them. Those where the guest never runs have nothing of its VMID.
pub(crate) struct Processors<'p> {
    all: &'p mut [Processor],
    here: usize,
}

impl Tlbs for Processors<'_> {
    fn fence_here(&mut self, fence: &Fence) {
        self.all[self.here].mmu.fence(fence);
    }

    fn fence_everywhere(&mut self, fence: &Fence) {
        for processor in &mut *self.all {
            processor.mmu.fence(fence);
        }
    }
}

/// The guests' memory, the host's, and the processors' TLBs, borrowed apart.
pub(crate) fn parts(state: &mut MachineState) -> (&mut [Vm], &mut Host, Processors<'_>) {
    let tlbs = Processors { all: &mut state.processors, here: state.current.processor };
    (&mut state.vms, &mut state.host, tlbs)
}

/// The current hart translates in `context`: the hardware does in that of its shadow table.
pub(crate) fn set_context(state: &mut MachineState, context: &TranslationContext) {
    let Current { processor, guest, hart } = state.current;
    // Every trap comes here, with another privilege in the same address space.
    while !state.vms[guest].shadow_stays(hart, context) {
        let mut tlbs = Processors { all: &mut state.processors, here: processor };
        match state.vms[guest].shadow_switch(&mut state.host, &mut tlbs, hart, context) {
            Ok(event) => {
                charge(state, event);
                break;
            }
            Err(frames) if !state.provide(frames.into()) => break,
            Err(_) => {}
        }
    }
    let vm = &state.vms[guest];
    if let Some(hardware) = vm.shadow_context(hart) {
        state.processors[processor].mmu.set_context(&hardware, vm.vmid());
    }
}

/// The shadow table refuses an access of the current hart. `None`: the hart leaves.
pub(crate) fn fault(state: &mut MachineState, address: u64, access: Access) -> Option<ShadowFaultOutcome> {
    let Current { processor, guest, hart } = state.current;
    state.keep_reserve();
    let refused = ShadowFault { hart, gva: Gva(address), access };
    let mut filled = 0;
    let outcome = loop {
        let mut tlbs = Processors { all: &mut state.processors, here: processor };
        let sections = state.sections.as_mut().map(|sections| &mut sections.manager);
        match state.vms[guest].shadow_fault(&mut state.host, &mut tlbs, refused, sections) {
            Ok((outcome, event)) => {
                charge(
                    state,
                    event.map(|Event { reason, work }| {
                        let way = if filled > 0 && work.way == Way::Assist { Way::Exit } else { work.way };
                        Event { reason, work: Work { way, filled: work.filled + filled, ..work } }
                    }),
                );
                break Some(outcome);
            }
            Err(wanted) => {
                filled += u64::from(!matches!(wanted, ReclaimRequest::Frames(_)));
                if !state.provide(wanted) {
                    break None;
                }
            }
        }
    };
    let leaves = state.take_leave();
    outcome.filter(|_| !leaves)
}

/// The current hart executes `sfence.vma`: what its shadow tables have to do. Its TLB is the caller's.
pub(crate) fn fence(state: &mut MachineState, fence: hart::Fence) {
    let Current { processor, guest, hart } = state.current;
    let mut tlbs = Processors { all: &mut state.processors, here: processor };
    let page = fence.gva.map(|gva| [gva]);
    let fence = GuestFence { pages: page.as_ref().map(|page| &page[..]), asid: fence.asid, remote: false };
    let event = state.vms[guest].shadow_fence(&state.host, &mut tlbs, |other| other == hart, &fence);
    charge(state, event);
}

/// The current hart has the harts of its guest fenced: what their shadow tables have to do, before their TLBs.
pub(crate) fn fence_remotely(state: &mut MachineState, harts: HartSet, range: FenceRange, asid: Option<Asid>) {
    let Current { processor, guest, .. } = state.current;
    let mut tlbs = Processors { all: &mut state.processors, here: processor };
    let pages: Option<Vec<Gva>> = range.operands().collect();
    let fence = GuestFence { pages: pages.as_deref(), asid, remote: true };
    let event = state.vms[guest].shadow_fence(&state.host, &mut tlbs, |hart| harts.contains(hart), &fence);
    charge(state, event);
}

/// Whether executing `request` charges for all of it: an assist may do it without an exit.
pub(crate) fn charges_itself(state: &MachineState, guest: usize, request: &Request) -> bool {
    let purge = matches!(request, Request::Paravirtual(ParavirtualRequest::PartialPurge(_)));
    purge && state.vms[guest].is_shadowed()
}

/// The current hart makes an entry of its guest's table invalid, for every processor; returns the entry as it was.
pub(crate) fn partial_purge(state: &mut MachineState, purge: &PartialPurge) -> Result<u64, SbiError> {
    let Current { processor, guest, .. } = state.current;
    loop {
        let mut tlbs = Processors { all: &mut state.processors, here: processor };
        let vm = &mut state.vms[guest];
        let result = if vm.is_shadowed() {
            vm.shadow_partial_purge(&mut state.host, &mut tlbs, purge)
        } else {
            let gva = purge.handshake.then_some(purge.page);
            let old = vm.clear_valid(&mut state.host, purge.entry);
            tlbs.fence_everywhere(&Fence::Vvma { vmid: vm.vmid(), gva, asid: None });
            old.map(|old| (old, None))
        };
        match result {
            Ok((old, event)) => {
                charge(state, event);
                return Ok(old);
            }
            Err(wanted) if !state.provide(wanted) => return Err(SbiError::Failed),
            Err(_) => {}
        }
    }
}

/// Fences what the stores of devices made out of date, if anything.
pub(crate) fn fence_if_due(state: &mut MachineState, guest: usize) {
    if let Some(fence) = state.vms[guest].shadow_fence_due() {
        Processors { all: &mut state.processors, here: 0 }.fence_everywhere(&fence);
    }
}

/// The nested table refuses a store of the current hart to a table of its guest that is shadowed.
pub(crate) fn protected_store(state: &mut MachineState, fault: &NestedFault) -> ShadowFaultOutcome {
    let Current { processor, guest, .. } = state.current;
    let mut tlbs = Processors { all: &mut state.processors, here: processor };
    let (outcome, event) = state.vms[guest].shadow_protected_store(&mut state.host, &mut tlbs, fault);
    charge(state, event);
    outcome
}

/// Charges the current processor for work on its guest's shadow tables, and counts the exit if there was one.
pub(crate) fn charge(state: &mut MachineState, event: Option<Event>) {
    let Some(Event { reason, work }) = event else { return };
    let Current { processor, guest, .. } = state.current;
    let cycles = state.costs.of_shadow(&work);
    let what = EventKind::Shadow(ShadowEvent::new(reason, work.way, work.activity));
    state.note_spending(processor, cycles, what);
    if work.way == Way::Exit {
        state.count_exit(processor, guest, reason);
        if let Some(cores) = &mut state.cores {
            cores.pending(processor).exit();
        }
    }
    let processor = &mut state.processors[processor];
    processor.hypervisor += cycles;
    state.vms[guest].spend_on_shadow(work.activity, cycles);
    let at = FootprintPlace { pcpu: state.current.processor, vm: guest };
    FootprintEvent::of_shadow(&work).for_each(|event| footprint::touch(state, at, event));
}

/// An interval of the current guest ends.
pub(crate) fn end_interval(state: &mut MachineState) {
    let guest = state.current.guest;
    let (vms, host, mut tlbs) = parts(state);
    let event = vms[guest].end_shadow_interval(host, &mut tlbs);
    charge(state, event);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::Exited;
    use crate::machine::Machine;
    use crate::{Image, LEAST_MEMORY};
    use config::ConfigBuilder;
    use hypervisor::ExitReason;
    use hypervisor::shadow::Activity;

    /// The hypervisor's exits for shadow tables had no effect on the core: earlier instructions and stores overlapped them.
    #[test]
    fn an_exit_for_a_shadow_table_serializes_a_core_and_an_assist_does_not() {
        let image = Image {
            kernel: include_bytes!("../../../../guests/vos/vos.elf").as_slice().into(),
            kernel_name: "vos".to_owned(),
            load_address: None,
            initrd: None,
            command_line: "workload=hello".to_owned(),
            least_memory: LEAST_MEMORY,
            devices: Vec::new(),
        };
        let settings = [("scheme", "shadow"), ("memory", "64M"), ("fidelity", "core")];
        let config = settings.iter().fold(ConfigBuilder::default(), |all, (key, value)| all.set(key, value).unwrap());
        let mut machine = Machine::assemble_all(&config.build().unwrap(), &[image]).unwrap();
        for (way, exited) in [(Way::Exit, Exited::Yes), (Way::Assist, Exited::No)] {
            let work = Work { activity: Activity::Validation, way, steps: 10, references: 4, filled: 0 };
            charge(&mut machine.state, Some(Event { reason: ExitReason::ShadowFault, work }));
            let pending = machine.state.cores.as_mut().unwrap().pending(0);
            assert_eq!(pending.take_exit(), exited, "{way:?}");
        }
    }
}
