//! One section.

use super::counts::{FaultCounts, FileCounts};
use super::pageable::Pageable;
use super::resident::Resident;
use crate::FrameRange;
use crate::registry::{Grant, SectionName};
use types::Hpa;

/// How long a section lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Lifetime {
    /// Until its last mapper is gone, or it is deleted without ever having had one.
    #[default]
    Temporary,
    /// Until it is deleted.
    Permanent,
}

/// A section.
#[derive(Debug)]
pub struct Section {
    pub(super) name: SectionName,
    pub(super) pages: u64,
    pub(super) lifetime: Lifetime,
    pub(super) mappers: u32,
    /// Faults that its pages were made valid by.
    pub faults: FaultCounts,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    Resident(Resident),
    Pageable(Pageable),
}

/// What a section is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SectionKind {
    /// Memory-resident, with these preallocated pages.
    Alloc(FrameRange),
    /// Memory-resident, with pages on demand.
    Fluid,
    /// A file's.
    Pageable {
        /// Whether writes reach the file.
        writable: bool,
    },
}

impl Section {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &SectionName {
        &self.name
    }

    /// Its length in pages.
    #[must_use]
    pub const fn pages(&self) -> u64 {
        self.pages
    }

    /// How often it is mapped.
    #[must_use]
    pub const fn mappers(&self) -> u32 {
        self.mappers
    }

    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> SectionKind {
        match &self.body {
            Body::Resident(resident) => match resident.contiguous() {
                Some(frames) => SectionKind::Alloc(frames),
                None => SectionKind::Fluid,
            },
            Body::Pageable(pageable) => SectionKind::Pageable { writable: pageable.file.is_writable() },
        }
    }

    /// Of a memory-resident section: what the registry gave it.
    #[must_use]
    pub const fn grant(&self) -> Option<&Grant> {
        match &self.body {
            Body::Resident(resident) => Some(&resident.grant),
            Body::Pageable(_) => None,
        }
    }

    /// Pages read from its file and written to it.
    #[must_use]
    pub const fn file_counts(&self) -> FileCounts {
        match &self.body {
            Body::Resident(_) => FileCounts { reads: 0, writes: 0 },
            Body::Pageable(pageable) => pageable.counts,
        }
    }

    /// Where page number `page` is, if it is valid.
    #[must_use]
    pub fn valid(&self, page: u64) -> Option<Hpa> {
        match &self.body {
            _ if page >= self.pages => None,
            Body::Resident(resident) => resident.valid(page),
            Body::Pageable(pageable) => pageable.valid(page),
        }
    }
}
