//! A radix tree of tables, whatever it translates from: the nested table now, shadow tables as well.

use super::entry::{Entry, Leaf, LeafBits};
use memory::{FrameAllocator, FrameRange, HostMemory, OutOfFrames};
use types::{Hpa, PageSize, PagingMode, SecondStageMode};

mod linked;
mod range;
pub(super) use range::entries_of;

/// Entries of a table that is not the root.
const ENTRIES: u64 = 512;

/// Levels of a tree, and the width of its root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) levels: u32,
    /// 2 where the root is four pages long, as a second stage's is.
    root_extra_bits: u32,
}

impl Shape {
    pub(super) const fn second_stage(mode: SecondStageMode) -> Self {
        Self { levels: mode.levels(), root_extra_bits: 2 }
    }

    /// Of a first stage with tables; the bare mode has none.
    pub(super) const fn first_stage(mode: PagingMode) -> Self {
        Self { levels: mode.levels(), root_extra_bits: 0 }
    }

    /// Bits of address that the tree translates.
    pub(super) const fn address_bits(self) -> u32 {
        12 + 9 * self.levels + self.root_extra_bits
    }

    pub(super) const fn root_bytes(self) -> u64 {
        4096 << self.root_extra_bits
    }

    /// Where the entry of `address` is in a table of `level`; level 0 is the last of a walk.
    const fn offset(self, address: u64, level: u32) -> u64 {
        let bits = if level + 1 == self.levels { 9 + self.root_extra_bits } else { 9 };
        (address >> PageSize::of_level(level).shift() & ((1 << bits) - 1)) * 8
    }

    /// The level whose leaves map pages of `size`; `None` where the tree has none.
    pub(super) fn level_of(self, size: PageSize) -> Option<u32> {
        (0..self.levels).find(|&level| PageSize::of_level(level) == size)
    }
}

/// Why a page cannot be mapped. What was mapped before still is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MapError {
    /// The address is beyond what the tree translates.
    #[error("{address:#x} is beyond the {bits} bits that the table translates")]
    Beyond {
        /// The address.
        address: u64,
        /// What the tree translates.
        bits: u32,
    },
    /// The flat table has no entry for some page there.
    #[error("{address:#x} is not all within the {entries} entries of the table")]
    OutsideTable {
        /// The address.
        address: u64,
        /// Entries that there are.
        entries: u64,
    },
    /// No level of the tree has leaves of that size.
    #[error("the table has no leaves of {0}")]
    Size(PageSize),
    /// The address or the page is not a multiple of the page size.
    #[error("{address:#x} or {page} is not a multiple of {size}")]
    Misaligned {
        /// The address.
        address: u64,
        /// The page.
        page: Hpa,
        /// The size.
        size: PageSize,
    },
    /// Something is mapped there already.
    #[error("{0:#x} is mapped already")]
    Occupied(u64),
    /// No frame for a table.
    #[error(transparent)]
    OutOfFrames(#[from] OutOfFrames),
}

/// A tree of tables in host memory. It owns the frames of its tables, not those of the pages it maps.
#[derive(Debug)]
pub(super) struct PageTable {
    root: FrameRange,
    shape: Shape,
}

/// Where a descent ended.
struct Found {
    /// Of the entry.
    slot: Hpa,
    level: u32,
    entry: Entry,
}

impl PageTable {
    /// An empty tree.
    pub(super) fn new(memory: &HostMemory, frames: &mut FrameAllocator, shape: Shape) -> Result<Self, OutOfFrames> {
        // A root of four pages lies on a boundary of its length, 16 KiB; 64K is the next alignment that has a name.
        let alignment = if shape.root_extra_bits == 0 { PageSize::Size4K } else { PageSize::Size64K };
        Ok(Self { root: frames.allocate_contiguous(memory, shape.root_bytes(), alignment)?, shape })
    }

    pub(super) const fn root(&self) -> Hpa {
        self.root.start()
    }

    /// Maps the page of `size` at `page` to `address`. Where a table is missing it is added; those stay if a later step fails.
    pub(super) fn map(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        address: u64,
        leaf: Leaf,
    ) -> Result<(), MapError> {
        let Leaf { page, size, bits } = leaf;
        let shape = self.shape;
        if address >> shape.address_bits() != 0 {
            return Err(MapError::Beyond { address, bits: shape.address_bits() });
        }
        let target = shape.level_of(size).ok_or(MapError::Size(size))?;
        if !page.is_aligned(size.bytes()) || address & (size.bytes() - 1) != 0 {
            return Err(MapError::Misaligned { address, page, size });
        }
        let slot = self.empty_slot(memory, frames, address, target)?;
        write(memory, slot, Entry::leaf(page, bits));
        Ok(())
    }

    /// Adds the tables that the page of `size` around `address` lacks, so that they lie together when its neighbours' are added next.
    pub(super) fn add_tables(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        address: u64,
        size: PageSize,
    ) -> Result<(), MapError> {
        let target = self.shape.level_of(size).ok_or(MapError::Size(size))?;
        self.empty_slot(memory, frames, address, target).map(drop)
    }

    /// The empty entry of `address` at a level, with the tables above it.
    fn empty_slot(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        address: u64,
        target: u32,
    ) -> Result<Hpa, MapError> {
        let mut found = self.find(memory, address);
        if found.entry.is_valid() || found.level < target {
            return Err(MapError::Occupied(address));
        }
        while found.level > target {
            let table = frames.allocate(memory, PageSize::Size4K)?.start();
            write(memory, found.slot, Entry::pointer(table));
            let level = found.level - 1;
            found = Found { slot: slot(table, self.shape, address, level), level, entry: Entry::EMPTY };
        }
        Ok(found.slot)
    }

    /// The page that holds `address`, also through tables of another owner.
    pub(super) fn lookup(&self, memory: &HostMemory, address: u64) -> Option<Leaf> {
        if address >> self.shape.address_bits() != 0 {
            return None;
        }
        let mut found = self.find(memory, address);
        while found.entry.is_link() {
            let level = found.level - 1;
            found = self.find_from(memory, found.entry.address(), level, address);
        }
        found.entry.leaf_of(found.level)
    }

    /// Takes the page that holds `address` away. Tables that are empty now stay, as they will be wanted again.
    pub(super) fn unmap(&mut self, memory: &HostMemory, address: u64) -> Option<Leaf> {
        let (slot, leaf) = self.leaf(memory, address)?;
        write(memory, slot, Entry::EMPTY);
        Some(leaf)
    }

    /// The size of the largest page that can be mapped around `address`, where nothing is mapped; `None` where something is, or beyond
    /// the tree. Tables that became empty stay, so that it may be smaller than what was there before.
    pub(super) fn vacancy(&self, memory: &HostMemory, address: u64) -> Option<PageSize> {
        if address >> self.shape.address_bits() != 0 {
            return None;
        }
        let found = self.find(memory, address);
        (!found.entry.is_valid()).then(|| PageSize::of_level(found.level))
    }

    /// Maps the superpage that holds `address` by leaves of the next smaller size, to the same frames and with the same bits: no
    /// translation changes. Whether there was one.
    pub(super) fn split(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        address: u64,
    ) -> Result<bool, OutOfFrames> {
        let Some((slot, leaf)) = self.leaf(memory, address) else { return Ok(false) };
        let Some(level) = self.shape.level_of(leaf.size).and_then(|level| level.checked_sub(1)) else {
            return Ok(false);
        };
        let table = frames.allocate(memory, PageSize::Size4K)?.start();
        let piece = PageSize::of_level(level).bytes();
        for index in 0..ENTRIES {
            let entry = Entry::leaf(leaf.page.wrapping_add(index * piece), leaf.bits);
            write(memory, table.wrapping_add(index * 8), entry);
        }
        write(memory, slot, Entry::pointer(table));
        Ok(true)
    }

    /// Gives the page that holds `address` other bits; returns the page as it was.
    pub(super) fn set_bits(&mut self, memory: &HostMemory, address: u64, bits: LeafBits) -> Option<Leaf> {
        let (slot, leaf) = self.leaf(memory, address)?;
        // The rest of the entry may say that it is one of a group.
        write(memory, slot, read(memory, slot).with_bits(bits));
        Some(leaf)
    }

    /// Gives the frames of all its tables back. No processor may walk it any more.
    pub(super) fn free(self, memory: &HostMemory, frames: &mut FrameAllocator) {
        let entries = self.shape.root_bytes() / 8;
        free_below(memory, frames, self.root(), entries, self.shape.levels - 1);
        frames.give_back(self.root, "the root of a page table");
    }

    fn leaf(&self, memory: &HostMemory, address: u64) -> Option<(Hpa, Leaf)> {
        if address >> self.shape.address_bits() != 0 {
            return None;
        }
        let Found { slot, level, entry } = self.find(memory, address);
        Some((slot, entry.leaf_of(level)?))
    }

    /// The leaf of `address`, or the empty entry where one would go, or one of a lower level, or the entry that leads to another's table: what
    /// is below that one is not this tree's to change.
    fn find(&self, memory: &HostMemory, address: u64) -> Found {
        self.find_from(memory, self.root(), self.shape.levels - 1, address)
    }

    /// What [`find`](Self::find) finds when the descent begins at `table`, which is of `level`.
    fn find_from(&self, memory: &HostMemory, mut table: Hpa, mut level: u32, address: u64) -> Found {
        loop {
            let slot = slot(table, self.shape, address, level);
            let entry = read(memory, slot);
            if level == 0 || !entry.is_valid() || entry.is_leaf() || entry.is_link() {
                return Found { slot, level, entry };
            }
            (table, level) = (entry.address(), level - 1);
        }
    }
}

pub(super) const fn slot(table: Hpa, shape: Shape, address: u64, level: u32) -> Hpa {
    table.wrapping_add(shape.offset(address, level))
}

/// Frees the tables that the `entries` entries of `table`, one of `level`, lead to.
fn free_below(memory: &HostMemory, frames: &mut FrameAllocator, table: Hpa, entries: u64, level: u32) {
    if level == 0 {
        return;
    }
    for index in 0..entries {
        let entry = read(memory, table.wrapping_add(index * 8));
        if !entry.is_valid() || entry.is_leaf() || entry.is_link() {
            continue;
        }
        free_below(memory, frames, entry.address(), ENTRIES, level - 1);
        frames.give_back(FrameRange::frame(entry.address()), "a page table");
    }
}

/// Tables lie in frames of this host's memory. Outside it there are none, so there is nothing there.
pub(super) fn read(memory: &HostMemory, slot: Hpa) -> Entry {
    memory.read(slot).map_or(Entry::EMPTY, Entry)
}

pub(super) fn write(memory: &HostMemory, slot: Hpa, entry: Entry) {
    memory.note_failure(memory.write(slot, entry.0), "an entry of a page table");
}

#[cfg(test)]
mod tests;
