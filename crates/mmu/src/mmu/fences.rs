//! Fences: which entries of which structure each removes is a table beside [`Fence`].

use super::Mmu;
use crate::events::Observer;
use crate::fence::Fence;
use crate::space::Space;
use types::{Asid, Gpa, Gva, Vmid};

impl<O: Observer> Mmu<O> {
    /// Removes what the fence names.
    pub fn fence(&mut self, fence: &Fence) {
        if let Some(format) = &mut self.walkers.format {
            format.fence(fence);
        }
        match *fence {
            Fence::Vma { gva, asid } => {
                self.statistics.vma_fences += 1;
                self.fence_first_stage(self.context.vmid, gva, asid);
            }
            Fence::Vvma { vmid, gva, asid } => {
                self.statistics.vvma_fences += 1;
                self.fence_first_stage(vmid, gva, asid);
            }
            Fence::Gvma { gpa, vmid } => {
                self.statistics.gvma_fences += 1;
                self.fence_second_stage(gpa, vmid);
            }
        }
    }

    fn fence_first_stage(&mut self, vmid: Vmid, gva: Option<Gva>, asid: Option<Asid>) {
        let named = |space: Space| match asid {
            Some(asid) => space == Space::of_asid(vmid, asid),
            None => space.vmid() == vmid && !space.is_bare(),
        };
        self.remove_outer(gva, named);
        match gva {
            Some(gva) => {
                self.l1i.remove_page(gva, |entry| named(entry.space()));
                self.l1d.remove_page(gva, |entry| named(entry.space()));
                self.l2.remove_page(gva.0, |entry| named(entry.space()));
            }
            None => {
                self.l1i.remove(|entry| named(entry.space()));
                self.l1d.remove(|entry| named(entry.space()));
                self.l2.remove(|entry| named(entry.space()));
                self.walkers.guest_cache.remove(named);
            }
        }
    }

    fn fence_second_stage(&mut self, gpa: Option<Gpa>, vmid: Option<Vmid>) {
        let named = |space: Space| vmid.is_none_or(|vmid| space.vmid() == vmid);
        self.remove_outer(None, named);
        self.l1i.remove(|entry| named(entry.space()));
        self.l1d.remove(|entry| named(entry.space()));
        self.l2.remove(|entry| named(entry.space()));
        if gpa.is_none() {
            self.walkers.host_cache.remove(named);
        }
        if let Some(tlb) = &mut self.walkers.nested_tlb {
            match gpa {
                Some(gpa) => tlb.remove_page(gpa.0, named),
                None => tlb.remove(named),
            }
        }
    }
}
