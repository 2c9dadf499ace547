//! What sections do to a second-stage table, whatever its shape. They own the pages that they map, so nothing here frees one; the caller flushes.
//!
//! A tree takes links to a section's own tables (`nested/sections.rs`). A flat table is one piece, and takes pages only (`flat/sections.rs`).

use super::entry::Leaf;
use super::host::HostTable;
use super::page_table::MapError;
use super::work::TableWork;
use core::ops::Range;
use memory::{FrameAllocator, FrameRange, HostMemory};
use types::{Gpa, Hpa, PageSize};

/// A second-stage table that sections are mapped into.
pub trait SectionTable: HostTable {
    /// Whether a page of `size` can be mapped as a whole.
    fn maps(&self, size: PageSize) -> bool;

    /// Lets the piece of guest physical memory at `gpa` that a table of `level` maps be mapped by a section's `table`. Nothing is to be flushed: nothing was there.
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

    /// Empties `range`: pages and links that lie in it wholly go, and tables of the VM's own on the way to it that nothing is left in. `leaves` sees
    /// each entry of a page that goes.
    fn clear(&mut self, memory: &HostMemory, range: &Range<Gpa>, leaves: &mut dyn FnMut(Gpa, Leaf)) -> ClearedRange;
}

/// What [`SectionTable::clear`] took away. Processors may still use all of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[must_use = "tables that are not freed are lost"]
pub struct ClearedRange {
    /// Tables of the VM's own that nothing is left in.
    pub tables: Vec<FrameRange>,
    /// What it took.
    pub work: TableWork,
}
