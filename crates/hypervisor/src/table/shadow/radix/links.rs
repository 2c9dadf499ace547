//! Leaf tables of a shadow table that are not its own: a section's, which map 2M of it under one set of rights, for every VM and address space that maps
//! those alike.
//!
//! No bit of an entry says so: the two that the hardware ignores say what lies in pieces. The tree remembers where its links are, and every edit takes
//! out the links in its way before it descends. So nothing is ever written into a section's table from here, and none is freed.
//!
//! A walk cache may lead to a section's table after its link has gone. A fence for an address leaves walk caches as they are; so code that removes links
//! fences everything, on every processor.

use super::cursor::Grown;
use super::tree::{Link, PIECES, RadixShadow};
use crate::table::entry::Entry;
use crate::table::page_table::write;
use crate::table::shadow::{Displaced, Removed};
use memory::{FrameAllocator, HostMemory, OutOfFrames};
use types::{Gva, Hpa, PageSize};

/// What one entry of level 1 maps.
const SPAN: u64 = PageSize::Size2M.bytes();

/// What is left where a page of 2M was.
const VACATED: Entry = Entry::EMPTY.with_software(PIECES);

impl Removed {
    /// What it is that this many links went: each was an entry for many pages.
    pub(super) const fn of_links(links: u64) -> Self {
        Self { touched: links, cleared: links, pieces: links > 0 }
    }
}

impl RadixShadow {
    /// Implements [`ShadowShape::link`](crate::table::ShadowShape::link).
    pub(super) fn link_table(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gva: Gva,
        table: Hpa,
        guest_page: PageSize,
    ) -> Result<Displaced, OutOfFrames> {
        let address = self.translated(gva);
        let Grown { position, mut displaced } = self.grow(memory, frames, address, 1, guest_page)?;
        let old = position.entry;
        if let Some(link) = self.links.get(&(address / SPAN))
            && old.address() == table
        {
            debug_assert_eq!(link.at, position.slot.at);
            return Ok(displaced);
        }
        if self.unlink(memory, address, SPAN) > 0 || old.is_leaf() {
            displaced = Displaced::Larger;
        } else if position.is_table() {
            displaced = Displaced::Smaller(self.take_out(memory, &position));
        }
        let pieces = guest_page >= PageSize::Size2M || old.software() == PIECES;
        position.write(memory, Entry::pointer(table));
        self.links.insert(address / SPAN, Link { at: position.slot.at, pieces });
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
                write(memory, at, if pieces { VACATED } else { Entry::EMPTY });
            }
        }
        gone.len() as u64
    }

    /// Takes out every link; how many there were.
    pub(super) fn unlink_all(&mut self, memory: &HostMemory) -> u64 {
        let links = core::mem::take(&mut self.links);
        self.unlinked |= !links.is_empty();
        for Link { at, pieces } in links.values() {
            write(memory, *at, if *pieces { VACATED } else { Entry::EMPTY });
        }
        links.len() as u64
    }
}
