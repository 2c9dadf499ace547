//! Sections while guests run: faults, reservations that are freed, and the ends of guests and of the run.

use super::figures::FreedFigures;
use super::host::HostSections;
use crate::results::events::EventKind;
use crate::state::{MachineState, Processor};
use hypervisor::section::{SectionFault, SectionHost, SectionManager};
use hypervisor::{FlushTlbs, NestedFaultOutcome, PageUnavailable, Vm};
use memory::FrameRange;
use memory::registry::{FreeError, SectionName};
use memory::section::FileCounts;
use mmu::Fence;
use types::{Access, Cycles, Gpa};

/// Every pCPU, and the frames whose code they are to forget.
pub(crate) struct Flushes<'w> {
    processors: &'w mut [Processor],
    leave: &'w mut bool,
    forgotten: Vec<FrameRange>,
}

impl FlushTlbs for Flushes<'_> {
    fn fence(&mut self, fence: &Fence) {
        for processor in &mut *self.processors {
            processor.mmu.fence(fence);
        }
        // As in `paging`: the hart that runs holds more than its TLBs do.
        *self.leave = true;
    }

    fn forget_code(&mut self, frames: FrameRange) {
        self.forgotten.push(frames);
    }
}

/// Lets the manager of sections at the host; `None` on one without.
pub(crate) fn with_sections<T>(
    state: &mut MachineState,
    act: impl FnOnce(&mut HostSections, &mut SectionHost<'_, Vec<Vm>, Flushes<'_>>) -> T,
) -> Option<T> {
    let MachineState { sections, host, vms, processors, leave, foreign_writes, .. } = state;
    let sections = sections.as_mut()?;
    let mut flushes = Flushes { processors, leave, forgotten: Vec::new() };
    let result = act(sections, &mut SectionHost { host, tables: vms, processors: &mut flushes });
    for range in flushes.forgotten {
        if let Some(start) = host.memory.pointer(range.start()) {
            foreign_writes.push((start.as_ptr() as usize, range.bytes() as usize));
        }
    }
    Some(result)
}

/// A fault of the current guest outside its RAM, if a section is there; `None` if not. An error ends the guest.
pub(crate) fn fault(
    state: &mut MachineState,
    gpa: Gpa,
    access: Access,
) -> Option<Result<NestedFaultOutcome, PageUnavailable>> {
    if state.sections.is_none() || state.vm().is_ram(gpa, 1) {
        return None;
    }
    state.keep_reserve();
    let vmid = state.vm().vmid();
    let (resolved, files) = with_sections(state, |sections, on| {
        let before = file_counts(&sections.manager);
        let resolved = sections.manager.fault(on, vmid, gpa, access);
        // An exit for a nested fault has the cost of mapping a page; what is left are pages of files.
        let _ = sections.manager.take_work();
        (resolved, file_counts(&sections.manager).since(before))
    })?;
    let cycles = state.costs.pages_of_files(files);
    if cycles > Cycles(0) {
        state.note_spending(state.current.processor, cycles, EventKind::Sections);
    }
    state.processor().hypervisor += cycles;
    // What came from a file took long, and others may be earlier now.
    state.leave |= files.reads > 0;
    match resolved {
        Ok(SectionFault::Elsewhere) => None,
        Ok(SectionFault::Denied(_)) => Some(Ok(NestedFaultOutcome::Nothing)),
        Ok(SectionFault::Resolved(_)) => Some(Ok(NestedFaultOutcome::Mapped)),
        Err(error) => Some(Err(PageUnavailable::Section(error.to_string()))),
    }
}

/// Frees the reservation `name` at the time `at`.
///
/// # Errors
/// [`FreeError`]: nothing has changed.
pub(crate) fn free_reservation(
    state: &mut MachineState,
    name: &SectionName,
    at: Cycles,
) -> Result<FreedFigures, FreeError> {
    let MachineState { sections, host, .. } = state;
    let sections = sections.as_mut().ok_or_else(|| FreeError::NotReserved(name.clone()))?;
    let freed = sections.manager.reserved_mut().free(host, name)?;
    let figures = FreedFigures { name: name.clone(), at, freed };
    sections.ledger.reserved.freed.push(figures.clone());
    Ok(figures)
}

/// A guest has ended: it maps no sections any more. A section that no VM maps goes, unless it is permanent.
pub(crate) fn leave(state: &mut MachineState, guest: usize) {
    let vmid = state.vms[guest].vmid();
    with_sections(state, |HostSections { manager, ledger, .. }, on| {
        ledger.note_guest(manager, on.tables, vmid);
        if let Err(error) = manager.remove_vm(on, vmid) {
            ledger.problems.push(error.to_string());
        }
        ledger.note_sections(manager);
    });
}

/// The run is over: permanent sections go as well, and what was written to them reaches their files.
pub(crate) fn close(state: &mut MachineState) {
    with_sections(state, |HostSections { manager, ledger, .. }, on| {
        let names: Vec<_> = manager.sections().iter().map(|(_, section)| section.name().clone()).collect();
        for name in names {
            if let Err(error) = manager.delete(on, &name) {
                ledger.problems.push(error.to_string());
            }
        }
        ledger.note_sections(manager);
    });
}

/// Pages of files moved by all sections that live.
fn file_counts(manager: &SectionManager) -> FileCounts {
    manager.sections().iter().fold(FileCounts::default(), |sum, (_, section)| {
        let FileCounts { reads, writes } = section.file_counts();
        FileCounts { reads: sum.reads + reads, writes: sum.writes + writes }
    })
}
