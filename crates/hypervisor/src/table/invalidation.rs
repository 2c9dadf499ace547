//! What has to happen after a translation was taken away.

use super::host::HostTable;
use memory::{FrameAllocator, FrameRange, HostMemory};
use mmu::Fence;
use types::{Gpa, Vmid};

/// Every pCPU of the machine, as far as an edit concerns them.
pub trait FlushTlbs {
    /// Does `fence` on each of them.
    fn fence(&mut self, fence: &Fence);

    /// Drops what was translated from code in `frames`: they will hold something else.
    fn forget_code(&mut self, frames: FrameRange);
}

impl<P: FlushTlbs + ?Sized> FlushTlbs for &mut P {
    fn fence(&mut self, fence: &Fence) {
        (**self).fence(fence);
    }

    fn forget_code(&mut self, frames: FrameRange) {
        (**self).forget_code(frames);
    }
}

/// A table no longer has translations that TLBs may still have. The frames behind them stay owned until [`perform`](Self::perform).
#[derive(PartialEq, Eq, Debug)]
#[must_use = "until it is performed the TLBs still use the old translation, and its frames are lost"]
pub struct Invalidation {
    vmid: Vmid,
    /// The one page that was taken away; `None` for several.
    gpa: Option<Gpa>,
    frames: Vec<FrameRange>,
    /// Whether walk caches may lead to a table of the guest there: under agile paging they hold where those are in the host.
    walk_caches: bool,
}

impl Invalidation {
    /// Takes the page of VM `vmid` that holds `gpa` out of its table, and its frames with it; `None` if there is none.
    pub fn of_page(vmid: Vmid, table: &mut dyn HostTable, memory: &HostMemory, gpa: Gpa) -> Option<Self> {
        let leaf = table.take(memory, gpa)?;
        let frames = FrameRange::new(leaf.page, leaf.size.bytes())?;
        Some(Self { vmid, gpa: Some(gpa), frames: vec![frames], walk_caches: false })
    }

    /// This invalidation, for a place where walk caches may lead to a table of the guest.
    pub(crate) fn with_walk_caches(self) -> Self {
        Self { walk_caches: true, ..self }
    }

    /// Both, of the same VM, with one flush: of all of the VM, as a hypervisor does where single addresses would take longer. For pages
    /// of different VMs it returns `other`.
    pub fn join(&mut self, other: Self) -> Result<(), Self> {
        if self.vmid != other.vmid {
            return Err(other);
        }
        self.walk_caches |= other.walk_caches;
        self.gpa = None;
        self.frames.extend(other.frames);
        Ok(())
    }

    /// Flushes the processors, then frees the frames.
    pub fn perform(self, processors: &mut impl FlushTlbs, frames: &mut FrameAllocator) {
        processors.fence(&Fence::Gvma { gpa: self.gpa, vmid: Some(self.vmid) });
        if self.walk_caches {
            processors.fence(&Fence::Vvma { vmid: self.vmid, gva: None, asid: None });
        }
        for range in self.frames {
            processors.forget_code(range);
            frames.give_back(range, "frames that were taken out of a table");
        }
    }
}
