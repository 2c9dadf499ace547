//! A virtual machine: its memory, and the shadow tables of a guest that has some.

mod attribute;
mod beginning;
mod direct;
mod error;
mod escape;
mod image;
mod page_sizes;
mod presentation;
mod protection;
mod vm_memory;

pub use attribute::MemoryAttribute;
pub use direct::{FilterSize, SaturatedFilter};
pub use error::VmError;
pub use presentation::{Backing, LeafStatus};
pub(crate) use vm_memory::{FramePiece, Resolved};
pub use vm_memory::{ReclaimRequest, VmMemory};

use crate::shadow::Shadow;
use crate::table::Invalidation;
use core::ops::{Deref, DerefMut, Range};
use memory::{Host, HostMemory};
use mmu::SecondStage;
use types::{Gpa, Vmid};

/// What became of a nested fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NestedFaultOutcome {
    /// The page is there now: the access is to be made again.
    Mapped,
    /// It is an address of the devices.
    Device,
    /// Nothing is at the address: an access fault of the guest.
    Nothing,
}

/// A virtual machine. What is said of its memory is said of [`VmMemory`], which it can be taken for.
#[derive(Debug)]
pub struct Vm {
    pub(crate) memory: VmMemory,
    /// Of a guest whose own tables no hardware walks.
    pub(crate) shadow: Option<Box<Shadow>>,
}

/// All physical addresses: what a shadow table maps is the host's memory wherever it is.
const ANYWHERE: Range<Gpa> = Gpa(0)..Gpa(1 << 56);

impl Deref for Vm {
    type Target = VmMemory;

    #[inline]
    fn deref(&self) -> &VmMemory {
        &self.memory
    }
}

impl DerefMut for Vm {
    #[inline]
    fn deref_mut(&mut self) -> &mut VmMemory {
        &mut self.memory
    }
}

impl Vm {
    /// A V=V machine with `ram_bytes` bytes of RAM. Its first nested faults fill it. (A native guest is alone on its host.)
    ///
    /// # Errors
    /// [`VmError`].
    pub fn new(host: &mut Host, vmid: Vmid, ram_bytes: u64, backing: Backing) -> Result<Self, VmError> {
        Self::with_attribute(host, vmid, ram_bytes, backing, MemoryAttribute::Virtual)
    }

    /// A VM with `ram_bytes` bytes of RAM that lies in the host's memory as `attribute` says.
    ///
    /// # Errors
    /// [`VmError`]: nothing was taken.
    pub fn with_attribute(
        host: &mut Host,
        vmid: Vmid,
        ram_bytes: u64,
        backing: Backing,
        attribute: MemoryAttribute,
    ) -> Result<Self, VmError> {
        Ok(Self { memory: VmMemory::new(host, vmid, ram_bytes, backing, attribute)?, shadow: None })
    }

    /// Host memory that is enough for such a VM whatever it touches, in bytes: RAM, its tables, and what alignment wastes.
    #[must_use]
    pub fn host_bytes(ram_bytes: u64, backing: Backing) -> u64 {
        VmMemory::host_bytes(ram_bytes, backing)
    }

    /// The second stage of its translations. A guest with shadow tables has none: what they map lies where they say.
    #[must_use]
    #[inline]
    pub fn second_stage(&self) -> SecondStage {
        if self.shadow.is_some() {
            return SecondStage::Constant { ram: ANYWHERE, offset: 0 };
        }
        self.memory.second_stage()
    }

    /// The second stage of hart `hart`'s translations: under shadow tables it is that of its address space.
    #[must_use]
    #[inline(always)]
    pub fn second_stage_of(&self, hart: usize) -> SecondStage {
        match &self.shadow {
            Some(shadow) => shadow.second_stage(hart),
            None => self.memory.second_stage(),
        }
    }

    /// Takes the page that holds `gpa` from the guest: the next access to it is a nested fault. `None` where it has no frame, and of a
    /// guest whose memory is fixed.
    ///
    /// This is the one place where a page goes: whatever leads to its frame goes here, before the flush that the caller then
    /// [performs](Invalidation::perform).
    pub(crate) fn unmap_page(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Invalidation> {
        let leaf = self.page(memory, gpa)?;
        let led_to = self.drop_shadow_entries(memory, gpa.page(leaf.size), &leaf);
        let invalidation = Invalidation::of_page(self.memory.vmid(), self.memory.pages().0, memory, gpa)?;
        Some(if led_to { invalidation.with_walk_caches() } else { invalidation })
    }
}

#[cfg(test)]
mod tests;
