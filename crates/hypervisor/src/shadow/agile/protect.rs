//! Stores to shadowed tables that hardware translates by the nested table.

use crate::exits::ExitReason;
use crate::shadow::statistics::{Activity, Way, Work};
use crate::shadow::steps::{self, Entered};
use crate::shadow::{Event, Shadow, ShadowFaultOutcome, Tlbs};
use crate::vm::{Vm, VmMemory};
use memory::{FrameAllocator, Host, HostMemory, OutOfFrames};
use mmu::{Cause, Fault, Fence, NestedFault, Purpose};
use types::{Gpa, Hpa, PageSize};

impl Vm {
    /// Whether a fault of the hardware is for shadow tables to handle. Without agile paging all are: hardware knows no other tables.
    #[must_use]
    pub fn shadow_handles(&self, fault: &Fault) -> bool {
        let Some(shadow) = &self.shadow else { return false };
        match fault {
            Fault::Shadow(_) => true,
            Fault::Nested(NestedFault { cause: Cause::NotWritable, .. }) => true,
            Fault::Page(_) | Fault::Access(_) | Fault::Nested(_) => shadow.agile.is_none(),
        }
    }

    /// The nested table refuses a store to a page of RAM: it is one of the guest's tables, which are shadowed.
    pub fn shadow_protected_store(
        &mut self,
        host: &mut Host,
        tlbs: &mut impl Tlbs,
        fault: &NestedFault,
    ) -> (ShadowFaultOutcome, Option<Event>) {
        self.with_shadow(|shadow, vm| shadow.protected_store(vm, host, tlbs, fault))
            .unwrap_or((ShadowFaultOutcome::AccessFault, None))
    }
}

impl Shadow {
    fn protected_store(
        &mut self,
        vm: &mut VmMemory,
        host: &mut Host,
        tlbs: &mut impl Tlbs,
        fault: &NestedFault,
    ) -> (ShadowFaultOutcome, Option<Event>) {
        let gpa = fault.gpa;
        let mut references = u64::from(vm.host_levels());
        let outcome = if !self.is_guest_table(gpa) {
            vm.permit_stores(&host.memory, gpa);
            ShadowFaultOutcome::Mapped
        } else if fault.purpose == Purpose::Table {
            // Hardware sets A or D in a table that it walks nested.
            references += self.nest_table(host, tlbs, gpa.number());
            ShadowFaultOutcome::Mapped
        } else {
            references += self.store_to_table(host, tlbs, gpa);
            let at = vm.mapped(&host.memory, gpa).map(|leaf| Hpa(leaf.page.0 | gpa.offset(leaf.size)));
            at.map_or(ShadowFaultOutcome::AccessFault, ShadowFaultOutcome::StoreOnce)
        };
        self.statistics.agile.nested_table_writes += 1;
        self.settle_modes(vm, &host.memory);
        let steps = steps::exit(Entered::Fault) + steps::fault(references);
        let work = Work::new(Activity::Validation, Way::Exit, steps, references);
        (outcome, Some(self.event(ExitReason::TableWrite, work)))
    }

    /// Takes W from a page of RAM in the nested table, where hardware walks that. A larger page is split.
    pub(in crate::shadow) fn protect_in_host(
        &self,
        vm: &mut VmMemory,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        tlbs: &mut impl Tlbs,
        gpa: Gpa,
    ) -> Result<(), OutOfFrames> {
        if self.agile.is_some() && vm.refuse_stores(memory, frames, gpa)? {
            tlbs.fence_everywhere(&Fence::Gvma { gpa: Some(gpa.page(PageSize::Size4K)), vmid: Some(self.vmid) });
        }
        Ok(())
    }

    /// The host's page of `bytes` bytes at `gpa` goes: no table of the guest is shadowed, or led to, there any more. Whether walk caches may lead
    /// to one.
    pub(in crate::shadow) fn leave_page(&mut self, memory: &HostMemory, gpa: Gpa, bytes: u64) -> bool {
        let mut led_to = false;
        for number in gpa.number()..(gpa.0 + bytes).div_ceil(PageSize::Size4K.bytes()) {
            if self.agile.is_some() && self.is_guest_table(Gpa(number << 12)) {
                let _ = self.drop_page(memory, number);
            }
            let nested = self.agile.as_mut().and_then(|agile| agile.make_shadowed(number));
            for place in nested.iter().flat_map(|page| &page.places) {
                self.remove_switch(memory, *place);
                led_to = true;
            }
        }
        led_to
    }
}
