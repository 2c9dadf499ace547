//! The swap file: slots of one base page each, as many as are wanted.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use types::PageSize;

const SLOT: u64 = PageSize::Size4K.bytes();

/// The contents of a base page.
pub(super) type PageBytes = [u8; SLOT as usize];

/// The place of one page in the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Slot(u64);

/// Why a page cannot be written to the file, or read from it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SwapError {
    /// It has its greatest size.
    #[error("the swap file is full, with {0} bytes")]
    Full(u64),
    /// The operating system refuses: its disk is full, say.
    #[error("the swap file of {bytes} bytes cannot be written: {cause}")]
    Write {
        /// Its size, without the page in question.
        bytes: u64,
        /// What the system says.
        cause: String,
    },
    /// What was written cannot be read.
    #[error("the swap file cannot be read: {0}")]
    Read(String),
}

/// A file that pages out of memory are kept in. It grows as pages need, and the lowest free slot is taken first.
#[derive(Debug)]
pub struct Swap {
    file: File,
    /// Slots that the file may have.
    most: u64,
    /// Slots that it has, free ones among them.
    slots: u64,
    free: BTreeSet<Slot>,
    /// Whether the system once refused to let it grow.
    stuck: bool,
}

impl Swap {
    /// A file without a name in `directory`, or in the system's directory for temporary files; it goes when the machine goes. `most`
    /// is its greatest size in bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn create(directory: Option<&Path>, most: Option<u64>) -> io::Result<Self> {
        let file = directory.map_or_else(tempfile::tempfile, tempfile::tempfile_in)?;
        Ok(Self::in_file(file, most))
    }

    /// Swap space in `file`. `most` is its greatest size in bytes.
    #[must_use]
    pub fn in_file(file: File, most: Option<u64>) -> Self {
        let most = most.map_or(u64::MAX / SLOT, |bytes| bytes / SLOT);
        Self { file, most, slots: 0, free: BTreeSet::new(), stuck: false }
    }

    /// Writes a page to its slot, or to a free one; returns which.
    pub(super) fn write(&mut self, slot: Option<Slot>, page: &PageBytes) -> Result<Slot, SwapError> {
        let new = self.slots;
        let to = match slot.or_else(|| self.free.first().copied()) {
            Some(slot) => slot,
            None if new < self.most => Slot(new),
            None => return Err(SwapError::Full(new * SLOT)),
        };
        let written = self.file.write_all_at(page, to.0 * SLOT);
        self.stuck |= written.is_err();
        written.map_err(|error| SwapError::Write { bytes: new * SLOT, cause: error.to_string() })?;
        self.free.remove(&to);
        self.slots = self.slots.max(to.0 + 1);
        Ok(to)
    }

    /// The page in `slot`, which keeps it.
    pub(super) fn read(&self, slot: Slot) -> Result<PageBytes, SwapError> {
        let mut page: PageBytes = [0; SLOT as usize];
        let read = self.file.read_exact_at(&mut page, slot.0 * SLOT);
        read.map_err(|error| SwapError::Read(error.to_string()))?;
        Ok(page)
    }

    /// Whether another page finds no slot, as far as is known.
    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty() && (self.slots >= self.most || self.stuck)
    }

    /// The page in `slot` is wanted no more.
    pub(super) fn free(&mut self, slot: Slot) {
        self.free.insert(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_keep_pages_and_the_lowest_free_one_is_next() {
        let mut swap = Swap::create(None, Some(3 * SLOT + 7)).unwrap();
        let page = |byte| [byte; SLOT as usize];
        let slots: Vec<Slot> = (1..=3).map(|byte| swap.write(None, &page(byte)).unwrap()).collect();
        assert_eq!(slots, [Slot(0), Slot(1), Slot(2)]);
        assert_eq!((swap.write(None, &page(4)), swap.is_full()), (Err(SwapError::Full(3 * SLOT)), true));
        assert_eq!(swap.write(Some(slots[2]), &page(5)), Ok(slots[2]), "in place");
        swap.free(slots[1]);
        swap.free(slots[0]);
        assert_eq!(swap.write(None, &page(6)), Ok(Slot(0)));
        for (slot, byte) in [(0, 6), (2, 5)] {
            assert_eq!(swap.read(Slot(slot)), Ok(page(byte)));
        }
    }

    #[test]
    fn a_full_disk_is_named_and_takes_no_slot() {
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let mut swap = Swap::in_file(full, None);
        for _ in 0..2 {
            let error = swap.write(None, &[1; SLOT as usize]).unwrap_err();
            assert!(matches!(&error, SwapError::Write { bytes: 0, .. }), "{error}");
            assert!(error.to_string().contains("No space left"), "{error}");
            assert!(swap.is_full());
        }
    }
}
