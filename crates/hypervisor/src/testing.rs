//! For tests: a processor whose guest translates nothing itself, and frames for one guest alone.

use crate::paging::{FrameReclaim, PageUnavailable, Pager};
use crate::table::FlushTlbs;
use crate::vm::{NestedFaultOutcome, Vm};
use crate::walk_memory::WalkMemory;
use memory::{FrameRange, Host};
use mmu::{Fault, Fence, Mmu, MmuConfig};
use types::{Access, Gpa, Gva, Hpa, TranslationContext, Vmid};

/// No TLBs to fence.
pub(crate) struct NoProcessors;

impl FlushTlbs for NoProcessors {
    fn fence(&mut self, _: &Fence) {}

    fn forget_code(&mut self, _: FrameRange) {}
}

/// What a guest alone on its host is filled from.
pub(crate) fn supply<'h, P: FlushTlbs>(
    host: &'h mut Host,
    vm: &'h mut Vm,
    pager: Option<&'h mut Pager>,
    processors: P,
) -> FrameReclaim<'h, P> {
    FrameReclaim { memory: &host.memory, frames: &mut host.frames, vms: std::slice::from_mut(vm), pager, processors }
}

/// A processor whose guest translates nothing itself, so that its addresses are guest physical.
pub(crate) struct Processor {
    pub(crate) mmu: Mmu,
    stamp: u64,
    pub(crate) forgotten: Vec<FrameRange>,
}

impl Processor {
    pub(crate) fn new(config: &MmuConfig, vmid: Vmid) -> Self {
        let mut mmu = Mmu::new(config).unwrap();
        mmu.set_context(&TranslationContext::default(), vmid);
        Self { mmu, stamp: 0, forgotten: Vec::new() }
    }

    /// Where the access of the guest that has `vm` ends up, if its TLBs and tables know.
    pub(crate) fn translate(&mut self, host: &Host, vm: &Vm, gpa: Gpa, access: Access) -> Result<Option<Hpa>, Fault> {
        self.stamp += 1;
        let second = vm.second_stage();
        self.mmu.set_context(&TranslationContext::default(), vm.vmid());
        let hit = self.mmu.access(&mut WalkMemory::new(&host.memory), &second, Gva(gpa.0), access, self.stamp)?;
        Ok(hit.host.map(|_| hit.hpa))
    }

    /// Where the guest's access ends up, with nested faults handled; how many there were.
    pub(crate) fn access(&mut self, host: &mut Host, vm: &mut Vm, gpa: Gpa, access: Access) -> (Option<Hpa>, u32) {
        self.try_access(host, vm, None, gpa, access).unwrap()
    }

    /// Where the guest's access ends up and how many nested faults were handled. `pager` takes pages away where frames run short.
    pub(crate) fn try_access(
        &mut self,
        host: &mut Host,
        vm: &mut Vm,
        mut pager: Option<&mut Pager>,
        gpa: Gpa,
        access: Access,
    ) -> Result<(Option<Hpa>, u32), PageUnavailable> {
        for faults in 0..4 {
            match self.translate(host, vm, gpa, access) {
                Ok(hpa) => return Ok((hpa, faults)),
                Err(Fault::Nested(fault)) => {
                    let mut supply = supply(host, vm, pager.as_deref_mut(), &mut *self);
                    match supply.nested_fault(0, fault.gpa, fault.access)? {
                        NestedFaultOutcome::Mapped => {}
                        NestedFaultOutcome::Device | NestedFaultOutcome::Nothing => return Ok((None, faults)),
                    }
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        panic!("the hypervisor maps {gpa} and the walker does not find it");
    }
}

impl FlushTlbs for Processor {
    fn fence(&mut self, fence: &Fence) {
        self.mmu.fence(fence);
    }

    fn forget_code(&mut self, frames: FrameRange) {
        self.forgotten.push(frames);
    }
}
