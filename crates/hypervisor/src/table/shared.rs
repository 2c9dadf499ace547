//! The tables of a section: they exist once, and every VM that may write to the section has them linked into its own (paper 003, "Shared Page Tables Design").
//!
//! They map the section from its start, level by level, until a level has one table. A table of level 0 maps 2 MiB, one of level 1 a gigabyte, and so on: any level
//! can be linked. Entries beyond the section's end are empty, and stay so.
//!
//! Beside them are leaf tables for shadow tables, which lead from addresses of guests to the same pages: `shared/shadow_leaves.rs`.

use super::entry::{Entry, Leaf, LeafBits};
use super::page_table::{entries_of, read, write};
use super::work::TableWork;
use memory::{FrameAllocator, FrameRange, HostMemory, OutOfFrames};
use types::{Hpa, PageSize};

mod shadow_leaves;
use shadow_leaves::ShadowLeaves;

const TABLE: u64 = PageSize::Size4K.bytes();
const ENTRIES: usize = 512;

/// The shared tables of one section.
#[derive(Debug)]
pub struct SharedTables {
    bytes: u64,
    /// Tables by level, and in each level by what they map. `None` where a superpage one level up maps it.
    levels: Vec<Vec<Option<Hpa>>>,
    /// Those that were taken from the free frames; others are the registry's.
    taken: Vec<FrameRange>,
    /// Leaf tables for shadow tables.
    shadow: ShadowLeaves,
    work: TableWork,
}

impl SharedTables {
    /// Empty tables for a section of `bytes` bytes, to be mapped by superpages of `largest` as far as they go, and by the last level for the rest. They are in `reserved`, as far as that goes, and
    /// else in free frames.
    ///
    /// # Errors
    /// [`OutOfFrames`]: nothing was taken.
    pub fn new(
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        bytes: u64,
        largest: PageSize,
        reserved: Option<FrameRange>,
    ) -> Result<Self, OutOfFrames> {
        let mut tables = Self {
            bytes,
            levels: Vec::new(),
            taken: Vec::new(),
            shadow: ShadowLeaves::default(),
            work: TableWork::default(),
        };
        let mut source = Source { reserved, next: 0 };
        match tables.build(memory, frames, largest, &mut source) {
            Ok(()) => Ok(tables),
            Err(error) => {
                tables.free(frames);
                Err(error)
            }
        }
    }

    fn build(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        largest: PageSize,
        source: &mut Source,
    ) -> Result<(), OutOfFrames> {
        for level in 0.. {
            let span = PageSize::of_level(level + 1).bytes();
            let count = self.bytes.div_ceil(span);
            let mut row = Vec::with_capacity(count as usize);
            for index in 0..count {
                let by_superpages = span <= largest.bytes() && (index + 1) * span <= self.bytes;
                row.push(if by_superpages { None } else { Some(source.table(memory, frames, self)?) });
            }
            if let Some(below) = self.levels.last() {
                for (index, table) in below.iter().enumerate() {
                    if let (Some(table), Some(parent)) = (table, row[index / ENTRIES]) {
                        write(memory, Entry::place(parent, (index % ENTRIES) as u64), Entry::pointer(*table));
                        self.work.links += 1;
                    }
                }
            }
            let is_top = matches!(row[..], [Some(_)]);
            self.levels.push(row);
            if is_top {
                break;
            }
        }
        Ok(())
    }

    /// What they took to make.
    #[must_use]
    pub const fn work(&self) -> TableWork {
        self.work
    }

    /// The level of the one table that maps all of the section.
    #[must_use]
    pub fn top(&self) -> u32 {
        self.levels.len() as u32 - 1
    }

    /// Whether the section is all mapped by tables of `level`, so that it can be linked there.
    #[must_use]
    pub fn is_linkable(&self, level: u32) -> bool {
        self.levels.get(level as usize).is_some_and(|row| row.iter().all(Option::is_some))
    }

    /// The table of `level` that maps the section from byte `offset` on, if there is one.
    #[must_use]
    pub fn table(&self, level: u32, offset: u64) -> Option<Hpa> {
        let span = PageSize::of_level(level + 1).bytes();
        let row = self.levels.get(level as usize)?;
        row.get((offset / span) as usize).copied().flatten().filter(|_| offset.is_multiple_of(span))
    }

    /// Bytes of the section.
    #[must_use]
    pub const fn section_bytes(&self) -> u64 {
        self.bytes
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.work.tables
    }

    /// Maps the page of `leaf` to byte `offset` of the section, where nothing is, by entries of tables of `level`. Every VM that has the tables sees it at once.
    ///
    /// # Panics
    /// In builds with assertions: the page is not within the section, not aligned, or of a size for which the tables were not made.
    pub fn map(&mut self, memory: &HostMemory, level: u32, offset: u64, leaf: Leaf) -> TableWork {
        let Leaf { page, size, bits } = leaf;
        let within = offset + size.bytes() <= self.bytes;
        let aligned = offset.is_multiple_of(size.bytes()) && page.is_aligned(size.bytes());
        debug_assert!(within && aligned, "{size} at {offset:#x} of {:#x} bytes, in {page}", self.bytes);
        let bits = bits | LeafBits::USER;
        let count = entries_of(size, level).unwrap_or(0);
        let span = PageSize::of_level(level + 1).bytes();
        let Some(table) = self.table(level, offset / span * span) else {
            debug_assert!(false, "no table of level {level} for {offset:#x}");
            return TableWork::default();
        };
        let first = offset % span / PageSize::of_level(level).bytes();
        let entry = if count == 1 { Entry::leaf(page, bits) } else { Entry::grouped(page, size, bits) };
        for index in first..first + count {
            write(memory, Entry::place(table, index), entry);
        }
        let mut work = TableWork { entries: count, ..TableWork::default() };
        if size == PageSize::Size4K {
            work.entries += self.shadow.add(memory, offset, page);
        }
        work
    }

    /// Where byte `offset` of the section lies, if its page is valid.
    fn lookup(&self, memory: &HostMemory, offset: u64) -> Option<Hpa> {
        (0..=self.top()).find_map(|level| {
            let span = PageSize::of_level(level + 1).bytes();
            let table = self.table(level, offset / span * span)?;
            let index = offset % span / PageSize::of_level(level).bytes();
            let leaf = read(memory, Entry::place(table, index)).leaf_of(level)?;
            Some(leaf.page.wrapping_add(offset & (leaf.size.bytes() - 1)))
        })
    }

    /// The leaf table for shadow tables that maps the section's 2M from byte `offset` on by entries of `bits`. It is made when it is wanted first,
    /// and has what is valid of the section, now and later; what that took is returned with it.
    ///
    /// # Errors
    /// [`OutOfFrames`]: nothing was made.
    pub fn shadow_leaves(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        offset: u64,
        bits: LeafBits,
    ) -> Result<(Hpa, TableWork), OutOfFrames> {
        if let Some(table) = self.shadow.table(offset, bits) {
            return Ok((table, TableWork::default()));
        }
        let frame = frames.allocate(memory, PageSize::Size4K)?;
        self.taken.push(frame);
        self.shadow.insert(offset, bits, frame.start());
        let end = self.bytes.min(offset + PageSize::Size2M.bytes());
        let mut work = TableWork { tables: 1, ..TableWork::default() };
        for at in (offset..end).step_by(TABLE as usize) {
            if let Some(page) = self.lookup(memory, at) {
                write(memory, Entry::place(frame.start(), (at - offset) / TABLE), Entry::leaf(page, bits));
                work.entries += 1;
            }
        }
        Ok((frame.start(), work))
    }

    /// How many leaf tables for shadow tables there are.
    #[must_use]
    pub fn shadow_count(&self) -> u64 {
        self.shadow.count()
    }

    /// Gives those of its frames back that are not the registry's. No VM has them any more, and no processor.
    pub fn free(self, frames: &mut FrameAllocator) {
        for frame in self.taken {
            frames.give_back(frame, "a table of a section");
        }
    }
}

/// Where tables come from.
struct Source {
    reserved: Option<FrameRange>,
    /// Tables taken of it.
    next: u64,
}

impl Source {
    /// An empty table; one that is not reserved is noted in `of`.
    fn table(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        of: &mut SharedTables,
    ) -> Result<Hpa, OutOfFrames> {
        of.work.tables += 1;
        if let Some(range) = self.reserved.filter(|range| self.next * TABLE < range.bytes()) {
            let table = range.start().wrapping_add(self.next * TABLE);
            self.next += 1;
            // It may have been another section's.
            memory.note_failure(memory.zero(table, TABLE), "a reserved table of a section");
            return Ok(table);
        }
        let frame = frames.allocate(memory, PageSize::Size4K)?;
        of.taken.push(frame);
        Ok(frame.start())
    }
}

#[cfg(test)]
mod tests;
