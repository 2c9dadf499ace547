//! A shadow table: from guest virtual to host physical addresses (the 2-0-translation table), in the mode of the guest.
//!
//! # Pieces
//! A fence for one address of a guest's large page is for all of it. Where the host has no page as large, a shadow table holds such a page
//! in pieces; a pointer above them says so in the bits that the hardware leaves to software, and whoever invalidates by address then takes
//! all of them away. The mark outlives its page, also where nothing is mapped any more: the TLB of another processor may still have pieces.
//!
//! # Tables stay
//! An invalidation clears leaf entries and leaves the tables in place, as those of the paper, whose area is acquired once (section 3.2): it
//! has to look at every entry whether one is valid or not. [`ShadowTable::release`] alone gives tables back.
//!
//! Leaf tables of sections may be linked in: `shadow/links.rs`.
//!
//! That is what the simulated monitor does. Here a table remembers where leaves were placed since all were cleared, and clears those.

use super::entry::{Entry, Leaf, LeafBits};
use super::page_table::{Shape, read, slot, write};
use memory::{FrameAllocator, FrameRange, HostMemory, OutOfFrames};
use std::collections::{BTreeMap, BTreeSet};
use types::{Gva, Hpa, PageSize, PagingMode};

mod links;

/// In the span of the entry lie, or lay, pieces of a guest page that is at least as large.
const PIECES: u64 = 1;
/// Below the pointer to a last-level table lie pieces of guest pages of 64K.
const CLUSTERS: u64 = 2;
/// Entries of a table.
const ENTRIES: u64 = 512;
/// Pieces of a 64K page.
const CLUSTER: u64 = 16;

/// An entry that leads to a section's table.
#[derive(Clone, Copy, Debug)]
struct Link {
    at: Hpa,
    /// Whether the guest has one page there, so that TLBs have pieces of it.
    pieces: bool,
}

/// One shadow table. It owns the frames of its tables, not those of the pages it maps.
#[derive(Debug)]
pub(crate) struct ShadowTable {
    root: FrameRange,
    mode: PagingMode,
    shape: Shape,
    /// Tables, the root among them.
    tables: u64,
    /// Those among them that are of the last level.
    last_tables: u64,
    /// Every entry that may be a leaf, and others.
    placed: Vec<Slot>,
    /// `placed` is cleared of those others when it gets as long as this.
    most_placed: usize,
    /// Tables of sections that entries of level 1 lead to, by the 2M that they map.
    links: BTreeMap<u64, Link>,
    /// Whether links were taken out since that was asked last: walk caches may lead to their tables still.
    unlinked: bool,
}

/// Where an entry lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Slot {
    at: Hpa,
    level: u32,
}

/// The least value of `most_placed`.
const FEW: usize = 1024;

/// What stood where a leaf was placed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Displaced {
    /// Nothing.
    Nothing,
    /// A page of the same size.
    Page(Leaf),
    /// A larger page, whose place a table takes now.
    Larger,
    /// Tables of smaller pages. Their frames are the caller's, to free when no walk cache leads there any more.
    Smaller(Vec<FrameRange>),
}

/// What an invalidation did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Removed {
    /// Leaf entries that it looked at.
    pub(crate) touched: u64,
    /// Valid ones among them, which it cleared.
    pub(crate) cleared: u64,
    /// Whether pages were among them that are not those of the address alone.
    pub(crate) pieces: bool,
}

impl Removed {
    /// What it is that so many links went: each was an entry for many pages.
    const fn of_links(links: u64) -> Self {
        Self { touched: links, cleared: links, pieces: links > 0 }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.touched += other.touched;
        self.cleared += other.cleared;
        self.pieces |= other.pieces;
    }
}

impl ShadowTable {
    /// A table that maps nothing, for a mode that translates.
    pub(crate) fn new(memory: &HostMemory, frames: &mut FrameAllocator, mode: PagingMode) -> Result<Self, OutOfFrames> {
        let shape = Shape::first_stage(mode);
        let root = frames.allocate_contiguous(memory, shape.root_bytes(), PageSize::Size4K)?;
        Ok(Self {
            root,
            mode,
            shape,
            tables: 1,
            last_tables: 0,
            placed: Vec::new(),
            most_placed: FEW,
            links: BTreeMap::new(),
            unlinked: false,
        })
    }

    pub(crate) const fn root(&self) -> Hpa {
        self.root.start()
    }

    pub(crate) const fn mode(&self) -> PagingMode {
        self.mode
    }

    /// Tables, the root among them.
    pub(crate) const fn tables(&self) -> u64 {
        self.tables
    }

    pub(crate) const fn levels(&self) -> u32 {
        self.shape.levels
    }

    /// The bits of an address that the mode translates: those above repeat the topmost.
    fn translated(&self, gva: Gva) -> u64 {
        gva.0 & (u64::MAX >> (64 - self.shape.address_bits()))
    }

    /// The address with these translated bits: those above repeat the topmost.
    pub(crate) const fn canonical(&self, gva: Gva) -> Gva {
        let unused = 64 - self.shape.address_bits();
        Gva(((gva.0 << unused).cast_signed() >> unused).cast_unsigned())
    }

    /// The page that holds `gva`.
    pub(crate) fn lookup(&self, memory: &HostMemory, gva: Gva) -> Option<Leaf> {
        let address = self.translated(gva);
        let (mut table, mut level) = (self.root(), self.shape.levels - 1);
        loop {
            let entry = read(memory, slot(table, self.shape, address, level));
            if entry.is_leaf() {
                return Some(leaf(entry, level));
            }
            if level == 0 || !entry.is_valid() {
                return None;
            }
            (table, level) = (entry.address(), level - 1);
        }
    }

    /// Gives the page that holds `gva` other bits.
    pub(crate) fn set_bits(&mut self, memory: &HostMemory, gva: Gva, bits: LeafBits) {
        let address = self.translated(gva);
        // A page of a section's is not this tree's to change. Where it goes, it comes back by a fault.
        let _ = self.unlink(memory, address, PageSize::Size2M.bytes());
        let (mut table, mut level) = (self.root(), self.shape.levels - 1);
        loop {
            let at = slot(table, self.shape, address, level);
            let entry = read(memory, at);
            if entry.is_leaf() {
                return write(memory, at, Entry::leaf(entry.address(), bits));
            }
            if level == 0 || !entry.is_valid() {
                return;
            }
            (table, level) = (entry.address(), level - 1);
        }
    }

    /// Maps `leaf`, of 4K, 2M or 1G, around `gva`, a page or a piece of a guest page of `guest_page`.
    pub(crate) fn place(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gva: Gva,
        leaf_: Leaf,
        guest_page: PageSize,
    ) -> Result<Displaced, OutOfFrames> {
        let (shape, address) = (self.shape, self.translated(gva));
        let target = shape.level_of(leaf_.size).unwrap_or(0);
        let unlinked = self.unlink(memory, address, leaf_.size.bytes().max(PageSize::Size2M.bytes())) > 0;
        let (mut table, mut level) = (self.root(), shape.levels - 1);
        let mut displaced = if unlinked { Displaced::Larger } else { Displaced::Nothing };
        while level > target {
            let at = slot(table, shape, address, level);
            let entry = read(memory, at);
            let mut marks = entry.software() | if guest_page >= PageSize::of_level(level) { PIECES } else { 0 };
            if level == 1 && guest_page == PageSize::Size64K {
                marks |= CLUSTERS;
            }
            if entry.is_valid() && !entry.is_leaf() {
                if marks != entry.software() {
                    write(memory, at, entry.with_software(marks));
                }
                table = entry.address();
            } else {
                let below = frames.allocate(memory, PageSize::Size4K)?.start();
                self.tables += 1;
                self.last_tables += u64::from(level == 1);
                write(memory, at, Entry::pointer(below).with_software(marks));
                if entry.is_leaf() {
                    displaced = Displaced::Larger;
                }
                table = below;
            }
            level -= 1;
        }
        let at = slot(table, shape, address, level);
        let old = read(memory, at);
        if old.is_leaf() {
            displaced = Displaced::Page(leaf(old, level));
        } else if old.is_valid() {
            let mut below = Vec::new();
            self.last_tables -= tables_below(memory, old.address(), level, &mut below);
            self.tables -= below.len() as u64;
            self.forget_placed(&below);
            displaced = Displaced::Smaller(below);
        }
        write(memory, at, Entry::leaf(leaf_.page, leaf_.bits));
        self.remember(memory, Slot { at, level });
        Ok(displaced)
    }

    /// Forgets what was placed in tables that are no more.
    fn forget_placed(&mut self, tables: &[FrameRange]) {
        let gone: BTreeSet<Hpa> = tables.iter().map(|frames| frames.start()).collect();
        self.placed.retain(|slot| !gone.contains(&slot.at.page(PageSize::Size4K)));
    }

    /// Notes that a leaf was placed.
    fn remember(&mut self, memory: &HostMemory, slot: Slot) {
        if self.placed.len() >= self.most_placed {
            self.placed.sort_unstable();
            self.placed.dedup();
            self.placed.retain(|slot| read(memory, slot.at).is_leaf());
            self.most_placed = FEW.max(2 * self.placed.len());
        }
        self.placed.push(slot);
    }

    /// Takes away what holds `gva`, if `holds` says so of it: its page, or all pieces of a guest page, or a section's table, which are not asked about.
    pub(crate) fn invalidate(&mut self, memory: &HostMemory, gva: Gva, holds: impl FnOnce(&Leaf) -> bool) -> Removed {
        let links = self.unlink(memory, self.translated(gva), PageSize::Size2M.bytes());
        let mut removed = self.invalidate_own(memory, gva, holds);
        removed.add(Removed::of_links(links));
        removed
    }

    /// The same of what is in tables of its own.
    fn invalidate_own(&mut self, memory: &HostMemory, gva: Gva, holds: impl FnOnce(&Leaf) -> bool) -> Removed {
        let address = self.translated(gva);
        let (mut table, mut level) = (self.root(), self.shape.levels - 1);
        loop {
            let at = slot(table, self.shape, address, level);
            let entry = read(memory, at);
            if entry.is_leaf() {
                let goes = holds(&leaf(entry, level));
                if goes {
                    write(memory, at, vacated(level));
                }
                return Removed { touched: 1, cleared: u64::from(goes), pieces: level > 0 };
            }
            let pieces = entry.software() & PIECES != 0;
            if level == 0 || !entry.is_valid() {
                return Removed { touched: 1, cleared: 0, pieces };
            }
            if pieces {
                let links = self.unlink(memory, address, PageSize::of_level(level).bytes());
                let mut removed = clear_below(memory, entry.address(), level - 1);
                removed.add(Removed::of_links(links));
                return Removed { pieces: true, ..removed };
            }
            if level == 1 && entry.software() & CLUSTERS != 0 {
                let first = entry.address().wrapping_add((address >> 12) % ENTRIES / CLUSTER * CLUSTER * 8);
                return Removed { pieces: true, ..clear_entries(memory, first, CLUSTER) };
            }
            (table, level) = (entry.address(), level - 1);
        }
    }

    /// Takes away everything in the span of one entry of `level` around `gva`; a larger page that holds the span goes as a whole.
    pub(crate) fn invalidate_span(&mut self, memory: &HostMemory, gva: Gva, span: u32) -> Removed {
        let bytes = PageSize::of_level(span.max(1)).bytes();
        let links = self.unlink(memory, self.translated(gva), bytes);
        let mut removed = self.invalidate_own_span(memory, gva, span);
        removed.add(Removed::of_links(links));
        removed
    }

    /// The same of what is in tables of its own.
    fn invalidate_own_span(&mut self, memory: &HostMemory, gva: Gva, span: u32) -> Removed {
        let address = self.translated(gva);
        let (mut table, mut level) = (self.root(), self.shape.levels - 1);
        loop {
            let at = slot(table, self.shape, address, level);
            let entry = read(memory, at);
            if !entry.is_valid() {
                return Removed { touched: 1, cleared: 0, pieces: false };
            }
            if entry.is_leaf() {
                write(memory, at, vacated(level));
                return Removed { touched: 1, cleared: 1, pieces: level > 0 };
            }
            if level == span {
                return Removed { pieces: true, ..clear_below(memory, entry.address(), level - 1) };
            }
            (table, level) = (entry.address(), level - 1);
        }
    }

    /// Takes everything away. All entries of the last tables count as looked at, and larger pages.
    pub(crate) fn clear(&mut self, memory: &HostMemory) -> Removed {
        let touched = self.last_tables * ENTRIES;
        let mut removed = Removed { touched, cleared: 0, pieces: self.last_tables > 0 };
        removed.add(Removed::of_links(self.unlink_all(memory)));
        for Slot { at, level } in self.placed.drain(..) {
            if read(memory, at).is_leaf() {
                write(memory, at, vacated(level));
                let large = level > 0;
                removed.add(Removed { touched: u64::from(large), cleared: 1, pieces: large });
            }
        }
        removed
    }

    /// Gives up every table but the root, with all that they map. The frames are the caller's, to free when no walk cache leads there.
    pub(crate) fn release(&mut self, memory: &HostMemory) -> Vec<FrameRange> {
        let _ = self.unlink_all(memory);
        let mut below = Vec::new();
        for_each_entry(memory, self.root(), |entry| {
            if entry.is_valid() && !entry.is_leaf() {
                let _ = tables_below(memory, entry.address(), self.shape.levels - 1, &mut below);
            }
        });
        memory.note_failure(memory.zero(self.root(), self.shape.root_bytes()), "the root of a shadow table");
        (self.tables, self.last_tables) = (1, 0);
        self.placed.clear();
        below
    }

    /// Gives up all frames, the root's among them.
    pub(crate) fn dissolve(mut self, memory: &HostMemory) -> Vec<FrameRange> {
        let mut frames = self.release(memory);
        frames.push(self.root);
        frames
    }

    /// Every page that is mapped, by ascending translated address.
    pub(crate) fn leaves(&self, memory: &HostMemory) -> Vec<(Gva, Leaf)> {
        let mut leaves = Vec::new();
        let mut open = vec![(self.root(), self.shape.levels - 1, 0_u64)];
        while let Some((table, level, base)) = open.pop() {
            for index in 0..ENTRIES {
                let entry = read(memory, table.wrapping_add(index * 8));
                let address = base | index << PageSize::of_level(level).shift();
                if entry.is_leaf() {
                    leaves.push((self.canonical(Gva(address)), leaf(entry, level)));
                } else if entry.is_valid() && level > 0 {
                    open.push((entry.address(), level - 1, address));
                }
            }
        }
        leaves.sort_by_key(|(gva, _)| self.translated(*gva));
        leaves
    }
}

/// What is left where a leaf of `level` was: TLBs may have had a large page in pieces.
const fn vacated(level: u32) -> Entry {
    if level == 0 { Entry::EMPTY } else { Entry::EMPTY.with_software(PIECES) }
}

const fn leaf(entry: Entry, level: u32) -> Leaf {
    Leaf { page: entry.address(), size: PageSize::of_level(level), bits: entry.bits() }
}

fn for_each_entry(memory: &HostMemory, table: Hpa, mut visit: impl FnMut(Entry)) {
    for index in 0..ENTRIES {
        visit(read(memory, table.wrapping_add(index * 8)));
    }
}

/// Finds `table`, which a pointer of `level` leads to, and all below it. Returns how many are of the last level.
fn tables_below(memory: &HostMemory, table: Hpa, level: u32, found: &mut Vec<FrameRange>) -> u64 {
    let mut last = u64::from(level == 1);
    if level > 1 {
        for_each_entry(memory, table, |entry| {
            if entry.is_valid() && !entry.is_leaf() {
                last += tables_below(memory, entry.address(), level - 1, found);
            }
        });
    }
    found.extend(FrameRange::new(table, PageSize::Size4K.bytes()));
    last
}

/// Clears every leaf entry in the table of `level` at `table` and in those below. All entries of a last table count as looked at.
fn clear_below(memory: &HostMemory, table: Hpa, level: u32) -> Removed {
    if level == 0 {
        return clear_entries(memory, table, ENTRIES);
    }
    let mut removed = Removed::default();
    for index in 0..ENTRIES {
        let at = table.wrapping_add(index * 8);
        let entry = read(memory, at);
        if entry.is_leaf() {
            write(memory, at, vacated(level));
            removed.add(Removed { touched: 1, cleared: 1, pieces: true });
        } else if entry.is_valid() {
            removed.add(clear_below(memory, entry.address(), level - 1));
        }
    }
    removed
}

/// Clears `count` entries of a last table from `first` on.
fn clear_entries(memory: &HostMemory, first: Hpa, count: u64) -> Removed {
    let mut cleared = 0;
    for index in 0..count {
        let at = first.wrapping_add(index * 8);
        if read(memory, at).is_valid() {
            write(memory, at, Entry::EMPTY);
            cleared += 1;
        }
    }
    Removed { touched: count, cleared, pieces: count > 1 }
}

/// What a shadow leaf has of a guest's leaf and of the host's page, before anything is said about writes: readable, executable, user and
/// global as the guest has it, where the host permits; and A and D set, as nobody looks at them.
pub(crate) fn composed_bits(guest: u64, global: bool, host: LeafBits) -> LeafBits {
    let kinds = LeafBits::READ | LeafBits::EXECUTE;
    let bits = LeafBits::of_entry(guest).and(kinds).and(host) | LeafBits::of_entry(guest).and(LeafBits::USER);
    let bits = bits | LeafBits::ACCESSED | LeafBits::DIRTY;
    if global { bits | LeafBits::GLOBAL } else { bits }
}

#[cfg(test)]
mod tests;
