//! The flat nested table: one contiguous piece of host memory, indexed by guest frame number (Sha et al. 2022, section 3.2).
//!
//! It is indexed from the first page of RAM on, so that it has one entry for each page that the VM has: eight bytes for 4 KiB, a
//! 512th of RAM. Devices, which lie below RAM, are beyond it and fault.

mod sections;

use super::entry::{Entry, Leaf, LeafBits};
use super::invalidation::Invalidation;
use super::page_table::MapError;
use core::ops::Range;
use memory::{FrameAllocator, FrameRange, HostMemory, OutOfFrames};
use types::{Gpa, Hpa, PageSize, Vmid};

/// Bytes of an entry.
const ENTRY: u64 = 8;

/// The flat table of one VM. The pages that it maps are owned by it.
#[derive(Debug)]
pub struct FlatTable {
    frames: FrameRange,
    first: Gpa,
    entries: u64,
    vmid: Vmid,
}

impl FlatTable {
    /// A table that maps nothing yet, for the whole pages of `ram`.
    ///
    /// # Errors
    /// [`OutOfFrames`]: host memory has no free piece of that length.
    pub fn new(
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        ram: &Range<Gpa>,
        vmid: Vmid,
    ) -> Result<Self, OutOfFrames> {
        let entries = (ram.end.0 - ram.start.0) / PageSize::Size4K.bytes();
        let frames = frames.allocate_contiguous(memory, entries * ENTRY, PageSize::Size4K)?;
        Ok(Self { frames, first: ram.start, entries, vmid })
    }

    /// Gives its frames back, not those of the pages that it maps: a table that no TLB has ever used.
    pub fn free(self, frames: &mut FrameAllocator) {
        frames.give_back(self.frames, "a flat table");
    }

    /// Its length in bytes: eight for each page of the VM, and for each page from there to the end of its last section.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.entries * ENTRY
    }

    /// Where it is.
    #[must_use]
    pub const fn start(&self) -> Hpa {
        self.frames.start()
    }

    /// The page that the first entry maps.
    #[must_use]
    pub const fn first(&self) -> Gpa {
        self.first
    }

    /// How many entries it has.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// Maps a page of 4K or 2M to `gpa`, which takes the place of nothing: no TLB has anything to forget.
    ///
    /// # Errors
    /// [`MapError`], but never for want of frames.
    pub fn map(&mut self, memory: &HostMemory, gpa: Gpa, leaf: Leaf) -> Result<(), MapError> {
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

    /// The page that holds `gpa`.
    #[must_use]
    pub fn lookup(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        let slot = self.slots(gpa, PageSize::Size4K)?.next()?;
        let entry = read(memory, slot);
        let size = entry.flat_size();
        // A walker sets A and D in the entry that it reads: of a superpage these are the bits of one of 512.
        entry.is_leaf().then(|| Leaf { page: entry.address().page(size), size, bits: entry.bits() })
    }

    /// Sets bits of the page that holds `gpa`. Nothing is to be flushed: a TLB entry with fewer rights than its page answers no
    /// access that needs more, and the walk that follows finds the new ones.
    pub fn grant(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) {
        let Some(leaf) = self.lookup(memory, gpa) else { return };
        for slot in self.slots(gpa.page(leaf.size), leaf.size).into_iter().flatten() {
            write(memory, slot, read(memory, slot).with(bits));
        }
    }

    /// Clears A of the page that holds `gpa`, wherever a walker has set it; whether it had.
    pub fn age(&mut self, memory: &HostMemory, gpa: Gpa) -> bool {
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

    /// The largest page that can be mapped around `gpa`, which has none; `None` where it has one, or beyond the table.
    #[must_use]
    pub fn vacancy(&self, memory: &HostMemory, gpa: Gpa) -> Option<PageSize> {
        let vacant = |size: &PageSize| {
            let slots = self.slots(gpa.page(*size), *size);
            slots.is_some_and(|mut slots| slots.all(|slot| !read(memory, slot).is_valid()))
        };
        [PageSize::Size2M, PageSize::Size4K].into_iter().find(vacant)
    }

    /// Makes 512 base pages of the superpage that holds `gpa`; whether there was one. Each is as the whole was: a walker sets D in one entry
    /// for all of it.
    pub fn split(&mut self, memory: &HostMemory, gpa: Gpa) -> bool {
        let Some(leaf) = self.lookup(memory, gpa).filter(|leaf| leaf.size > PageSize::Size4K) else { return false };
        let Some(slots) = self.slots(gpa.page(leaf.size), leaf.size) else { return false };
        let bits = slots.clone().fold(leaf.bits, |bits, slot| bits.with(read(memory, slot).bits()));
        for (index, slot) in (0..).zip(slots) {
            let page = leaf.page.wrapping_add(index * PageSize::Size4K.bytes());
            write(memory, slot, Entry::flat(page, PageSize::Size4K, bits));
        }
        true
    }

    /// Takes the page that holds `gpa` out, all 512 entries of a superpage; `None` if there is none. The caller flushes.
    pub fn take(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        let leaf = self.lookup(memory, gpa)?;
        for slot in self.slots(gpa.page(leaf.size), leaf.size)? {
            write(memory, slot, Entry::EMPTY);
        }
        Some(leaf)
    }

    /// Has entries up to `end` as well, in a new piece of memory: before any processor has used the table.
    ///
    /// # Errors
    /// [`OutOfFrames`]: host memory has no free piece of that length; the table is as it was.
    pub fn extend(&mut self, memory: &HostMemory, frames: &mut FrameAllocator, end: Gpa) -> Result<(), OutOfFrames> {
        let entries = end.0.saturating_sub(self.first.0).div_ceil(PageSize::Size4K.bytes());
        if entries <= self.entries {
            return Ok(());
        }
        let longer = frames.allocate_contiguous(memory, entries * ENTRY, PageSize::Size4K)?;
        let old = core::mem::replace(&mut self.frames, longer);
        for index in 0..self.entries {
            write(
                memory,
                longer.start().wrapping_add(index * ENTRY),
                read(memory, old.start().wrapping_add(index * ENTRY)),
            );
        }
        self.entries = entries;
        frames.give_back(old, "a flat table that became longer");
        Ok(())
    }

    /// Takes the page that holds `gpa` away, all 512 entries of a superpage; `None` if there is none.
    pub fn unmap(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Invalidation> {
        let leaf = self.take(memory, gpa)?;
        let frames = FrameRange::new(leaf.page, leaf.size.bytes())?;
        Some(Invalidation::of_page(self.vmid, gpa, frames))
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

fn read(memory: &HostMemory, slot: Hpa) -> Entry {
    memory.read(slot).map_or(Entry::EMPTY, Entry)
}

fn write(memory: &HostMemory, slot: Hpa, entry: Entry) {
    memory.note_failure(memory.write(slot, entry.0), "an entry of a flat table");
}

#[cfg(test)]
mod tests;
