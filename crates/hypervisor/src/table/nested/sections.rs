//! What sections do to a VM's nested table. They own the pages that they map, so nothing here frees one; the caller flushes.

use super::NestedTable;
use crate::table::entry::{Leaf, LeafBits};
use crate::table::host::{ClearedRange, SectionTable};
use crate::table::page_table::MapError;
use crate::table::work::TableWork;
use core::ops::Range;
use memory::{FrameAllocator, HostMemory};
use types::{Gpa, Hpa, PageSize, Vmid};

impl NestedTable {
    /// The VM's identifier.
    #[must_use]
    pub const fn vmid(&self) -> Vmid {
        self.vmid
    }

    /// The section's table that maps `gpa`, and its level, if one does.
    #[must_use]
    pub fn linked(&self, memory: &HostMemory, gpa: Gpa) -> Option<(Hpa, u32)> {
        self.table.linked(memory, gpa.0)
    }
}

impl SectionTable for NestedTable {
    fn maps(&self, _: PageSize) -> bool {
        true
    }

    fn link(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
        level: u32,
        table: Hpa,
    ) -> Result<TableWork, MapError> {
        let tables = self.table.link(memory, frames, gpa.0, level, table)?;
        Ok(TableWork { entries: 0, tables, links: 1 })
    }

    fn map_at(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        level: u32,
        gpa: Gpa,
        leaf: Leaf,
    ) -> Result<TableWork, MapError> {
        let bits = leaf.bits | LeafBits::USER;
        self.table.map_at(memory, frames, level, gpa.0, Leaf { bits, ..leaf })
    }

    fn add_leaf_table(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
    ) -> Result<TableWork, MapError> {
        self.table.add_leaf_table(memory, frames, gpa.0)
    }

    fn clear(&mut self, memory: &HostMemory, range: &Range<Gpa>, leaves: &mut dyn FnMut(Gpa, Leaf)) -> ClearedRange {
        let range = range.start.0..range.end.0;
        let cleared = self.table.clear(memory, &range, |address, leaf| leaves(Gpa(address), leaf));
        ClearedRange { tables: cleared.tables, work: cleared.work }
    }
}
