//! The nested table: from guest physical to host physical addresses (the 1-0-translation table).

use super::entry::LeafBits;
use super::invalidation::Invalidation;
use super::page_table::{Leaf, MapError, PageTable, Shape};
use memory::{FrameAllocator, FrameRange, HostMemory, OutOfFrames};
use types::{Gpa, Hpa, PageSize, SecondStageMode, Vmid};

mod sections;
pub use sections::ClearedRange;

/// The nested table of one VM. Its tables and the pages it maps are owned by it.
#[derive(Debug)]
pub struct NestedTable {
    table: PageTable,
    mode: SecondStageMode,
    vmid: Vmid,
}

impl NestedTable {
    /// A table that maps nothing: a root of 16 KiB.
    ///
    /// # Errors
    /// [`OutOfFrames`].
    pub fn new(
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        mode: SecondStageMode,
        vmid: Vmid,
    ) -> Result<Self, OutOfFrames> {
        Ok(Self { table: PageTable::new(memory, frames, Shape::second_stage(mode))?, mode, vmid })
    }

    /// The root table.
    #[must_use]
    pub const fn root(&self) -> Hpa {
        self.table.root()
    }

    /// The mode.
    #[must_use]
    pub const fn mode(&self) -> SecondStageMode {
        self.mode
    }

    /// Maps a page to `gpa`, which takes the place of nothing: no TLB has anything to forget.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn map(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
        leaf: Leaf,
    ) -> Result<(), MapError> {
        let bits = leaf.bits | LeafBits::USER;
        self.table.map(memory, frames, gpa.0, Leaf { bits, ..leaf })
    }

    /// Adds the tables that the page of `size` around `gpa` lacks. They lie together if a range is prepared before it is mapped.
    ///
    /// # Errors
    /// [`OutOfFrames`].
    pub fn prepare(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
        size: PageSize,
    ) -> Result<(), OutOfFrames> {
        match self.table.add_tables(memory, frames, gpa.0, size) {
            Err(MapError::OutOfFrames(error)) => Err(error),
            // What is mapped already has its tables; what cannot be mapped needs none.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The page that holds `gpa`.
    #[must_use]
    pub fn lookup(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        self.table.lookup(memory, gpa.0)
    }

    /// Sets bits of the page that holds `gpa`. Nothing is to be flushed: a TLB entry with fewer rights than its page answers no
    /// access that needs more, and the walk that follows finds the new ones.
    pub fn grant(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) {
        if let Some(leaf) = self.lookup(memory, gpa) {
            self.table.set_bits(memory, gpa.0, leaf.bits | bits);
        }
    }

    /// Clears A of the page that holds `gpa`; whether it was set.
    pub fn age(&mut self, memory: &HostMemory, gpa: Gpa) -> bool {
        let accessed = |leaf: &Leaf| leaf.bits.contains(LeafBits::ACCESSED);
        let Some(leaf) = self.lookup(memory, gpa).filter(accessed) else { return false };
        self.table.set_bits(memory, gpa.0, leaf.bits.without(LeafBits::ACCESSED));
        true
    }

    /// Clears bits of the page that holds `gpa`; whether any was set. TLBs are the caller's to fence.
    pub(crate) fn restrict(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) -> bool {
        let Some(leaf) = self.lookup(memory, gpa).filter(|leaf| leaf.bits.and(bits) != LeafBits::default()) else {
            return false;
        };
        self.table.set_bits(memory, gpa.0, leaf.bits.without(bits));
        true
    }

    /// The largest page that can be mapped around `gpa`, which has none; `None` where it has one.
    #[must_use]
    pub fn vacancy(&self, memory: &HostMemory, gpa: Gpa) -> Option<PageSize> {
        self.table.vacancy(memory, gpa.0)
    }

    /// Maps the superpage that holds `gpa` in pages of the next smaller size; whether there was one.
    ///
    /// # Errors
    /// [`OutOfFrames`]: the page is as it was.
    pub fn split(&mut self, memory: &HostMemory, frames: &mut FrameAllocator, gpa: Gpa) -> Result<bool, OutOfFrames> {
        self.table.split(memory, frames, gpa.0)
    }

    /// Gives the frames of its tables back, not those of what they map: for a VM that never runs, or has ended and is flushed.
    pub fn free(self, memory: &HostMemory, frames: &mut FrameAllocator) {
        self.table.free(memory, frames);
    }

    /// Takes the page that holds `gpa` away; `None` if there is none.
    pub fn unmap(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Invalidation> {
        let leaf = self.table.unmap(memory, gpa.0)?;
        let frames = FrameRange::new(leaf.page, leaf.size.bytes())?;
        Some(Invalidation::of_page(self.vmid, gpa, frames))
    }
}
