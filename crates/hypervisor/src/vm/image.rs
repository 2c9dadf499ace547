//! A VM whose memory begins with the contents of an image: fixed memory has them at once, a page of V=V memory when it gets its frame, or, of
//! many that get frames that follow one another, all together, so that whole chunks are mapped from the file and nothing is copied.

use super::beginning::Beginning;
use super::vm_memory::VmMemory;
use crate::table::Leaf;
use memory::{HostMemory, ImageRun, MemoryImage, PageSet};
use std::io;
use std::sync::Arc;
use types::Gpa;

impl VmMemory {
    /// Gives memory, none of which was touched yet, the contents of `image`. A V=V machine is filled by a [`FrameReclaim`](crate::FrameReclaim) alone
    /// from now on.
    ///
    /// # Errors
    /// As the host's system says: the image cannot be read.
    pub fn begin_with(&mut self, memory: &HostMemory, image: Arc<MemoryImage>) -> io::Result<()> {
        let Some(start) = self.store.hpa(self.ram.start) else {
            self.page_by_supply();
            self.beginning = Some(Box::new(Beginning { image, placed: PageSet::default(), waiting: None }));
            return Ok(());
        };
        let all = ImageRun { offset: 0, frame: start, bytes: image.bytes() };
        image.place(memory, all, &mut PageSet::default())?;
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
        let Beginning { image, placed, waiting } = &mut **beginning;
        let run =
            ImageRun { offset: gpa.page(leaf.size).0 - self.ram.start.0, frame: leaf.page, bytes: leaf.size.bytes() };
        let Some(waiting) = waiting else { return image.place(memory, run, placed) };
        match waiting.last_mut() {
            Some(last)
                if (last.offset + last.bytes, last.frame.wrapping_add(last.bytes)) == (run.offset, run.frame) =>
            {
                last.bytes += run.bytes;
            }
            _ => waiting.push(run),
        }
        Ok(())
    }

    /// What pages begin with waits for [`place_waiting`](Self::place_waiting). The guest does not run until then.
    pub(crate) fn put_off_beginning(&mut self) {
        if let Some(beginning) = &mut self.beginning {
            beginning.waiting = Some(Vec::new());
        }
    }

    /// Gives pages what they begin with that was put off.
    ///
    /// # Errors
    /// As of [`begin_with`](Self::begin_with).
    pub(crate) fn place_waiting(&mut self, memory: &HostMemory) -> io::Result<()> {
        let Some(Beginning { image, placed, waiting }) = self.beginning.as_deref_mut() else { return Ok(()) };
        let runs = waiting.take().unwrap_or_default();
        image.place_all(memory, &runs, placed)
    }
}
