//! Leaf tables of a shadow table that are not its own: a section's, which map 2M of it under one set of rights, for every VM and address space that maps
//! those alike.
//!
//! No bit of an entry says so: the two that the hardware ignores say what lies in pieces. The tree remembers where its links are, and every edit takes
//! out the links in its way before it descends. So nothing is ever written into a section's table from here, and none is freed.
//!
//! A walk cache may lead to a section's table after its link has gone. A fence for an address leaves walk caches as they are; so whoever takes links out
//! fences everything, on every processor.

use super::{Displaced, Link, PIECES, ShadowTable, tables_below, vacated};
use crate::table::entry::Entry;
use crate::table::page_table::{read, slot, write};
use memory::{FrameAllocator, HostMemory, OutOfFrames};
use types::{Gva, Hpa, PageSize};

/// What one entry of level 1 maps.
const SPAN: u64 = PageSize::Size2M.bytes();

impl ShadowTable {
    /// Lets the 2M around `gva` be mapped by `table`, which stays its owner's; the guest has a page of `guest_page` there, or base pages all over.
    pub(crate) fn link(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gva: Gva,
        table: Hpa,
        guest_page: PageSize,
    ) -> Result<Displaced, OutOfFrames> {
        let (shape, address) = (self.shape, self.translated(gva));
        let (mut above, mut level) = (self.root(), shape.levels - 1);
        let mut displaced = Displaced::Nothing;
        while level > 1 {
            let at = slot(above, shape, address, level);
            let entry = read(memory, at);
            let marks = entry.software() | if guest_page >= PageSize::of_level(level) { PIECES } else { 0 };
            if entry.is_valid() && !entry.is_leaf() {
                write(memory, at, entry.with_software(marks));
                above = entry.address();
            } else {
                above = frames.allocate(memory, PageSize::Size4K)?.start();
                self.tables += 1;
                write(memory, at, Entry::pointer(above).with_software(marks));
                if entry.is_leaf() {
                    displaced = Displaced::Larger;
                }
            }
            level -= 1;
        }
        let at = slot(above, shape, address, 1);
        let old = read(memory, at);
        if let Some(link) = self.links.get(&(address / SPAN))
            && old.address() == table
        {
            debug_assert_eq!(link.at, at);
            return Ok(displaced);
        }
        if self.unlink(memory, address, SPAN) > 0 || old.is_leaf() {
            displaced = Displaced::Larger;
        } else if old.is_valid() {
            let mut below = Vec::new();
            self.last_tables -= tables_below(memory, old.address(), 1, &mut below);
            self.tables -= below.len() as u64;
            self.forget_placed(&below);
            displaced = Displaced::Smaller(below);
        }
        let pieces = guest_page >= PageSize::Size2M || old.software() & PIECES != 0;
        write(memory, at, Entry::pointer(table));
        self.links.insert(address / SPAN, Link { at, pieces });
        Ok(displaced)
    }

    /// Takes out every link in the `bytes` bytes around `address`, a power of two of at least 2M; how many there were.
    pub(super) fn unlink(&mut self, memory: &HostMemory, address: u64, bytes: u64) -> u64 {
        if self.links.is_empty() {
            return 0;
        }
        let first = address / bytes * (bytes / SPAN);
        let gone: Vec<u64> = self.links.range(first..first + bytes / SPAN).map(|(&span, _)| span).collect();
        self.unlinked |= !gone.is_empty();
        for span in &gone {
            if let Some(Link { at, pieces }) = self.links.remove(span) {
                write(memory, at, if pieces { vacated(1) } else { Entry::EMPTY });
            }
        }
        gone.len() as u64
    }

    /// Whether links were taken out since the last call.
    pub(crate) fn take_unlinked(&mut self) -> bool {
        core::mem::take(&mut self.unlinked)
    }

    /// Takes out every link; how many there were.
    pub(super) fn unlink_all(&mut self, memory: &HostMemory) -> u64 {
        let links = core::mem::take(&mut self.links);
        self.unlinked |= !links.is_empty();
        for Link { at, pieces } in links.values() {
            write(memory, *at, if *pieces { vacated(1) } else { Entry::EMPTY });
        }
        links.len() as u64
    }
}
