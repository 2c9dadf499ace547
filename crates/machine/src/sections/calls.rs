//! Sections at run time: a guest maps those that its configuration gives it elsewhere or again, takes them out, deletes them, and
//! makes them again after their end (docs/paravirtual.md).
//!
//! A guest names a section by its number in its device tree, so that it reaches no other, and maps each once at a time: its tables take no more
//! than what was set aside for its configuration.

use super::host::HostSections;
use super::plan::{GuestSection, SectionStore};
use crate::results::events::EventKind;
use crate::sections::serve;
use crate::state::MachineState;
use hypervisor::sbi::{SbiError, SectionCall};
use hypervisor::section::{MapRequest, SectionAccess, SectionHost, SectionManager, SectionMapError, SectionUnmapError};
use hypervisor::{FlushTlbs, Vm};
use memory::section::DeleteError;
use types::{Cycles, Gpa, Vmid};

/// How often guests make sections again in a run. Figures of each are kept until its end.
const MOST_MADE_AGAIN: usize = 1024;

/// What a guest asks concerning its sections. The work is charged to the processor that it asks on.
///
/// # Errors
/// [`SbiError`], as docs/paravirtual.md has it.
pub(crate) fn call(state: &mut MachineState, guest: usize, call: SectionCall) -> Result<u64, SbiError> {
    let vmid = state.vms[guest].vmid();
    let costs = state.costs.clone();
    let (result, cycles) = serve::with_sections(state, |sections, on| {
        let result = sections.call(on, vmid, call);
        let cycles = costs.of_section(&sections.manager.take_work());
        if let (Ok(_), SectionCall::Map { at, .. }) = (&result, call) {
            sections.ledger.map_times.insert((vmid, at), cycles);
            sections.ledger.note_guest(&sections.manager, on.tables, vmid);
        }
        (result, cycles)
    })
    .unwrap_or((Err(SbiError::InvalidParam), Cycles(0)));
    state.note_spending(state.current.processor, cycles, EventKind::Sections);
    state.processor().hypervisor += cycles;
    result
}

impl HostSections {
    fn call(
        &mut self,
        on: &mut SectionHost<'_, Vec<Vm>, impl FlushTlbs>,
        vmid: Vmid,
        call: SectionCall,
    ) -> Result<u64, SbiError> {
        let (SectionCall::Map { section, .. }
        | SectionCall::Unmap { section }
        | SectionCall::Delete { section }
        | SectionCall::Create { section }) = call;
        let offers = self.offers.get(&vmid).map_or(&[][..], |offers| &offers.windows);
        let offer = usize::try_from(section).ok().and_then(|number| offers.get(number));
        let offer = offer.ok_or(SbiError::InvalidParam)?.clone();
        let mapped = mapped(&self.manager, vmid, &offer);
        match call {
            SectionCall::Map { .. } if mapped.is_some() => Err(SbiError::AlreadyAvailable),
            SectionCall::Map { write: true, .. } | SectionCall::Delete { .. } | SectionCall::Create { .. }
                if offer.access == SectionAccess::ReadOnly =>
            {
                Err(SbiError::Denied)
            }
            SectionCall::Map { at, write, .. } => {
                let request = MapRequest::whole(vmid, offer.name, at);
                let request = if write { request } else { request.read_only() };
                self.manager.map(on, &request).map(|_| offer.bytes).map_err(|error| refusal(&error))
            }
            SectionCall::Unmap { .. } => {
                self.ledger.note_guest(&self.manager, on.tables, vmid);
                let unmapped = self.manager.unmap(on, vmid, mapped.ok_or(SbiError::InvalidAddress)?);
                self.ledger.note_sections(&self.manager);
                match unmapped {
                    Ok(()) => Ok(0),
                    Err(error @ SectionUnmapError::Delete(_)) => {
                        self.ledger.problems.push(error.to_string());
                        Err(SbiError::Failed)
                    }
                    Err(SectionUnmapError::NoVm(_) | SectionUnmapError::NotMapped(_)) => Err(SbiError::InvalidAddress),
                }
            }
            SectionCall::Delete { .. } => match self.manager.delete(on, &offer.name) {
                Ok(()) => Ok(0),
                Err(DeleteError::InUse { .. }) => Err(SbiError::Denied),
                Err(DeleteError::Write { .. } | DeleteError::Absent(_)) => Err(SbiError::Failed),
            },
            SectionCall::Create { .. } => self.create_again(on, &offer),
        }
    }

    /// Makes a memory-resident section again that has ended: zeroes, in memory of the registry's choice.
    fn create_again(
        &mut self,
        on: &mut SectionHost<'_, Vec<Vm>, impl FlushTlbs>,
        offer: &GuestSection,
    ) -> Result<u64, SbiError> {
        if self.manager.sections().find(&offer.name).is_some() {
            return Err(SbiError::AlreadyAvailable);
        }
        let plan = self.plans.iter().find(|plan| plan.name == offer.name).ok_or(SbiError::InvalidParam)?;
        // The sandbox opens no file while guests run.
        if plan.store != SectionStore::Resident {
            return Err(SbiError::NotSupported);
        }
        if self.ledger.sections.len() >= self.plans.len() + MOST_MADE_AGAIN {
            return Err(SbiError::Failed);
        }
        // Memory is short: too few fluid pages, or no frames for its tables.
        let created = self.manager.create_resident(on, &plan.name, plan.bytes, plan.lifetime());
        created.map_err(|_| SbiError::Failed)?;
        self.ledger.note_sections(&self.manager);
        Ok(plan.bytes)
    }
}

/// Where a VM maps a section, if it does.
fn mapped(manager: &SectionManager, vmid: Vmid, offer: &GuestSection) -> Option<Gpa> {
    let id = manager.sections().find(&offer.name)?;
    manager.windows(vmid).find(|window| window.section == id).map(|window| window.region.start)
}

const fn refusal(error: &SectionMapError) -> SbiError {
    match error {
        SectionMapError::Misaligned { .. } | SectionMapError::Overlaps { .. } | SectionMapError::Beyond { .. } => {
            SbiError::InvalidAddress
        }
        SectionMapError::OtherGroup { .. } | SectionMapError::ReadOnlyFile(_) => SbiError::Denied,
        // It has ended with its last mapper, or frames are short.
        SectionMapError::NoSuchSection(_)
        | SectionMapError::NoVm(_)
        | SectionMapError::Pages { .. }
        | SectionMapError::Tables { .. }
        | SectionMapError::Backing(_) => SbiError::Failed,
    }
}
