//! A shadow table that is a radix tree, in the mode of the guest.
//!
//! # Pieces
//! A fence for one address of a guest's large page is for all of it. Where the host has no page as large, a shadow table holds such a page
//! in pieces; a pointer above them says so in the bits that the hardware leaves to software, and an invalidation by address then takes
//! all of them away. The mark outlives its page, also where nothing is mapped any more: the TLB of another processor may still have pieces.
//!
//! # Tables stay
//! An invalidation clears leaf entries and leaves the tables in place, as those of the paper, whose area is acquired once (section 3.2): it
//! has to look at every entry whether one is valid or not. [`ShadowShape::release`] alone gives tables back.
//!
//! That is what the simulated hypervisor does. Here a table remembers where leaves were placed since all were cleared, and clears those.
//!
//! Leaf tables of sections may be linked in: `links.rs`. Entries may lead to tables of the guest, for agile paging: `switches.rs`.

use super::{Displaced, GuestTable, Removed, ShadowFormat, ShadowShape};
use crate::table::entry::Leaf;
use crate::table::entry::{Entry, LeafBits};
use crate::table::page_table::read;
use memory::{FrameAllocator, FrameRange, HostMemory, OutOfFrames};
use mmu::SecondStage;
use types::{Gpa, Gva, Hpa, PageSize, PagingMode, TranslationContext};

mod clear;
mod cursor;
mod links;
mod switches;
mod tree;
use clear::{clear_below, clear_entries, entries, tables_below};
use cursor::Grown;
use tree::{CLUSTER, CLUSTERS, ENTRIES, PIECES, Position, RadixShadow};

/// All physical addresses: what a shadow table maps is the host's memory wherever it is.
const ANYWHERE: core::ops::Range<Gpa> = Gpa(0)..Gpa(1 << 56);

/// Trees of tables, as the guest's own are.
#[derive(Clone, Copy, Debug)]
pub struct Radix;

impl ShadowFormat for Radix {
    fn table(
        &self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        mode: PagingMode,
    ) -> Result<Box<dyn ShadowShape>, OutOfFrames> {
        Ok(Box::new(RadixShadow::new(memory, frames, mode)?))
    }
}

impl RadixShadow {
    /// Takes away what holds an address, of what is in tables of its own.
    fn invalidate_own(&mut self, memory: &HostMemory, address: u64, holds: &dyn Fn(&Leaf) -> bool) -> Removed {
        let marked = |at: &Position| matches!(at.entry.software(), PIECES | CLUSTERS);
        let found = self.descend(memory, address, marked);
        let level = found.slot.level;
        if let Some(leaf) = found.leaf() {
            let goes = holds(&leaf);
            if goes {
                found.vacate(memory);
            }
            return Removed { touched: 1, cleared: u64::from(goes), pieces: level > 0 };
        }
        if !found.is_table() {
            return Removed { touched: 1, cleared: 0, pieces: found.entry.software() == PIECES };
        }
        if found.entry.software() == PIECES {
            let links = self.unlink(memory, address, PageSize::of_level(level).bytes());
            let mut removed = clear_below(memory, &found);
            removed.add(Removed::of_links(links));
            return Removed { pieces: true, ..removed };
        }
        let first = found.entry.address().wrapping_add((address >> 12) % ENTRIES / CLUSTER * CLUSTER * 8);
        Removed { pieces: true, ..clear_entries(memory, first, CLUSTER) }
    }

    /// Takes away everything in the span of an entry, of what is in tables of its own.
    fn invalidate_own_span(&mut self, memory: &HostMemory, address: u64, span: u32) -> Removed {
        let found = self.descend(memory, address, |at| at.slot.level == span);
        if found.leaf().is_some() || found.is_switch() {
            found.vacate(memory);
            return Removed { touched: 1, cleared: 1, pieces: found.slot.level > 0 };
        }
        if found.is_table() {
            return Removed { pieces: true, ..clear_below(memory, &found) };
        }
        Removed { touched: 1, cleared: 0, pieces: false }
    }
}

impl ShadowShape for RadixShadow {
    fn mode(&self) -> PagingMode {
        self.mode
    }

    fn context(&self, guest: &TranslationContext) -> TranslationContext {
        TranslationContext { mode: self.mode, root: Gpa(self.root().0), ..*guest }
    }

    /// What the tree maps lies where it says.
    fn second_stage(&self) -> SecondStage {
        SecondStage::Constant { ram: ANYWHERE, offset: 0 }
    }

    fn levels(&self) -> u32 {
        self.shape.levels
    }

    fn frames(&self) -> u64 {
        self.tables
    }

    fn lookup(&self, memory: &HostMemory, gva: Gva) -> Option<Leaf> {
        self.descend(memory, self.translated(gva), |_| false).leaf()
    }

    fn leaves(&self, memory: &HostMemory) -> Vec<(Gva, Leaf)> {
        let mut leaves = Vec::new();
        self.visit(memory, |address, position| {
            leaves.extend(position.leaf().map(|leaf| (self.canonical(Gva(address)), leaf)));
        });
        leaves.sort_by_key(|(gva, _)| self.translated(*gva));
        leaves
    }

    fn place(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gva: Gva,
        leaf: Leaf,
        guest_page: PageSize,
    ) -> Result<Displaced, OutOfFrames> {
        let address = self.translated(gva);
        let target = self.shape.level_of(leaf.size).unwrap_or(0);
        let unlinked = self.unlink(memory, address, leaf.size.bytes().max(PageSize::Size2M.bytes())) > 0;
        let Grown { position, displaced } = self.grow(memory, frames, address, target, guest_page)?;
        let displaced = match position.leaf() {
            Some(old) => Displaced::Page(old),
            None if position.is_table() => Displaced::Smaller(self.take_out(memory, &position)),
            None if unlinked || position.is_switch() => Displaced::Larger,
            None => displaced,
        };
        position.write(memory, Entry::leaf(leaf.page, leaf.bits));
        self.remember(memory, position.slot);
        Ok(displaced)
    }

    fn set_bits(&mut self, memory: &HostMemory, gva: Gva, bits: LeafBits) {
        let address = self.translated(gva);
        // A page of a section's is not this tree's to change. Where it goes, it comes back by a fault.
        let _ = self.unlink(memory, address, PageSize::Size2M.bytes());
        let found = self.descend(memory, address, |_| false);
        if let Some(leaf) = found.leaf() {
            found.write(memory, Entry::leaf(leaf.page, bits));
        }
    }

    /// A section's table goes without being asked about.
    fn invalidate(&mut self, memory: &HostMemory, gva: Gva, holds: &dyn Fn(&Leaf) -> bool) -> Removed {
        let address = self.translated(gva);
        let links = self.unlink(memory, address, PageSize::Size2M.bytes());
        let mut removed = self.invalidate_own(memory, address, holds);
        removed.add(Removed::of_links(links));
        removed
    }

    fn invalidate_span(&mut self, memory: &HostMemory, gva: Gva, span: u32) -> Removed {
        let address = self.translated(gva);
        let links = self.unlink(memory, address, PageSize::of_level(span.max(1)).bytes());
        let mut removed = self.invalidate_own_span(memory, address, span);
        removed.add(Removed::of_links(links));
        removed
    }

    /// All entries of the last tables count as looked at, and larger pages.
    fn clear(&mut self, memory: &HostMemory) -> Removed {
        let touched = self.last_tables * ENTRIES;
        let mut removed = Removed { touched, cleared: 0, pieces: self.last_tables > 0 };
        removed.add(Removed::of_links(self.unlink_all(memory)));
        for slot in self.placed.drain(..) {
            let position = Position { slot, entry: read(memory, slot.at) };
            if position.leaf().is_some() || position.is_switch() {
                position.vacate(memory);
                let large = slot.level > 0;
                removed.add(Removed { touched: u64::from(large), cleared: 1, pieces: large });
            }
        }
        removed
    }

    /// The root stays.
    fn release(&mut self, memory: &HostMemory) -> Vec<FrameRange> {
        let _ = self.unlink_all(memory);
        let mut below = Vec::new();
        for position in entries(memory, self.root(), self.shape.levels - 1, ENTRIES).filter(Position::is_table) {
            let _ = tables_below(memory, &position, &mut below);
        }
        memory.note_failure(memory.zero(self.root(), self.shape.root_bytes()), "the root of a shadow table");
        (self.tables, self.last_tables) = (1, 0);
        self.placed.clear();
        below
    }

    fn dissolve(mut self: Box<Self>, memory: &HostMemory) -> Vec<FrameRange> {
        let mut frames = self.release(memory);
        frames.push(self.root);
        frames
    }

    fn link(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gva: Gva,
        table: Hpa,
        guest_page: PageSize,
    ) -> Result<Option<Displaced>, OutOfFrames> {
        self.link_table(memory, frames, gva, table, guest_page).map(Some)
    }

    fn switch(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gva: Gva,
        to: GuestTable,
    ) -> Result<Option<Displaced>, OutOfFrames> {
        self.switch_to(memory, frames, gva, to).map(Some)
    }

    fn switch_at(&self, memory: &HostMemory, gva: Gva) -> Option<GuestTable> {
        self.descend(memory, self.translated(gva), |_| false).guest_table()
    }

    fn switches(&self, memory: &HostMemory) -> Vec<(Gva, GuestTable)> {
        self.switching_entries(memory)
    }

    fn take_unlinked(&mut self) -> bool {
        core::mem::take(&mut self.unlinked)
    }
}

#[cfg(test)]
mod tests;
