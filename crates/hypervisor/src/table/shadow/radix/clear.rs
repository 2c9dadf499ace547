//! What lies below an entry of a shadow tree: cleared, or taken out.

use super::tree::{ENTRIES, Position, RadixShadow, Slot};
use crate::table::entry::Entry;
use crate::table::page_table::read;
use crate::table::shadow::Removed;
use memory::{FrameRange, HostMemory};
use std::collections::BTreeSet;
use types::{Hpa, PageSize};

/// The entries of a table of some level.
pub(super) fn entries(memory: &HostMemory, table: Hpa, level: u32, count: u64) -> impl Iterator<Item = Position> {
    (0..count).map(move |index| {
        let at = table.wrapping_add(index * 8);
        Position { slot: Slot { at, level }, entry: read(memory, at) }
    })
}

impl RadixShadow {
    /// Takes out all tables below an entry that leads to one.
    pub(super) fn take_out(&mut self, memory: &HostMemory, above: &Position) -> Vec<FrameRange> {
        let mut below = Vec::new();
        self.last_tables -= tables_below(memory, above, &mut below);
        self.tables -= below.len() as u64;
        let gone: BTreeSet<Hpa> = below.iter().map(|frames| frames.start()).collect();
        self.placed.retain(|slot| !gone.contains(&slot.at.page(PageSize::Size4K)));
        below
    }
}

/// Finds the table that an entry leads to, and all below it. Returns how many are of the last level.
pub(super) fn tables_below(memory: &HostMemory, above: &Position, found: &mut Vec<FrameRange>) -> u64 {
    let Position { slot: Slot { level, .. }, entry } = *above;
    let mut last = u64::from(level == 1);
    if level > 1 {
        for position in entries(memory, entry.address(), level - 1, ENTRIES).filter(Position::is_table) {
            last += tables_below(memory, &position, found);
        }
    }
    found.extend(FrameRange::new(entry.address(), PageSize::Size4K.bytes()));
    last
}

/// Clears every leaf entry below an entry that leads to a table. All entries of a last table count as looked at.
pub(super) fn clear_below(memory: &HostMemory, above: &Position) -> Removed {
    let Position { slot: Slot { level, .. }, entry } = *above;
    if level == 1 {
        return clear_entries(memory, entry.address(), ENTRIES);
    }
    let mut removed = Removed::default();
    for position in entries(memory, entry.address(), level - 1, ENTRIES) {
        if position.leaf().is_some() || position.is_switch() {
            position.vacate(memory);
            removed.add(Removed { touched: 1, cleared: 1, pieces: true });
        } else if position.is_table() {
            removed.add(clear_below(memory, &position));
        }
    }
    removed
}

/// Clears `count` entries of a last table from `first` on.
pub(super) fn clear_entries(memory: &HostMemory, first: Hpa, count: u64) -> Removed {
    let mut cleared = 0;
    for position in entries(memory, first, 0, count).filter(|position| position.entry.is_valid()) {
        position.write(memory, Entry::EMPTY);
        cleared += 1;
    }
    Removed { touched: count, cleared, pieces: count > 1 }
}
