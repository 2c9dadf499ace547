//! The pages of a pageable section.

use super::backing::{BackingError, BackingFile};
use super::counts::{FaultKind, FileCounts};
use super::error::PageError;
use crate::{Host, HostMemory};
use std::collections::BTreeMap;
use types::{Hpa, PageSize};

/// A pageable section's file, and what of it is in memory.
#[derive(Debug)]
pub(super) struct Pageable {
    pub(super) file: BackingFile,
    /// Those that are in memory.
    pages: BTreeMap<u64, Page>,
    pub(super) counts: FileCounts,
}

/// A page in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Page {
    /// Not mapped, at this place of the list of such pages.
    Listed { frame: Hpa, modified: bool, place: u64 },
    /// Mapped by this many VMs.
    Valid { frame: Hpa, modified: bool, sharers: u32 },
}

/// What became of a page that one VM less maps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dropped {
    /// Others still map it.
    Shared,
    /// No VM maps it any more.
    Unshared {
        /// Whether it differs from the file.
        modified: bool,
    },
}

impl Pageable {
    pub(super) fn new(file: BackingFile) -> Self {
        Self { file, pages: BTreeMap::new(), counts: FileCounts::default() }
    }

    /// Where page number `page` is, if anybody maps it.
    pub(super) fn valid(&self, page: u64) -> Option<Hpa> {
        match self.pages.get(&page) {
            Some(&Page::Valid { frame, .. }) => Some(frame),
            _ => None,
        }
    }

    /// One VM more maps page number `page`. Returns where it is, how it came there, and the place in the list that it leaves.
    pub(super) fn share(&mut self, host: &mut Host, page: u64) -> Result<(Hpa, FaultKind, Option<u64>), PageError> {
        let (frame, modified, sharers, kind, place) = match self.pages.get(&page) {
            Some(&Page::Valid { frame, modified, sharers }) => (frame, modified, sharers, FaultKind::GlobalValid, None),
            Some(&Page::Listed { frame, modified, place }) => (frame, modified, 0, FaultKind::Listed, Some(place)),
            None => {
                // The frame first: what is wrong with the host's memory can be mended, and is no reason to read twice.
                let frame = host.frames.allocate(&host.memory, PageSize::Size4K)?;
                let bytes = self.file.read(page).inspect_err(|_| {
                    // Allocated a moment ago, and mapped nowhere.
                    host.frames.give_back(frame, "a page of a section that could not be read");
                })?;
                host.memory.note_failure(host.memory.write_slice(frame.start(), &bytes), "a page of a section");
                self.counts.reads += 1;
                (frame.start(), false, 0, FaultKind::Disk, None)
            }
        };
        self.pages.insert(page, Page::Valid { frame, modified, sharers: sharers + 1 });
        Ok((frame, kind, place))
    }

    /// One VM less maps page number `page`, which it has `modified` or not. The last one puts it at `place` of the list.
    pub(super) fn unshare(&mut self, page: u64, modified: bool, place: u64) -> Dropped {
        let Some(entry) = self.pages.get_mut(&page) else { return Dropped::Shared };
        match *entry {
            Page::Valid { frame, modified: before, sharers } => {
                let modified = before || modified;
                if sharers > 1 {
                    *entry = Page::Valid { frame, modified, sharers: sharers - 1 };
                    return Dropped::Shared;
                }
                *entry = Page::Listed { frame, modified, place };
                Dropped::Unshared { modified }
            }
            Page::Listed { .. } => {
                debug_assert!(false, "page {page} was not mapped");
                Dropped::Shared
            }
        }
    }

    /// Takes page number `page`, which is listed, out of memory; if it is modified it is written first. Returns its frame, which has no owner then.
    pub(super) fn evict(&mut self, memory: &HostMemory, page: u64) -> Result<Option<Hpa>, BackingError> {
        let Some(&Page::Listed { frame, modified, .. }) = self.pages.get(&page) else { return Ok(None) };
        if modified {
            self.write(memory, page, frame)?;
        }
        self.pages.remove(&page);
        Ok(Some(frame))
    }

    /// Writes page number `page`, if it is listed and modified; it is then unmodified.
    pub(super) fn clean(&mut self, memory: &HostMemory, page: u64) -> Result<(), BackingError> {
        if let Some(&Page::Listed { frame, modified: true, place }) = self.pages.get(&page) {
            self.write(memory, page, frame)?;
            self.pages.insert(page, Page::Listed { frame, modified: false, place });
        }
        Ok(())
    }

    /// Numbers of all listed pages, with their frames and places.
    pub(super) fn listed(&self) -> impl Iterator<Item = (u64, Hpa, u64)> + '_ {
        self.pages.iter().filter_map(|(&number, page)| match *page {
            Page::Listed { frame, place, .. } => Some((number, frame, place)),
            Page::Valid { .. } => None,
        })
    }

    fn write(&mut self, memory: &HostMemory, page: u64, frame: Hpa) -> Result<(), BackingError> {
        let mut bytes = [0; PageSize::Size4K.bytes() as usize];
        memory.note_failure(memory.read_slice(frame, &mut bytes), "a page of a section");
        self.file.write(page, &bytes)?;
        self.counts.writes += 1;
        Ok(())
    }
}
