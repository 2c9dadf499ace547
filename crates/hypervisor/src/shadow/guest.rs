//! A VM's shadow tables, as the machine and the rest of the hypervisor use them.

use super::statistics::{Activity, ShadowStatistics};
use super::{Event, Exited, GuestFence, Shadow, ShadowConfig, ShadowFault, ShadowFaultOutcome, Tlbs};
use crate::section::SectionManager;
use crate::table::{Leaf, Radix, ShadowFormat};
use crate::vm::{ReclaimRequest, Vm, VmMemory};
use memory::{Host, HostMemory, OutOfFrames};
use mmu::Fence;
use types::{Cycles, Gpa, PageSize, TranslationContext};

/// A guest with shadow tables. Each of these does nothing for a guest without.
impl Vm {
    /// Gives the guest shadow tables that are trees, before it runs.
    ///
    /// # Errors
    /// [`OutOfFrames`]: the host has no room for the roots.
    pub fn shadow_with(&mut self, host: &mut Host, config: ShadowConfig) -> Result<(), OutOfFrames> {
        self.shadow_as(host, config, &Radix)
    }

    /// Gives the guest shadow tables of the shape `format`, before it runs.
    ///
    /// # Errors
    /// [`OutOfFrames`]: the host has no room for the roots.
    pub fn shadow_as(
        &mut self,
        host: &mut Host,
        config: ShadowConfig,
        format: &'static dyn ShadowFormat,
    ) -> Result<(), OutOfFrames> {
        self.shadow = Some(Box::new(Shadow::new(host, self, config, format)?));
        Ok(())
    }

    /// Whether the guest has shadow tables.
    #[inline]
    #[must_use]
    pub const fn is_shadowed(&self) -> bool {
        self.shadow.is_some()
    }

    /// Whether a nested fault may be a store to a table that is shadowed: the hardware then walks the nested table as well (agile paging).
    #[inline]
    #[must_use]
    pub fn watches_nested_stores(&self) -> bool {
        self.shadow.as_ref().is_some_and(|shadow| shadow.agile.is_some())
    }

    /// What was counted of the guest's shadow tables.
    #[must_use]
    pub fn shadow_statistics(&self) -> Option<&ShadowStatistics> {
        self.shadow.as_ref().map(|shadow| &shadow.statistics)
    }

    /// Adds to the time that the maintenance of shadow tables took.
    pub fn spend_on_shadow(&mut self, activity: Activity, cycles: Cycles) {
        if let Some(shadow) = &mut self.shadow {
            shadow.statistics.time.spend(activity, cycles);
        }
    }

    /// Whether hart `hart` translates in `context` with the table that it has: then it does from now on. Privilege and `sstatus` are the
    /// hardware's.
    pub fn shadow_stays(&mut self, hart: usize, context: &TranslationContext) -> bool {
        self.shadow.as_mut().is_none_or(|shadow| shadow.stays(hart, context))
    }

    /// Hart `hart` translates in `context` from now on; what that took, if it is another address space's.
    ///
    /// # Errors
    /// [`OutOfFrames`]: no room for a table; the hart keeps the one it had.
    pub fn shadow_switch(
        &mut self,
        host: &mut Host,
        tlbs: &mut impl Tlbs,
        hart: usize,
        context: &TranslationContext,
    ) -> Result<Option<Event>, OutOfFrames> {
        self.with_shadow(|shadow, _| shadow.switch(host, tlbs, hart, context)).unwrap_or(Ok(None))
    }

    /// What the hardware is to translate in for hart `hart`.
    #[must_use]
    pub fn shadow_context(&self, hart: usize) -> Option<TranslationContext> {
        self.shadow.as_ref().map(|shadow| shadow.hardware_context(hart))
    }

    /// The shadow table refuses an access.
    ///
    /// # Errors
    /// [`ReclaimRequest`]: what has to be provided before the fault can be handled.
    pub fn shadow_fault(
        &mut self,
        host: &mut Host,
        tlbs: &mut impl Tlbs,
        refused: ShadowFault,
        sections: Option<&mut SectionManager>,
    ) -> Result<(ShadowFaultOutcome, Option<Event>), ReclaimRequest> {
        let ShadowFault { hart, gva, access } = refused;
        self.with_shadow(|shadow, vm| shadow.fault(&mut Exited { vm, host, tlbs, hart, sections }, gva, access))
            .unwrap_or(Ok((ShadowFaultOutcome::PageFault, None)))
    }

    /// The guest fences the address translation of `harts`. The tables do; the TLBs named by the fence are the caller's.
    pub fn shadow_fence(
        &mut self,
        host: &Host,
        tlbs: &mut impl Tlbs,
        harts: impl Fn(usize) -> bool,
        fence: &GuestFence<'_>,
    ) -> Option<Event> {
        self.with_shadow(|shadow, vm| shadow.fence(vm, host, tlbs, harts, fence))?
    }

    /// Takes every shadow entry away that maps part of `page`, the host's page at `gpa`: it is about to be unmapped. The TLBs are fenced with
    /// the [`Invalidation`](crate::Invalidation) of that, which is for everything that they have of the VM.
    /// Returns whether walk caches may lead there.
    pub(crate) fn drop_shadow_entries(&mut self, memory: &HostMemory, gpa: Gpa, page: &Leaf) -> bool {
        let Some(shadow) = &mut self.shadow else { return false };
        for offset in (0..page.size.bytes()).step_by(PageSize::Size4K.bytes() as usize) {
            let hpa = page.page.wrapping_add(offset);
            for place in shadow.reverse.of(gpa.wrapping_add(offset)) {
                if shadow.tables.mapping(memory, place.table, place.gva, hpa).is_some() {
                    let _ = shadow.tables.list[place.table as usize].shape.invalidate(memory, place.gva, &|_| true);
                }
            }
        }
        shadow.leave_page(memory, gpa, page.size.bytes())
    }

    /// Clears every shadow table: much of what they were made from is about to go. The TLBs are the caller's to fence.
    pub(crate) fn clear_shadow(&mut self, memory: &HostMemory) {
        if let Some(shadow) = &mut self.shadow {
            for table in 0..shadow.tables.list.len() {
                shadow.clear_entries(memory, table);
            }
        }
    }

    /// Bytes of the guest's shadow tables, those of sections left out.
    #[must_use]
    pub fn shadow_table_bytes(&self) -> u64 {
        self.shadow.as_ref().map_or(0, |shadow| shadow.tables.frames() * PageSize::Size4K.bytes())
    }

    /// A device or the hypervisor is about to store to `bytes` bytes at `gpa`.
    pub(crate) fn shadow_stored(&mut self, memory: &HostMemory, gpa: Gpa, bytes: u64) {
        if let Some(shadow) = &mut self.shadow {
            let mut page = gpa.page(PageSize::Size4K);
            while page.0 < gpa.0 + bytes {
                shadow.store_by_others(memory, page);
                page = page.wrapping_add(PageSize::Size4K.bytes());
            }
        }
    }

    /// What TLBs are to be fenced for after stores of others than harts, if anything.
    pub fn shadow_fence_due(&mut self) -> Option<Fence> {
        let shadow = self.shadow.as_mut()?;
        core::mem::take(&mut shadow.guest_tables.dropped).then(|| shadow.everything())
    }

    /// Does `work` on the shadow tables, with the rest of the VM at hand.
    pub(super) fn with_shadow<T>(&mut self, work: impl FnOnce(&mut Shadow, &mut VmMemory) -> T) -> Option<T> {
        let shadow = self.shadow.as_mut()?;
        Some(work(shadow, &mut self.memory))
    }
}
