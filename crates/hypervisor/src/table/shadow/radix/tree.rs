//! A shadow tree: its tables, and what is remembered of them.

use crate::table::entry::{Entry, Leaf};
use crate::table::page_table::{Shape, read, write};
use crate::table::shadow::GuestTable;
use memory::{FrameAllocator, FrameRange, HostMemory, OutOfFrames};
use std::collections::BTreeMap;
use types::{Gva, Hpa, PageSize, PagingMode};

/// In the span of the entry lie, or lay, pieces of a guest page that is at least as large.
pub(super) const PIECES: u64 = 1;
/// The entry leads to a table of the guest: [`mmu::SWITCHING`], where hardware knows such entries.
pub(super) const SWITCHES: u64 = 2;
/// Below the pointer to a last-level table lie pieces of guest pages of 64K, and no larger ones.
pub(super) const CLUSTERS: u64 = 3;
/// Entries of a table.
pub(super) const ENTRIES: u64 = 512;
/// Pieces of a 64K page.
pub(super) const CLUSTER: u64 = 16;

/// An entry that leads to a section's table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) at: Hpa,
    /// Whether the guest has one page there, so that TLBs have pieces of it.
    pub(super) pieces: bool,
}

/// Where an entry lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Slot {
    pub(super) at: Hpa,
    pub(super) level: u32,
}

/// An entry on the way down.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub(super) slot: Slot,
    pub(super) entry: Entry,
}

impl Position {
    /// Whether a table of the tree is below.
    pub(super) const fn is_table(&self) -> bool {
        self.slot.level > 0 && self.entry.is_valid() && !self.entry.is_leaf() && self.entry.software() != SWITCHES
    }

    /// Whether it leads to a table of the guest.
    pub(super) const fn is_switch(&self) -> bool {
        self.slot.level > 0 && self.entry.is_valid() && !self.entry.is_leaf() && self.entry.software() == SWITCHES
    }

    /// The page that the entry maps.
    pub(super) const fn leaf(&self) -> Option<Leaf> {
        let Self { slot: Slot { level, .. }, entry } = self;
        if !entry.is_leaf() {
            return None;
        }
        Some(Leaf { page: entry.address(), size: PageSize::of_level(*level), bits: entry.bits() })
    }

    /// The table of the guest that it leads to.
    pub(super) fn guest_table(&self) -> Option<GuestTable> {
        self.is_switch().then(|| GuestTable { table: self.entry.address(), level: self.slot.level - 1 })
    }

    /// Writes another entry there.
    pub(super) fn write(&self, memory: &HostMemory, entry: Entry) {
        write(memory, self.slot.at, entry);
    }

    /// Takes the leaf there away. TLBs may have had a large page in pieces, which the entry still says then.
    pub(super) fn vacate(&self, memory: &HostMemory) {
        self.write(memory, if self.slot.level == 0 { Entry::EMPTY } else { Entry::EMPTY.with_software(PIECES) });
    }
}

/// One tree.
#[derive(Debug)]
pub(super) struct RadixShadow {
    pub(super) root: FrameRange,
    pub(super) mode: PagingMode,
    pub(super) shape: Shape,
    /// Tables, the root among them.
    pub(super) tables: u64,
    /// Those among them that are of the last level.
    pub(super) last_tables: u64,
    /// Every entry that may be a leaf, and others.
    pub(super) placed: Vec<Slot>,
    /// `placed` is cleared of those others when it gets as long as this.
    pub(super) most_placed: usize,
    /// Tables of sections that entries of level 1 lead to, by the 2M that they map.
    pub(super) links: BTreeMap<u64, Link>,
    /// Whether links were taken out since that was asked last: walk caches may lead to their tables still.
    pub(super) unlinked: bool,
}

/// The least value of `most_placed`.
const FEW: usize = 1024;

impl RadixShadow {
    pub(super) fn new(memory: &HostMemory, frames: &mut FrameAllocator, mode: PagingMode) -> Result<Self, OutOfFrames> {
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

    pub(super) const fn root(&self) -> Hpa {
        self.root.start()
    }

    /// The bits of an address that the mode translates: those above repeat the topmost.
    pub(super) fn translated(&self, gva: Gva) -> u64 {
        gva.0 & (u64::MAX >> (64 - self.shape.address_bits()))
    }

    /// Notes that a leaf was placed.
    pub(super) fn remember(&mut self, memory: &HostMemory, slot: Slot) {
        if self.placed.len() >= self.most_placed {
            self.placed.sort_unstable();
            self.placed.dedup();
            self.placed.retain(|&slot| {
                let position = Position { slot, entry: read(memory, slot.at) };
                position.leaf().is_some() || position.is_switch()
            });
            self.most_placed = FEW.max(2 * self.placed.len());
        }
        self.placed.push(slot);
    }
}
