//! The nested table: from guest physical to host physical addresses (the 1-0-translation table).

use super::entry::{Leaf, LeafBits};
use super::host::{HostTable, SectionTable};
use super::page_table::{MapError, PageTable, Shape};
use memory::{FrameAllocator, HostMemory, OutOfFrames};
use mmu::SecondStage;
use types::{Gpa, Hpa, PageSize, SecondStageMode, Vmid};

mod sections;

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
}

impl HostTable for NestedTable {
    fn second_stage(&self) -> SecondStage {
        SecondStage::Nested { mode: self.mode, root: self.root() }
    }

    fn levels(&self) -> u32 {
        self.mode.levels()
    }

    fn address_bits(&self) -> Option<u32> {
        Some(self.mode.address_bits())
    }

    fn map(&mut self, memory: &HostMemory, frames: &mut FrameAllocator, gpa: Gpa, leaf: Leaf) -> Result<(), MapError> {
        let bits = leaf.bits | LeafBits::USER;
        self.table.map(memory, frames, gpa.0, Leaf { bits, ..leaf })
    }

    fn lookup(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        self.table.lookup(memory, gpa.0)
    }

    fn set_bits(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) {
        self.table.set_bits(memory, gpa.0, bits);
    }

    fn take(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        self.table.unmap(memory, gpa.0)
    }

    fn vacancy(&self, memory: &HostMemory, gpa: Gpa) -> Option<PageSize> {
        self.table.vacancy(memory, gpa.0)
    }

    /// Adds the tables that the page of `size` around `gpa` lacks. They lie together if a range is prepared before it is mapped.
    fn prepare(
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

    fn split(&mut self, memory: &HostMemory, frames: &mut FrameAllocator, gpa: Gpa) -> Result<bool, OutOfFrames> {
        self.table.split(memory, frames, gpa.0)
    }

    fn as_section_table(&mut self) -> Option<&mut dyn SectionTable> {
        Some(self)
    }

    fn links_sections(&self) -> bool {
        true
    }

    fn free(self: Box<Self>, memory: &HostMemory, frames: &mut FrameAllocator) {
        self.table.free(memory, frames);
    }
}
