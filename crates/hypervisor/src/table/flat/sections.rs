//! What sections do to a flat table.

use super::FlatTable;
use crate::table::entry::Leaf;
use crate::table::host::{ClearedRange, HostTable, SectionTable};
use crate::table::page_table::MapError;
use crate::table::work::TableWork;
use core::ops::Range;
use memory::{FrameAllocator, HostMemory};
use types::{Gpa, Hpa, PageSize};

impl SectionTable for FlatTable {
    fn maps(&self, size: PageSize) -> bool {
        matches!(size, PageSize::Size4K | PageSize::Size2M)
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
        self.enter(memory, gpa, leaf)?;
        Ok(TableWork { entries: leaf.size.bytes() / PageSize::Size4K.bytes(), ..TableWork::default() })
    }

    fn add_leaf_table(&mut self, _: &HostMemory, _: &mut FrameAllocator, _: Gpa) -> Result<TableWork, MapError> {
        // It is whole from the start.
        Ok(TableWork::default())
    }

    fn clear(&mut self, memory: &HostMemory, range: &Range<Gpa>, leaves: &mut dyn FnMut(Gpa, Leaf)) -> ClearedRange {
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
