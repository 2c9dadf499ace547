//! The table of a VM's second stage, whatever its shape, and what sections do to it. They own the pages that they map, so nothing here frees one; the
//! caller flushes.
//!
//! A tree takes links to a section's own tables (`nested/sections.rs`). A flat table is one piece, and takes pages only (`flat/sections.rs`).

use super::entry::{Leaf, LeafBits};
use super::page_table::MapError;
use super::work::TableWork;
use core::fmt::Debug;
use core::ops::Range;
use memory::{FrameAllocator, FrameRange, HostMemory, OutOfFrames};
use mmu::SecondStage;
use types::{Gpa, Hpa, PageSize};

/// A table from guest physical to host physical addresses, with its bits in host memory: what [`crate::Vm`] fills on demand.
///
/// The frames of the table are its own; the pages that it maps are the VM's. An edit that adds needs no flush: no TLB keeps what is not there. What an edit
/// takes away is the caller's to flush ([`Invalidation`](crate::Invalidation)).
pub trait HostTable: Debug + Send {
    /// What the processors are to walk it by.
    fn second_stage(&self) -> SecondStage;

    /// Entries that software reads to translate one address.
    fn levels(&self) -> u32;

    /// Bits of guest physical address that it can come to map; `None` where its length is fixed when it is made.
    fn address_bits(&self) -> Option<u32>;

    /// Maps a page to `gpa`, which takes the place of nothing.
    ///
    /// # Errors
    /// [`MapError`]: the table maps what it mapped before.
    fn map(&mut self, memory: &HostMemory, frames: &mut FrameAllocator, gpa: Gpa, leaf: Leaf) -> Result<(), MapError>;

    /// The page that holds `gpa`.
    fn lookup(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf>;

    /// Gives the page that holds `gpa` other bits, those of [`LeafBits::USER`] among them. A walker may find any of its entries: all of them change.
    fn set_bits(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits);

    /// Takes the page that holds `gpa` out, all of it; `None` if there is none.
    fn take(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf>;

    /// The largest page that can be mapped around `gpa`, which has none; `None` where it has one.
    fn vacancy(&self, memory: &HostMemory, gpa: Gpa) -> Option<PageSize> {
        self.lookup(memory, gpa).is_none().then_some(PageSize::Size4K)
    }

    /// Adds what the table itself lacks to map a page of `size` at `gpa`, so that tables lie apart from pages.
    ///
    /// # Errors
    /// [`OutOfFrames`].
    fn prepare(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
        size: PageSize,
    ) -> Result<(), OutOfFrames> {
        let _ = (memory, frames, gpa, size);
        Ok(())
    }

    /// Sets bits of the page that holds `gpa`. Nothing is to be flushed: a TLB entry with fewer rights than its page answers no access that needs more,
    /// and the walk that follows finds the new ones.
    fn grant(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) {
        if let Some(leaf) = self.lookup(memory, gpa) {
            self.set_bits(memory, gpa, leaf.bits | bits);
        }
    }

    /// Clears A of the page that holds `gpa`; whether it was set. Nothing is flushed: a TLB may answer accesses that set no A then, as on
    /// hardware, where software that looks for pages not in use takes that into account.
    fn age(&mut self, memory: &HostMemory, gpa: Gpa) -> bool {
        self.restrict(memory, gpa, LeafBits::ACCESSED)
    }

    /// Clears bits of the page that holds `gpa`; whether any was set. TLBs are the caller's to fence.
    fn restrict(&mut self, memory: &HostMemory, gpa: Gpa, bits: LeafBits) -> bool {
        let set = |leaf: &Leaf| leaf.bits.and(bits) != LeafBits::default();
        let Some(leaf) = self.lookup(memory, gpa).filter(set) else { return false };
        self.set_bits(memory, gpa, leaf.bits.without(bits));
        true
    }

    /// Maps the superpage that holds `gpa` in pages of the next smaller size; whether there was one. No translation changes, so that
    /// nothing is to be flushed: a fence for a gPA removes every entry of a page that holds it. A table of base pages alone has none.
    ///
    /// # Errors
    /// [`OutOfFrames`]: the page is as it was.
    fn split(&mut self, memory: &HostMemory, frames: &mut FrameAllocator, gpa: Gpa) -> Result<bool, OutOfFrames> {
        let _ = (memory, frames, gpa);
        Ok(false)
    }

    /// Sees to it that pages below `end` can be mapped, behind RAM, where sections are. The guest has not run yet.
    ///
    /// # Errors
    /// [`OutOfFrames`]: the table is as it was.
    fn extend(&mut self, memory: &HostMemory, frames: &mut FrameAllocator, end: Gpa) -> Result<(), OutOfFrames> {
        let _ = (memory, frames, end);
        Ok(())
    }

    /// Bytes of its entries for what lies behind `ram`, where the table is as long as what it maps.
    fn bytes_behind(&self, ram: &Range<Gpa>) -> u64 {
        let _ = ram;
        0
    }

    /// The interface to map sections into this table; `None` if it takes no sections.
    fn as_section_table(&mut self) -> Option<&mut dyn SectionTable> {
        None
    }

    /// Whether tables of sections can be linked into it.
    fn links_sections(&self) -> bool {
        false
    }

    /// Gives the table's own frames back, not those of the pages that it maps: a table that no TLB has ever used.
    fn free(self: Box<Self>, memory: &HostMemory, frames: &mut FrameAllocator);
}

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
