//! PPTLB, Partial Purge TLB: the invalidation of one page by its entry in the guest's table (sections 3.3.1 and 4.1).
//!
//! The instruction names a real page, which is in the entry, and the page's index; not where in the address space the page is. To find what
//! shadow tables have of it, all would have to be searched, and conventionally they are invalidated instead. With the handshake
//! the guest says the whole address, V2, and the paper's five steps find it.

use super::statistics::{Activity, Way, Work};
use super::steps::{self, Entered, Selective};
use super::tables::BARE;
use super::{Assist, Coherence, Event, Invalidation, Shadow, Tlbs};
use crate::exits::ExitReason;
use crate::sbi::PartialPurge;
use crate::table::LeafBits;
use crate::vm::{ReclaimRequest, Vm, VmMemory};
use memory::Host;
use mmu::Fence;
use types::{Access, Gpa, Hpa, PageSize};

impl VmMemory {
    /// Makes an entry of a guest's table, in RAM, invalid; returns it as it was.
    ///
    /// # Errors
    /// [`ReclaimRequest`]: nothing was done.
    pub fn clear_valid(&mut self, host: &mut Host, entry: Gpa) -> Result<u64, ReclaimRequest> {
        let Some(resolved) = self.resolve(&host.memory, &mut host.frames, entry, Access::Write)? else { return Ok(0) };
        let hpa = Hpa(resolved.leaf.page.0 | entry.offset(resolved.leaf.size));
        let old: u64 = host.memory.read(hpa).unwrap_or(0);
        host.memory.note_failure(host.memory.write(hpa, old & !1), "an entry of a guest's table in RAM");
        Ok(old)
    }
}

impl Vm {
    /// Executes a partial purge for a guest with shadow tables: tables and TLBs of every processor. Returns the old entry, and what it took.
    ///
    /// # Errors
    /// [`ReclaimRequest`]: what has to be provided first.
    pub fn shadow_partial_purge(
        &mut self,
        host: &mut Host,
        tlbs: &mut impl Tlbs,
        purge: &PartialPurge,
    ) -> Result<(u64, Option<Event>), ReclaimRequest> {
        self.with_shadow(|shadow, vm| shadow.partial_purge(vm, host, tlbs, purge)).unwrap_or(Ok((0, None)))
    }
}

impl Shadow {
    fn partial_purge(
        &mut self,
        vm: &mut VmMemory,
        host: &mut Host,
        tlbs: &mut impl Tlbs,
        purge: &PartialPurge,
    ) -> Result<(u64, Option<Event>), ReclaimRequest> {
        if self.is_guest_table(purge.entry) {
            // What is derived from the entry goes as with the guest's own store.
            let _ = self.store_to_table(host, tlbs, purge.entry);
            self.settle_modes(vm, &host.memory);
        }
        let old = vm.clear_valid(host, purge.entry)?;
        if !purge.handshake || self.config.invalidation != Invalidation::Selective {
            tlbs.fence_everywhere(&self.everything());
            let tables: Vec<usize> = (BARE + 1..self.tables.list.len()).collect();
            let event = self.purge(&host.memory, &tables, Activity::Pptlb, Entered::Call);
            return Ok((old, Some(Event { reason: ExitReason::SbiParavirtual, ..event })));
        }
        // Step (1): V1 is in the entry; V0 is where the host has it. A page that it has not is in no table.
        let page = Gpa((old >> 10 & ((1 << 44) - 1)) << 12);
        let v0 = vm.mapped(&host.memory, page).map(|leaf| Hpa(leaf.page.0 | page.offset(leaf.size)));
        let mut done = Selective { references: 2 + 2 * u64::from(vm.host_levels()), ..Selective::default() };
        // Step (5): in every table.
        for table in BARE + 1..self.tables.list.len() {
            done.tables += 1;
            if !self.may_be_valid(table) {
                continue;
            }
            // Steps (2) and (3): its entry for V2, and whether that has V0. A larger page is taken to have it.
            let table = &mut self.tables.list[table];
            let held = table.shape.lookup(&host.memory, purge.page);
            let holds = |leaf: &crate::table::Leaf| leaf.size > PageSize::Size4K || Some(leaf.page) == v0;
            let removed = table.shape.invalidate(&host.memory, purge.page, &holds);
            done.references += u64::from(table.shape.levels());
            done.touched += removed.touched;
            done.cleared += removed.cleared;
            self.statistics.entries_touched += removed.touched;
            // Step (4), and (4') where nothing was removed.
            if removed.cleared > 0 {
                let global = held.is_some_and(|leaf| leaf.bits.contains(LeafBits::GLOBAL));
                let asid = table.key.map(|key| key.asid).filter(|_| !global);
                let gva = (!removed.pieces).then_some(purge.page);
                tlbs.fence_everywhere(&Fence::Vvma { vmid: self.vmid, gva, asid });
            }
        }
        if self.harts.len() > 1 || self.config.coherence == Coherence::WriteProtect {
            // A TLB may have a pair whose entry has gone by the fence of another processor.
            tlbs.fence_everywhere(&Fence::Vvma { vmid: self.vmid, gva: Some(purge.page), asid: None });
        }
        self.statistics.selective += 1;
        let assisted = self.config.assist == Assist::MultiShadow;
        self.statistics.assisted_invalidations += u64::from(assisted);
        let (way, exit) = if assisted { (Way::Assist, 0) } else { (Way::Exit, steps::exit(Entered::Call)) };
        let work = Work::new(Activity::Pptlb, way, exit + done.partial_purge(), done.references);
        Ok((old, Some(self.event(ExitReason::SbiParavirtual, work))))
    }
}
