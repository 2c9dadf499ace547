//! The table of a VM's second stage, whatever its shape.

use super::entry::{Leaf, LeafBits};
use super::flat::FlatTable;
use super::invalidation::Invalidation;
use super::nested::NestedTable;
use super::page_table::MapError;
use memory::{FrameAllocator, HostMemory, OutOfFrames};
use mmu::SecondStage;
use types::{Gpa, PageSize};

/// A table from guest physical to host physical addresses: what [`crate::Vm`] fills on demand.
#[derive(Debug)]
pub enum HostTable {
    /// A tree.
    Nested(NestedTable),
    /// One piece.
    Flat(FlatTable),
}

impl HostTable {
    /// The second stage that walks it.
    #[must_use]
    #[inline]
    pub const fn second_stage(&self) -> SecondStage {
        match self {
            Self::Nested(table) => SecondStage::Nested { mode: table.mode(), root: table.root() },
            Self::Flat(table) => {
                SecondStage::Flat { table: table.start(), first: table.first(), entries: table.entries() }
            }
        }
    }

    /// Entries that software reads to translate one address.
    pub(crate) const fn levels(&self) -> u32 {
        match self {
            Self::Nested(table) => table.mode().levels(),
            Self::Flat(_) => 1,
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
            Self::Flat(table) => table.map(memory, gpa, leaf),
        }
    }

    /// Adds what the table itself lacks to map a page of `size` at `gpa`; see [`NestedTable::prepare`].
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
        match self {
            Self::Nested(table) => table.prepare(memory, frames, gpa, size),
            // It is whole from the start.
            Self::Flat(_) => Ok(()),
        }
    }

    /// Gives the table's own frames back, not those of the pages that it maps: a table that no TLB has ever used.
    pub fn free(self, memory: &HostMemory, frames: &mut FrameAllocator) {
        match self {
            Self::Nested(table) => table.free(memory, frames),
            Self::Flat(table) => table.free(frames),
        }
    }

    /// The page that holds `gpa`.
    #[must_use]
    pub fn lookup(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        match self {
            Self::Nested(table) => table.lookup(memory, gpa),
            Self::Flat(table) => table.lookup(memory, gpa),
        }
    }

    /// Sets bits of the page that holds `gpa`.
    pub fn grant(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) {
        match self {
            Self::Nested(table) => table.grant(memory, gpa, bits),
            Self::Flat(table) => table.grant(memory, gpa, bits),
        }
    }

    /// Clears A of the page that holds `gpa`; whether it was set. Nothing is flushed: a TLB may answer accesses that set no A then, as on
    /// hardware, where software that looks for pages not in use takes that into account.
    pub fn age(&mut self, memory: &HostMemory, gpa: Gpa) -> bool {
        match self {
            Self::Nested(table) => table.age(memory, gpa),
            Self::Flat(table) => table.age(memory, gpa),
        }
    }

    /// The largest page that can be mapped around `gpa`, which has none; `None` where it has one.
    #[must_use]
    pub fn vacancy(&self, memory: &HostMemory, gpa: Gpa) -> Option<PageSize> {
        match self {
            Self::Nested(table) => table.vacancy(memory, gpa),
            Self::Flat(table) => table.vacancy(memory, gpa),
        }
    }

    /// Maps the superpage that holds `gpa` in pages of the next smaller size; whether there was one. No translation changes, so that
    /// nothing is to be flushed: a fence for a gPA removes every entry of a page that holds it.
    ///
    /// # Errors
    /// [`OutOfFrames`]: the page is as it was.
    pub fn split(&mut self, memory: &HostMemory, frames: &mut FrameAllocator, gpa: Gpa) -> Result<bool, OutOfFrames> {
        match self {
            Self::Nested(table) => table.split(memory, frames, gpa),
            Self::Flat(table) => Ok(table.split(memory, gpa)),
        }
    }

    /// Takes the page that holds `gpa` away; `None` if there is none.
    pub fn unmap(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Invalidation> {
        match self {
            Self::Nested(table) => table.unmap(memory, gpa),
            Self::Flat(table) => table.unmap(memory, gpa),
        }
    }
}
