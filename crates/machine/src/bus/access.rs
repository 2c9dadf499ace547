//! Accesses that hit no entry of the first TLB level: translated, with the faults of the hypervisor's tables handled, and made.

use super::bytes::{read_bytes, store_bytes, write_bytes};
use super::reached::Reached;
use super::{MOST_FAULTS, Split, access_fault, page_fault};
use crate::caches::CachedWalk;
use crate::state::footprint;
use crate::state::primary_region;
use crate::state::shadow;
use crate::state::{MachineState, Processor};
use hart::{Exception, HostPage, Loaded, Stop, Stored, Trap};
use hypervisor::shadow::ShadowFaultOutcome;
use hypervisor::{ExitReason, NestedFaultOutcome, WalkMemory};
use mmu::{Fault, Hit};
use types::{Access, Gpa, Gva, Width};

impl MachineState {
    /// As [`Self::reach`], for what is mostly memory: the predicted slot of the entry that was hit, in a register. With `None` the outcome is
    /// `elsewhere`.
    #[inline(never)]
    pub(super) fn reach_slot(
        &mut self,
        address: u64,
        access: Access,
        stamp: u32,
        elsewhere: &mut Option<Result<Reached, Stop>>,
    ) -> Option<u16> {
        if self.leave || self.misses_do_more {
            return Reached::slot_or(elsewhere, self.reach(address, access, stamp));
        }
        self.processor().hints.expect(Gva(address));
        let (vm, hart) = (&self.vms[self.current.guest], self.current.hart);
        let Processor { mmu, hints, .. } = &mut self.processors[self.current.processor];
        let mut memory = WalkMemory::new(&self.host.memory);
        let second = || vm.second_stage_of(hart);
        let outcome = match mmu.fast_access(&mut memory, second, Gva(address), access, u64::from(stamp)) {
            Ok(predicted) => {
                let hit = mmu.hit(predicted, Gva(address), Access::Read);
                if let Some(at) = hit.host {
                    hints.correct(Gva(address), at);
                }
                if let Some(entry) = memory.latest() {
                    hints.correct_entry(Gva(address), entry);
                }
                return Some(hit.slot);
            }
            Err(unfinished) => unfinished.finish(&mut memory, second),
        };
        let reached = match outcome {
            Ok(Hit { host: Some(at), slot: predicted, .. }) => {
                hints.correct(Gva(address), at);
                return Some(predicted);
            }
            Ok(hit) => Ok(Reached::of(&hit)),
            Err(fault) => self.reach_after(fault, address, access, stamp),
        };
        Reached::slot_or(elsewhere, reached)
    }

    /// A load that reached no predicted slot.
    #[cold]
    #[inline(never)]
    pub(super) fn load_elsewhere(&mut self, reached: Reached, address: u64, width: Width) -> Result<Loaded, Stop> {
        match reached {
            Reached::Ram(_, at) | Reached::Once(at) => {
                self.use_lines(at, width.bytes(), Access::Read);
                // SAFETY: aligned, in memory.
                Ok(Loaded::Value(unsafe { read_bytes(at, width.bytes()) }))
            }
            Reached::Device(gpa) => Ok(Loaded::Value(self.load_device(gpa, width, address)?)),
        }
    }

    /// A store that reached no predicted slot.
    #[cold]
    #[inline(never)]
    pub(super) fn store_elsewhere(
        &mut self,
        reached: Reached,
        address: u64,
        width: Width,
        value: u64,
    ) -> Result<Stored, Stop> {
        match reached {
            Reached::Ram(_, at) | Reached::Once(at) => {
                self.use_lines(at, width.bytes(), Access::Write);
                // SAFETY: aligned, in memory.
                Ok(unsafe { store_bytes(at, width, value) })
            }
            Reached::Device(gpa) => self.store_device(gpa, width, value, address),
        }
    }

    /// Translates, with faults of the host's tables handled on the way.
    #[inline(never)]
    pub(super) fn reach(&mut self, address: u64, access: Access, stamp: u32) -> Result<Reached, Stop> {
        if self.take_leave() {
            // Pages have moved since the latest access: for a shadow table, when the hart changed its address space.
            return Err(Stop::Leave);
        }
        match self.translate(address, access, stamp) {
            Ok(hit) => Ok(Reached::of(&hit)),
            Err(fault) => self.reach_after(fault, address, access, stamp),
        }
    }

    /// Translates as for an access that is never made: TLBs and walk caches are filled, and faults of the hypervisor's tables handled.
    pub(crate) fn translate_without_access(&mut self, gva: Gva, access: Access, stamp: u32) {
        self.leave = false;
        let _ = self.reach(gva.0, access, stamp);
    }

    /// The same, once a translation has met `fault`.
    #[cold]
    #[inline(never)]
    fn reach_after(&mut self, fault: Fault, address: u64, access: Access, stamp: u32) -> Result<Reached, Stop> {
        self.note_access(Some(address));
        let reached = self.reach_through_faults(fault, address, access, stamp);
        self.note_access(None);
        reached
    }

    /// What exits from now on does so for the access to an address, or for none.
    fn note_access(&mut self, address: Option<u64>) {
        if let Some(pages) = &mut self.exit_pages {
            pages.access(address.map(Gva));
        }
    }

    fn reach_through_faults(
        &mut self,
        mut fault: Fault,
        address: u64,
        access: Access,
        stamp: u32,
    ) -> Result<Reached, Stop> {
        for _ in 0..MOST_FAULTS {
            if self.vm().shadow_handles(&fault) {
                if let Some(reached) = self.reach_again(&fault, address, access)? {
                    return Ok(reached);
                }
            } else {
                match fault {
                    Fault::Page(_) | Fault::Shadow(_) => {
                        return Err(Trap { cause: page_fault(access), value: address }.into());
                    }
                    Fault::Access(_) => return Err(Trap { cause: access_fault(access), value: address }.into()),
                    Fault::Nested(nested) => match self.nested_fault(&nested).ok_or(Stop::Leave)? {
                        NestedFaultOutcome::Mapped => {}
                        NestedFaultOutcome::Device if nested.purpose == mmu::Purpose::Data => {
                            return Ok(Reached::Device(nested.gpa));
                        }
                        NestedFaultOutcome::Device | NestedFaultOutcome::Nothing => {
                            return Err(Trap { cause: access_fault(access), value: address }.into());
                        }
                    },
                }
            }
            match self.translate_again(address, access, stamp) {
                Ok(hit) => return Ok(Reached::of(&hit)),
                Err(again) => fault = again,
            }
        }
        debug_assert!(false, "the hypervisor maps {address:#x} again and again, and the walker does not find it");
        Err(Trap { cause: access_fault(access), value: address }.into())
    }

    /// After a shadow fault: where the access goes, or `None` if it is to be made again.
    fn reach_again(&mut self, fault: &Fault, address: u64, access: Access) -> Result<Option<Reached>, Stop> {
        let outcome = match fault {
            Fault::Nested(nested) if self.vm().watches_nested_stores() => Some(shadow::protected_store(self, nested)),
            Fault::Page(_) | Fault::Shadow(_) | Fault::Access(_) | Fault::Nested(_) => {
                shadow::fault(self, address, access)
            }
        };
        let cause = match outcome.ok_or(Stop::Leave)? {
            ShadowFaultOutcome::Mapped => return Ok(None),
            ShadowFaultOutcome::Device(gpa) => return Ok(Some(Reached::Device(gpa))),
            ShadowFaultOutcome::StoreOnce(hpa) => match self.host.memory.pointer(hpa) {
                Some(at) => return Ok(Some(Reached::Once(at.as_ptr()))),
                None => access_fault(access),
            },
            ShadowFaultOutcome::PageFault => page_fault(access),
            ShadowFaultOutcome::AccessFault => access_fault(access),
        };
        Err(Trap { cause, value: address }.into())
    }

    #[inline(always)]
    fn translate(&mut self, address: u64, access: Access, stamp: u32) -> Result<Hit, Fault> {
        if self.footprint.is_some() {
            footprint::before_access(self, Gva(address), access, stamp);
        }
        if self.caches.is_some() {
            return self.translate_through_caches(address, access, stamp);
        }
        self.translate_without_caches(address, access, stamp)
    }

    #[inline(always)]
    fn translate_without_caches(&mut self, address: u64, access: Access, stamp: u32) -> Result<Hit, Fault> {
        let (vm, hart) = (&self.vms[self.current.guest], self.current.hart);
        let mmu = &mut self.processors[self.current.processor].mmu;
        let mut memory = WalkMemory::new(&self.host.memory);
        mmu.access_by(&mut memory, || vm.second_stage_of(hart), Gva(address), access, u64::from(stamp))
    }

    #[cold]
    #[inline(never)]
    fn translate_again(&mut self, address: u64, access: Access, stamp: u32) -> Result<Hit, Fault> {
        self.translate(address, access, stamp)
    }

    /// The same where caches are modelled.
    #[inline(never)]
    fn translate_through_caches(&mut self, address: u64, access: Access, stamp: u32) -> Result<Hit, Fault> {
        let (hart, processor) = (self.current.hart, self.current.processor);
        let vm = &self.vms[self.current.guest];
        let Self { host, caches: Some(caches), cores, processors, .. } = self else {
            unreachable!("the caller looked")
        };
        let pending = cores.as_mut().map(|cores| cores.pending(processor));
        let mut memory = CachedWalk { memory: &host.memory, caches, processor, pending };
        let mmu = &mut processors[processor].mmu;
        let l2_hits = mmu.statistics().l2_hits;
        let second = || vm.second_stage_of(hart);
        let outcome = mmu.access_by(&mut memory, second, Gva(address), access, u64::from(stamp));
        if let (Some(pending), Ok(hit)) = (memory.pending, &outcome) {
            pending.translated(hit.page, mmu.statistics().l2_hits - l2_hits);
        }
        outcome
    }

    /// The double word at a virtual address of the hart that has just made an SBI call, as if the hart had loaded it.
    pub(crate) fn load_for_call(&mut self, address: u64) -> Result<u64, Stop> {
        let stamp = self.processor().rebased_stamp();
        let first = (4096 - (address & 0xfff)).min(8);
        let low = self.load_bytes(address, first, stamp)?;
        if first == 8 {
            return Ok(low);
        }
        let high = self.load_bytes(address.wrapping_add(first), 8 - first, stamp)?;
        Ok(low | high << (8 * first))
    }

    fn reach_ram(&mut self, address: u64, access: Access, stamp: u32) -> Result<*mut u8, Stop> {
        match self.reach(address, access, stamp)? {
            Reached::Ram(_, at) | Reached::Once(at) => Ok(at),
            // No device takes part of a misaligned access.
            Reached::Device(_) => Err(Trap { cause: access_fault(access), value: address }.into()),
        }
    }

    /// A load that is not aligned and has hit no entry of the view.
    #[cold]
    pub(super) fn load_misaligned(
        &mut self,
        address: u64,
        width: Width,
        split: Split,
        stamp: u32,
    ) -> Result<Loaded, Stop> {
        if split.second != 0 {
            let low = self.load_bytes(address, split.first, stamp)?;
            let high = self.load_bytes(address.wrapping_add(split.first), split.second, stamp)?;
            return Ok(Loaded::Value(low | high << (8 * split.first)));
        }
        match self.reach(address, Access::Read, stamp)? {
            Reached::Ram(_, at) | Reached::Once(at) => {
                self.use_lines(at, width.bytes(), Access::Read);
                // SAFETY: within one page of memory.
                Ok(Loaded::Value(unsafe { read_bytes(at, width.bytes()) }))
            }
            Reached::Device(gpa) => Ok(Loaded::Value(self.load_device(gpa, width, address)?)),
        }
    }

    /// The same of a store.
    #[cold]
    pub(super) fn store_misaligned(
        &mut self,
        address: u64,
        width: Width,
        value: u64,
        split: Split,
        stamp: u32,
    ) -> Result<Stored, Stop> {
        if split.second != 0 {
            // Both pages are checked before a byte is written; were the first to move while the second comes, the hart would leave.
            let low = self.reach_ram(address, Access::Write, stamp)?;
            let high = self.reach_ram(address.wrapping_add(split.first), Access::Write, stamp)?;
            self.use_lines(low, split.first, Access::Write);
            self.use_lines(high, split.second, Access::Write);
            // SAFETY: each part lies within its page of memory.
            unsafe {
                write_bytes(low, split.first, value);
                write_bytes(high, split.second, value >> (8 * split.first));
            }
            return Ok(Stored::Done([Some(HostPage::containing(low)), Some(HostPage::containing(high))]));
        }
        match self.reach(address, Access::Write, stamp)? {
            Reached::Ram(_, at) | Reached::Once(at) => {
                self.use_lines(at, width.bytes(), Access::Write);
                // SAFETY: within one page of memory.
                Ok(unsafe { store_bytes(at, width, value) })
            }
            Reached::Device(gpa) => self.store_device(gpa, width, value, address),
        }
    }

    fn load_bytes(&mut self, address: u64, bytes: u64, stamp: u32) -> Result<u64, Stop> {
        let at = self.reach_ram(address, Access::Read, stamp)?;
        self.use_lines(at, bytes, Access::Read);
        // SAFETY: the caller stays within the page.
        Ok(unsafe { read_bytes(at, bytes) })
    }

    /// Counts the exit of an access to a device, and charges for it.
    fn charge_mmio(&mut self, address: u64) {
        self.note_access(Some(address));
        self.charge_exit(ExitReason::Mmio);
        self.note_access(None);
    }

    #[cold]
    fn load_device(&mut self, gpa: Gpa, width: Width, address: u64) -> Result<u64, Trap> {
        self.charge_mmio(address);
        self.guest().platform.read(gpa, width).map_err(|_| Trap { cause: Exception::LoadAccess, value: address })
    }

    #[cold]
    fn store_device(&mut self, gpa: Gpa, width: Width, value: u64, address: u64) -> Result<Stored, Stop> {
        self.charge_mmio(address);
        self.write_device(gpa, width, value).map_err(|_| Trap { cause: Exception::StoreAccess, value: address })?;
        if devices::map::PRIMARY_REGION.offset(gpa).is_some() {
            primary_region::serve(self, Gva(address));
        }
        // The device's requests may have moved pages, or a balloon given some up.
        Ok(if self.take_leave() { Stored::DoneAndLeave } else { Stored::Done([None, None]) })
    }
}
