//! Ranges of a tree at once: what a section needs, which is long and comes and goes as a whole.

use super::{ENTRIES, Entry, Leaf, MapError, PageTable, read, write};
use crate::table::work::TableWork;
use core::ops::Range;
use memory::{FrameAllocator, FrameRange, HostMemory};
use types::{Hpa, PageSize};

/// What [`PageTable::clear`] took out of a tree: the frames stay owned until no processor uses them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[must_use = "tables that are not freed are lost"]
pub(in super::super) struct Cleared {
    /// Tables of the tree's own that nothing is left in.
    pub(in super::super) tables: Vec<FrameRange>,
    /// What it took.
    pub(in super::super) work: TableWork,
}

impl PageTable {
    /// Maps the page of `leaf` to `address` by entries of tables of `level`. In the last level, 0, it may be a group of base pages.
    ///
    /// # Errors
    /// As [`map`](Self::map). Where several entries make a group, either all of them are written or none.
    pub(in super::super) fn map_at(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        level: u32,
        address: u64,
        leaf: Leaf,
    ) -> Result<TableWork, MapError> {
        let Leaf { page, size, bits } = leaf;
        if !page.is_aligned(size.bytes()) || address & (size.bytes() - 1) != 0 {
            return Err(MapError::Misaligned { address, page, size });
        }
        let count = entries_of(size, level).filter(|_| level < self.shape.levels).ok_or(MapError::Size(size))?;
        let (first, made) = self.place(memory, frames, address, level)?;
        let entry_at = |index: u64| first.wrapping_add(index * 8);
        if (0..count).any(|index| read(memory, entry_at(index)).is_valid()) {
            return Err(MapError::Occupied(address));
        }
        let entry = if count == 1 { Entry::leaf(page, bits) } else { Entry::grouped(page, size, bits) };
        (0..count).for_each(|index| write(memory, entry_at(index), entry));
        Ok(TableWork { entries: count, tables: made, links: 0 })
    }

    /// Sees to it that a base page can be mapped to `address` without a table being added.
    ///
    /// # Errors
    /// As [`map`](Self::map).
    pub(in super::super) fn add_leaf_table(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        address: u64,
    ) -> Result<TableWork, MapError> {
        let (_, made) = self.place(memory, frames, address, 0)?;
        Ok(TableWork { tables: made, ..TableWork::default() })
    }

    /// Empties `range`: pages and links that lie in it wholly go, and the tree's own tables on the way to it that nothing is left in. `leaves` sees each entry of a page that goes.
    pub(in super::super) fn clear(
        &mut self,
        memory: &HostMemory,
        range: &Range<u64>,
        mut leaves: impl FnMut(u64, Leaf),
    ) -> Cleared {
        let mut cleared = Cleared::default();
        let table = Table { at: self.root(), level: self.shape.levels - 1, start: 0 };
        let entries = self.shape.root_bytes() / 8;
        clear(memory, table, entries, range, &mut leaves, &mut cleared);
        cleared
    }
}

/// How many entries of tables of `level` map a page of `size`; `None` where none do.
pub(in super::super) fn entries_of(size: PageSize, level: u32) -> Option<u64> {
    match level {
        0 if size <= PageSize::Size2M => Some(size.bytes() / PageSize::Size4K.bytes()),
        _ => (PageSize::of_level(level) == size).then_some(1),
    }
}

/// A table and the first address that it maps.
#[derive(Clone, Copy)]
struct Table {
    at: Hpa,
    level: u32,
    start: u64,
}

fn clear(
    memory: &HostMemory,
    table: Table,
    entries: u64,
    range: &Range<u64>,
    leaves: &mut impl FnMut(u64, Leaf),
    cleared: &mut Cleared,
) {
    let span = PageSize::of_level(table.level).bytes();
    let first = (range.start.max(table.start) - table.start) / span;
    let end = (range.end.saturating_sub(table.start)).div_ceil(span).min(entries);
    for index in first..end {
        let at = table.at.wrapping_add(index * 8);
        let entry = read(memory, at);
        if !entry.is_valid() {
            continue;
        }
        let start = table.start + index * span;
        let within = range.start <= start && start + span <= range.end;
        if let Some(leaf) = entry.leaf_of(table.level) {
            if within {
                write(memory, at, Entry::EMPTY);
                cleared.work.entries += 1;
                leaves(start, leaf);
            }
            continue;
        }
        let mut empty = within;
        if !entry.is_link() {
            let below = Table { at: entry.address(), level: table.level - 1, start };
            clear(memory, below, ENTRIES, range, leaves, cleared);
            empty = within || is_empty(memory, below.at);
        }
        if empty {
            write(memory, at, Entry::EMPTY);
            cleared.work.links += 1;
            if !entry.is_link() {
                cleared.tables.extend(FrameRange::new(entry.address(), PageSize::Size4K.bytes()));
            }
        }
    }
}

fn is_empty(memory: &HostMemory, table: Hpa) -> bool {
    (0..ENTRIES).all(|index| !read(memory, table.wrapping_add(index * 8)).is_valid())
}

#[cfg(test)]
mod tests;
