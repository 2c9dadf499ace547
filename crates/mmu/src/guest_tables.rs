//! The guest's tables, read through the second stage: what makes a walk two-dimensional.

use crate::fault::{AccessCause, Fault, Purpose};
use crate::memory::TableMemory;
use crate::pte::Pte;
use crate::stage::{Backing, HostMapping, Stage};
use crate::walk::PteReader;
use types::{Access, Gpa, Hpa, PageSize};

/// Reads PTEs at guest physical addresses.
pub(crate) struct GuestTables<'a, S>(pub(crate) &'a mut S);

/// Where a PTE lies in the host's memory; a device has no PTEs.
fn host_address(mapping: &HostMapping, at: Gpa) -> Result<Hpa, Fault> {
    match mapping.backing {
        Backing::Host => Ok(mapping.hpa(at)),
        Backing::Device => Err(Fault::Access(AccessCause::FirstStageTable)),
    }
}

impl<S: Stage> PteReader for GuestTables<'_, S> {
    type Address = Gpa;
    type Fault = Fault;

    #[inline(always)]
    fn skipped(&mut self, level: u32) {
        self.0.statistics().guest_cache_hits[level as usize - 1] += 1;
    }

    #[inline(always)]
    fn read(&mut self, at: Gpa) -> Result<Pte, Fault> {
        let mapping = self.0.translate(at, Access::Read, Purpose::Table, PageSize::Size4K)?;
        let hpa = host_address(&mapping, at)?;
        let pte = self.0.memory().read(hpa).ok_or(Fault::Access(AccessCause::FirstStageTable))?;
        self.0.statistics().guest_refs += 1;
        Ok(Pte(pte))
    }

    fn exchange(&mut self, at: Gpa, old: Pte, new: Pte) -> Result<bool, Fault> {
        let mapping = self.0.translate_update(at)?;
        let hpa = host_address(&mapping, at)?;
        let found = self.0.memory().compare_exchange(hpa, old.0, new.0);
        let found = found.ok_or(Fault::Access(AccessCause::FirstStageTable))?;
        let exchanged = found == old.0;
        self.0.statistics().guest_updates += u64::from(exchanged);
        Ok(exchanged)
    }
}
