//! The table of a VM's second stage, whatever its shape.

use super::LeafBits;
use super::invalidation::Invalidation;
use super::nested::NestedTable;
use super::page_table::{Leaf, MapError};
use memory::{FrameAllocator, HostMemory, OutOfFrames};
use mmu::SecondStage;
use types::{Gpa, PageSize};

/// A table from guest physical to host physical addresses: what [`crate::Vm`] keeps, and the hardware reads.
#[derive(Debug)]
pub enum HostTable {
    /// A tree.
    Nested(NestedTable),
}

impl HostTable {
    /// The second stage that walks it.
    #[must_use]
    pub const fn second_stage(&self) -> SecondStage {
        match self {
            Self::Nested(table) => SecondStage::Nested { mode: table.mode(), root: table.root() },
        }
    }

    /// Maps a page to `gpa`, which takes the place of nothing.
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
        match self {
            Self::Nested(table) => table.map(memory, frames, gpa, leaf),
        }
    }

    /// The page that holds `gpa`.
    #[must_use]
    pub fn lookup(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        match self {
            Self::Nested(table) => table.lookup(memory, gpa),
        }
    }

    /// Sets bits of the page that holds `gpa`.
    pub fn grant(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) {
        match self {
            Self::Nested(table) => table.grant(memory, gpa, bits),
        }
    }

    /// Clears A of the page that holds `gpa`; whether it was set.
    pub fn age(&mut self, memory: &HostMemory, gpa: Gpa) -> bool {
        match self {
            Self::Nested(table) => table.age(memory, gpa),
        }
    }

    /// The largest page that can be mapped around `gpa`, which has none; `None` where it has one.
    #[must_use]
    pub fn vacancy(&self, memory: &HostMemory, gpa: Gpa) -> Option<PageSize> {
        match self {
            Self::Nested(table) => table.vacancy(memory, gpa),
        }
    }

    /// Maps the superpage that holds `gpa` in pages of the next smaller size; whether there was one.
    ///
    /// # Errors
    /// [`OutOfFrames`]: the page is as it was.
    pub fn split(&mut self, memory: &HostMemory, frames: &mut FrameAllocator, gpa: Gpa) -> Result<bool, OutOfFrames> {
        match self {
            Self::Nested(table) => table.split(memory, frames, gpa),
        }
    }

    /// Takes the page that holds `gpa` away; `None` if there is none.
    pub fn unmap(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Invalidation> {
        match self {
            Self::Nested(table) => table.unmap(memory, gpa),
        }
    }

    /// Gives the frames of the table back, not those of what it maps.
    pub fn free(self, memory: &HostMemory, frames: &mut FrameAllocator) {
        match self {
            Self::Nested(table) => table.free(memory, frames),
        }
    }
}
