//! What sections do to a second-stage table, whatever its shape. They own the pages that they map, so nothing here frees one; the caller flushes.
//!
//! A tree takes links to a section's own tables. A flat table is one piece, and takes pages only.

use super::entry::LeafBits;
use super::flat::FlatTable;
use super::host::HostTable;
use super::nested::{ClearedRange, NestedTable};
use super::page_table::{Leaf, MapError};
use super::work::TableWork;
use core::ops::Range;
use memory::{FrameAllocator, HostMemory};
use types::{Gpa, Hpa, PageSize};

/// A second-stage table that sections are mapped into.
pub trait SectionTable {
    /// Whether a page of `size` can be mapped as a whole.
    fn maps(&self, size: PageSize) -> bool;

    /// The page that holds `gpa`.
    fn lookup(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf>;

    /// Sets bits of the page that holds `gpa`. Nothing is to be flushed.
    fn grant(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits);

    /// Lets the piece of guest physical memory at `gpa` that a table of `level` maps be mapped by a section's `table`.
    ///
    /// # Errors
    /// [`MapError`]; always where there are no links.
    fn link(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
        level: u32,
        table: Hpa,
    ) -> Result<TableWork, MapError>;

    /// Maps a page, or a group of pages, to `gpa`, which takes the place of nothing, by entries of tables of `level`.
    ///
    /// # Errors
    /// [`MapError`].
    fn map_at(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        level: u32,
        gpa: Gpa,
        leaf: Leaf,
    ) -> Result<TableWork, MapError>;

    /// Sees to it that a base page can be mapped to `gpa` without a table being added.
    ///
    /// # Errors
    /// [`MapError`].
    fn add_leaf_table(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
    ) -> Result<TableWork, MapError>;

    /// Takes the base page at `gpa` out; `None` if there is none, or a section's table maps it.
    fn take(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf>;

    /// Empties `range`. `leaves` sees each entry of a page that goes.
    fn clear(&mut self, memory: &HostMemory, range: &Range<Gpa>, leaves: impl FnMut(Gpa, Leaf)) -> ClearedRange;
}

impl SectionTable for NestedTable {
    fn maps(&self, _: PageSize) -> bool {
        true
    }

    fn lookup(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        self.lookup(memory, gpa)
    }

    fn grant(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) {
        self.grant(memory, gpa, bits);
    }

    fn link(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
        level: u32,
        table: Hpa,
    ) -> Result<TableWork, MapError> {
        self.link(memory, frames, gpa, level, table)
    }

    fn map_at(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        level: u32,
        gpa: Gpa,
        leaf: Leaf,
    ) -> Result<TableWork, MapError> {
        self.map_at(memory, frames, level, gpa, leaf)
    }

    fn add_leaf_table(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
    ) -> Result<TableWork, MapError> {
        self.add_leaf_table(memory, frames, gpa)
    }

    fn take(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        self.take(memory, gpa)
    }

    fn clear(&mut self, memory: &HostMemory, range: &Range<Gpa>, leaves: impl FnMut(Gpa, Leaf)) -> ClearedRange {
        self.clear(memory, range, leaves)
    }
}

impl SectionTable for FlatTable {
    fn maps(&self, size: PageSize) -> bool {
        matches!(size, PageSize::Size4K | PageSize::Size2M)
    }

    fn lookup(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        self.lookup(memory, gpa)
    }

    fn grant(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) {
        self.grant(memory, gpa, bits);
    }

    fn link(
        &mut self,
        _: &HostMemory,
        _: &mut FrameAllocator,
        _: Gpa,
        level: u32,
        _: Hpa,
    ) -> Result<TableWork, MapError> {
        Err(MapError::Size(PageSize::of_level(level + 1)))
    }

    fn map_at(
        &mut self,
        memory: &HostMemory,
        _: &mut FrameAllocator,
        _: u32,
        gpa: Gpa,
        leaf: Leaf,
    ) -> Result<TableWork, MapError> {
        self.map(memory, gpa, leaf)?;
        Ok(TableWork { entries: leaf.size.bytes() / PageSize::Size4K.bytes(), ..TableWork::default() })
    }

    fn add_leaf_table(&mut self, _: &HostMemory, _: &mut FrameAllocator, _: Gpa) -> Result<TableWork, MapError> {
        // It is whole from the start.
        Ok(TableWork::default())
    }

    fn take(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        self.take(memory, gpa)
    }

    fn clear(&mut self, memory: &HostMemory, range: &Range<Gpa>, mut leaves: impl FnMut(Gpa, Leaf)) -> ClearedRange {
        let mut cleared = ClearedRange::default();
        let mut gpa = range.start;
        while gpa < range.end {
            let leaf = self.take(memory, gpa);
            let size = leaf.map_or(PageSize::Size4K, |leaf| leaf.size);
            if let Some(leaf) = leaf {
                cleared.work.entries += size.bytes() / PageSize::Size4K.bytes();
                leaves(gpa, leaf);
            }
            gpa = gpa.wrapping_add(size.bytes());
        }
        cleared
    }
}

macro_rules! either {
    ($table:expr, $inner:ident => $call:expr) => {
        match $table {
            HostTable::Nested($inner) => $call,
            HostTable::Flat($inner) => $call,
        }
    };
}

impl SectionTable for HostTable {
    fn maps(&self, size: PageSize) -> bool {
        either!(self, table => SectionTable::maps(table, size))
    }

    fn lookup(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        self.lookup(memory, gpa)
    }

    fn grant(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) {
        self.grant(memory, gpa, bits);
    }

    fn link(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
        level: u32,
        section: Hpa,
    ) -> Result<TableWork, MapError> {
        either!(self, table => SectionTable::link(table, memory, frames, gpa, level, section))
    }

    fn map_at(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        level: u32,
        gpa: Gpa,
        leaf: Leaf,
    ) -> Result<TableWork, MapError> {
        either!(self, table => SectionTable::map_at(table, memory, frames, level, gpa, leaf))
    }

    fn add_leaf_table(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
    ) -> Result<TableWork, MapError> {
        either!(self, table => SectionTable::add_leaf_table(table, memory, frames, gpa))
    }

    fn take(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        either!(self, table => SectionTable::take(table, memory, gpa))
    }

    fn clear(&mut self, memory: &HostMemory, range: &Range<Gpa>, leaves: impl FnMut(Gpa, Leaf)) -> ClearedRange {
        either!(self, table => SectionTable::clear(table, memory, range, leaves))
    }
}
