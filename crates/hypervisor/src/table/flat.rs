//! The flat nested table: one contiguous piece of host memory, indexed by guest frame number (Sha et al. 2022, section 3.2).
//!
//! It is indexed from the first page of RAM on, so that it has one entry for each page that the VM has: eight bytes for 4 KiB, a
//! 512th of RAM. Devices, which lie below RAM, are beyond it and fault.

mod sections;

use super::entry::{Entry, Leaf, LeafBits};
use super::host::{HostTable, SectionTable};
use super::page_table::MapError;
use core::ops::Range;
use memory::{FrameAllocator, FrameRange, HostMemory, OutOfFrames};
use mmu::SecondStage;
use types::{Gpa, Hpa, PageSize};

/// Bytes of an entry.
const ENTRY: u64 = 8;

/// The flat table of one VM. The pages that it maps are owned by it.
#[derive(Debug)]
pub struct FlatTable {
    frames: FrameRange,
    first: Gpa,
    entries: u64,
}

impl FlatTable {
    /// A table that maps nothing yet, for the whole pages of `ram`.
    ///
    /// # Errors
    /// [`OutOfFrames`]: host memory has no free piece of that length.
    pub fn new(memory: &HostMemory, frames: &mut FrameAllocator, ram: &Range<Gpa>) -> Result<Self, OutOfFrames> {
        let entries = (ram.end.0 - ram.start.0) / PageSize::Size4K.bytes();
        let frames = frames.allocate_contiguous(memory, entries * ENTRY, PageSize::Size4K)?;
        Ok(Self { frames, first: ram.start, entries })
    }

    /// Where it is.
    #[must_use]
    pub const fn start(&self) -> Hpa {
        self.frames.start()
    }

    /// Maps a page of 4K or 2M to `gpa`, which takes the place of nothing: no TLB has anything to forget.
    fn enter(&self, memory: &HostMemory, gpa: Gpa, leaf: Leaf) -> Result<(), MapError> {
        let Leaf { page, size, bits } = leaf;
        if !matches!(size, PageSize::Size4K | PageSize::Size2M) {
            return Err(MapError::Size(size));
        }
        if !page.is_aligned(size.bytes()) || !gpa.is_aligned(size.bytes()) {
            return Err(MapError::Misaligned { address: gpa.0, page, size });
        }
        let beyond = MapError::OutsideTable { address: gpa.0, entries: self.entries };
        let slots = self.slots(gpa, size).ok_or(beyond)?;
        if slots.clone().any(|slot| read(memory, slot).is_valid()) {
            return Err(MapError::Occupied(gpa.0));
        }
        for slot in slots {
            write(memory, slot, Entry::flat(page, size, bits | LeafBits::USER));
        }
        Ok(())
    }

    /// The entries of the page of `size` at `gpa`; `None` unless the table has all of them.
    fn slots(&self, gpa: Gpa, size: PageSize) -> Option<impl Iterator<Item = Hpa> + Clone + use<>> {
        let index = gpa.0.checked_sub(self.first.0)? / PageSize::Size4K.bytes();
        let count = size.bytes() / PageSize::Size4K.bytes();
        let start = self.frames.start();
        (index.checked_add(count)? <= self.entries)
            .then(|| (index..index + count).map(move |index| start.wrapping_add(index * ENTRY)))
    }
}

impl HostTable for FlatTable {
    fn second_stage(&self) -> SecondStage {
        SecondStage::Flat { table: self.start(), first: self.first, entries: self.entries }
    }

    fn levels(&self) -> u32 {
        1
    }

    fn address_bits(&self) -> Option<u32> {
        None
    }

    fn map(&mut self, memory: &HostMemory, _: &mut FrameAllocator, gpa: Gpa, leaf: Leaf) -> Result<(), MapError> {
        self.enter(memory, gpa, leaf)
    }

    fn lookup(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        let slot = self.slots(gpa, PageSize::Size4K)?.next()?;
        let entry = read(memory, slot);
        let size = entry.flat_size();
        // A walker sets A and D in the entry that it reads: of a superpage these are the bits of one of 512.
        entry.is_leaf().then(|| Leaf { page: entry.address().page(size), size, bits: entry.bits() })
    }

    fn set_bits(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) {
        let Some(leaf) = self.lookup(memory, gpa) else { return };
        for slot in self.slots(gpa.page(leaf.size), leaf.size).into_iter().flatten() {
            write(memory, slot, read(memory, slot).with_bits(bits));
        }
    }

    /// Each entry of a superpage keeps the bits that it has.
    fn grant(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) {
        let Some(leaf) = self.lookup(memory, gpa) else { return };
        for slot in self.slots(gpa.page(leaf.size), leaf.size).into_iter().flatten() {
            write(memory, slot, read(memory, slot).with(bits));
        }
    }

    /// A walker may have set A in any entry of a superpage.
    fn age(&mut self, memory: &HostMemory, gpa: Gpa) -> bool {
        let Some(leaf) = self.lookup(memory, gpa) else { return false };
        let mut accessed = false;
        for slot in self.slots(gpa.page(leaf.size), leaf.size).into_iter().flatten() {
            let entry = read(memory, slot);
            if entry.bits().contains(LeafBits::ACCESSED) {
                accessed = true;
                write(memory, slot, entry.without(LeafBits::ACCESSED));
            }
        }
        accessed
    }

    fn vacancy(&self, memory: &HostMemory, gpa: Gpa) -> Option<PageSize> {
        let vacant = |size: &PageSize| {
            let slots = self.slots(gpa.page(*size), *size);
            slots.is_some_and(|mut slots| slots.all(|slot| !read(memory, slot).is_valid()))
        };
        [PageSize::Size2M, PageSize::Size4K].into_iter().find(vacant)
    }

    /// Each of the 512 base pages is as the whole was: a walker sets D in one entry for all of it.
    fn split(&mut self, memory: &HostMemory, _: &mut FrameAllocator, gpa: Gpa) -> Result<bool, OutOfFrames> {
        let superpage = self.lookup(memory, gpa).filter(|leaf| leaf.size > PageSize::Size4K);
        let Some(leaf) = superpage else { return Ok(false) };
        let Some(slots) = self.slots(gpa.page(leaf.size), leaf.size) else { return Ok(false) };
        let bits = slots.clone().fold(leaf.bits, |bits, slot| bits.with(read(memory, slot).bits()));
        for (index, slot) in (0..).zip(slots) {
            let page = leaf.page.wrapping_add(index * PageSize::Size4K.bytes());
            write(memory, slot, Entry::flat(page, PageSize::Size4K, bits));
        }
        Ok(true)
    }

    fn take(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        let leaf = self.lookup(memory, gpa)?;
        for slot in self.slots(gpa.page(leaf.size), leaf.size)? {
            write(memory, slot, Entry::EMPTY);
        }
        Some(leaf)
    }

    /// It moves to a new piece of memory, before any processor has used it.
    fn extend(&mut self, memory: &HostMemory, frames: &mut FrameAllocator, end: Gpa) -> Result<(), OutOfFrames> {
        let entries = end.0.saturating_sub(self.first.0).div_ceil(PageSize::Size4K.bytes());
        if entries <= self.entries {
            return Ok(());
        }
        let longer = frames.allocate_contiguous(memory, entries * ENTRY, PageSize::Size4K)?;
        let old = core::mem::replace(&mut self.frames, longer);
        for index in 0..self.entries {
            let [from, to] = [old, longer].map(|piece| piece.start().wrapping_add(index * ENTRY));
            write(memory, to, read(memory, from));
        }
        self.entries = entries;
        frames.give_back(old, "a flat table that became longer");
        Ok(())
    }

    fn bytes_behind(&self, ram: &Range<Gpa>) -> u64 {
        self.entries * ENTRY - (ram.end.0 - ram.start.0) / 512
    }

    fn as_section_table(&mut self) -> Option<&mut dyn SectionTable> {
        Some(self)
    }

    fn free(self: Box<Self>, _: &HostMemory, frames: &mut FrameAllocator) {
        frames.give_back(self.frames, "a flat table");
    }
}

fn read(memory: &HostMemory, slot: Hpa) -> Entry {
    memory.read(slot).map_or(Entry::EMPTY, Entry)
}

fn write(memory: &HostMemory, slot: Hpa, entry: Entry) {
    memory.note_failure(memory.write(slot, entry.0), "an entry of a flat table");
}

#[cfg(test)]
mod tests;
