//! What the guest has open.

use rustix::io::Errno;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

/// The most files and directories that a guest has open at once; each takes a descriptor of the process.
pub const MOST_OPEN: usize = 256;

/// The most entries of directories that are kept for a guest that reads them.
pub const MOST_LISTED: usize = 1 << 18;

/// An entry of a directory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Entry {
    /// Its name.
    pub(crate) name: Vec<u8>,
    /// Its kind as `d_type` has it (readdir(3)).
    pub(crate) kind: u32,
}

/// A file or a directory that is open.
#[derive(Debug)]
pub(crate) enum Handle {
    /// A regular file.
    File {
        /// Which.
        node: u64,
        /// It.
        file: OwnedFd,
    },
    /// A directory.
    Directory {
        /// Which.
        node: u64,
        /// Its entries in order, once the guest has begun to read them.
        listing: Vec<Entry>,
    },
}

/// Everything that is open.
#[derive(Debug)]
pub(crate) struct Handles {
    by_number: BTreeMap<u64, Handle>,
    next: u64,
}

impl Handles {
    /// Nothing.
    pub(crate) const fn new() -> Self {
        Self { by_number: BTreeMap::new(), next: 1 }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.by_number.len()
    }

    /// Entries that are kept.
    pub(crate) fn listed(&self) -> usize {
        let entries = self.by_number.values().map(|handle| match handle {
            Handle::File { .. } => 0,
            Handle::Directory { listing, .. } => listing.len(),
        });
        entries.sum()
    }

    /// Whether one more can be opened.
    ///
    /// # Errors
    /// `EMFILE`.
    pub(crate) fn check_room(&self) -> Result<(), Errno> {
        if self.count() < MOST_OPEN { Ok(()) } else { Err(Errno::MFILE) }
    }

    /// Keeps what was opened; its number.
    pub(crate) fn open(&mut self, handle: Handle) -> u64 {
        let number = self.next;
        self.next += 1;
        self.by_number.insert(number, handle);
        number
    }

    /// The open file of this number.
    ///
    /// # Errors
    /// `EBADF`.
    pub(crate) fn file(&self, number: u64) -> Result<&OwnedFd, Errno> {
        match self.by_number.get(&number) {
            Some(Handle::File { file, .. }) => Ok(file),
            Some(Handle::Directory { .. }) | None => Err(Errno::BADF),
        }
    }

    /// A descriptor of this file, if it is open.
    pub(crate) fn file_of(&self, wanted: u64) -> Option<&OwnedFd> {
        self.by_number.values().find_map(|handle| match handle {
            Handle::File { node, file } if *node == wanted => Some(file),
            Handle::File { .. } | Handle::Directory { .. } => None,
        })
    }

    /// The open directory of this number, and its entries.
    ///
    /// # Errors
    /// `EBADF`.
    pub(crate) fn directory(&mut self, number: u64) -> Result<(u64, &mut Vec<Entry>), Errno> {
        match self.by_number.get_mut(&number) {
            Some(Handle::Directory { node, listing }) => Ok((*node, listing)),
            Some(Handle::File { .. }) | None => Err(Errno::BADF),
        }
    }

    /// Closes what has this number.
    pub(crate) fn close(&mut self, number: u64) {
        self.by_number.remove(&number);
    }
}
