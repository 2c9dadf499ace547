//! A VM whose memory begins with the contents of an image: fixed memory has them at once, a page of V=V memory when it gets its frame.

use super::Vm;
use crate::table::Leaf;
use memory::{HostMemory, MemoryImage, Placed};
use std::io;
use std::sync::Arc;
use types::Gpa;

/// An image, and what of it is in memory already.
#[derive(Debug)]
pub(super) struct Beginning {
    image: Arc<MemoryImage>,
    placed: Placed,
}

impl Vm {
    /// Gives memory, none of which was touched yet, the contents of `image`. A V=V machine is filled by a [`FrameSupply`](crate::FrameSupply) alone
    /// from now on.
    ///
    /// # Errors
    /// As the host's system says: the image cannot be read.
    pub fn begin_with(&mut self, memory: &HostMemory, image: Arc<MemoryImage>) -> io::Result<()> {
        let Some(start) = self.store.hpa(self.ram.start) else {
            self.page_by_supply();
            self.beginning = Some(Box::new(Beginning { image, placed: Placed::default() }));
            return Ok(());
        };
        image.place(memory, 0, start, image.bytes(), &mut Placed::default())?;
        for (gpa, frame) in self.replaced() {
            image.copy_page(memory, gpa.0 - self.ram.start.0, frame)?;
        }
        Ok(())
    }

    /// Whether pages that get a frame for the first time may have contents.
    pub(crate) const fn has_beginning(&self) -> bool {
        self.beginning.is_some()
    }

    /// The page that holds `gpa` has just got its frame: gives it what memory begins with there, unless it had that before.
    ///
    /// # Errors
    /// As of [`begin_with`](Self::begin_with).
    pub(crate) fn place_beginning(&mut self, memory: &HostMemory, gpa: Gpa, leaf: &Leaf) -> io::Result<()> {
        let Some(beginning) = &mut self.beginning else { return Ok(()) };
        let Beginning { image, placed } = &mut **beginning;
        image.place(memory, gpa.page(leaf.size).0 - self.ram.start.0, leaf.page, leaf.size.bytes(), placed)
    }
}
