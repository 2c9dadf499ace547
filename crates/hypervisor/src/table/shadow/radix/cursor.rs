//! The way down a shadow tree: one descent, for lookups and for insertions.

use super::tree::{CLUSTERS, PIECES, Position, RadixShadow, Slot};
use crate::table::entry::Entry;
use crate::table::page_table::{read, slot};
use crate::table::shadow::Displaced;
use memory::{FrameAllocator, HostMemory, OutOfFrames};
use types::{Hpa, PageSize};

/// Where tables were added to make an entry.
pub(super) struct Grown {
    /// The entry, as it was.
    pub(super) position: Position,
    /// Whether a larger page made room for a table.
    pub(super) displaced: Displaced,
}

/// What a pointer of `level` says of what is below, which said `old`, once a page or a piece of a guest page of `guest_page` is there.
fn marks(old: u64, level: u32, guest_page: PageSize) -> u64 {
    if old == PIECES || guest_page >= PageSize::of_level(level) {
        PIECES
    } else if old == CLUSTERS || (level == 1 && guest_page == PageSize::Size64K) {
        CLUSTERS
    } else {
        0
    }
}

impl RadixShadow {
    fn position(&self, memory: &HostMemory, table: Hpa, level: u32, address: u64) -> Position {
        let at = slot(table, self.shape, address, level);
        Position { slot: Slot { at, level }, entry: read(memory, at) }
    }

    /// The first entry on the way to `address` that leads to no table of the tree, or at which `stays` says so.
    pub(super) fn descend(&self, memory: &HostMemory, address: u64, stays: impl Fn(&Position) -> bool) -> Position {
        let mut position = self.position(memory, self.root(), self.shape.levels - 1, address);
        while position.is_table() && !stays(&position) {
            position = self.position(memory, position.entry.address(), position.slot.level - 1, address);
        }
        position
    }

    /// The entry of `address` in a table of level `target`, with the tables above it, which say that pieces of a page of `guest_page` are below.
    pub(super) fn grow(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        address: u64,
        target: u32,
        guest_page: PageSize,
    ) -> Result<Grown, OutOfFrames> {
        let mut displaced = Displaced::Nothing;
        let mut position = self.position(memory, self.root(), self.shape.levels - 1, address);
        while position.slot.level > target {
            let Position { slot: Slot { level, .. }, entry } = position;
            let marks = marks(entry.software(), level, guest_page);
            let below = if position.is_table() {
                if marks != entry.software() {
                    position.write(memory, entry.with_software(marks));
                }
                entry.address()
            } else {
                let below = frames.allocate(memory, PageSize::Size4K)?.start();
                self.tables += 1;
                self.last_tables += u64::from(level == 1);
                position.write(memory, Entry::pointer(below).with_software(marks));
                if entry.is_leaf() || position.is_switch() {
                    displaced = Displaced::Larger;
                }
                below
            };
            position = self.position(memory, below, level - 1, address);
        }
        Ok(Grown { position, displaced })
    }
}
