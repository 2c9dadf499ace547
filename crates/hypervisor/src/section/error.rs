//! Why requests concerning sections are refused.

use core::ops::Range;
use memory::OutOfFrames;
use memory::registry::SectionName;
use memory::section::{BackingError, CreateError, DeleteError, PageError};
use types::{Gpa, Vmid};

/// Why a section cannot be created with its tables. Nothing was taken.
#[derive(Debug, thiserror::Error)]
pub enum SectionCreateError {
    /// The section itself.
    #[error(transparent)]
    Section(#[from] CreateError),
    /// Its shared tables.
    #[error("tables of section {name}: {frames}")]
    Tables {
        /// The section.
        name: SectionName,
        /// What there is of frames.
        frames: OutOfFrames,
    },
    /// A page that was to make room cannot be written to its file.
    #[error(transparent)]
    Backing(#[from] BackingError),
}

/// Why a section cannot be mapped. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum SectionMapError {
    /// The VM is unknown, or has no nested table.
    #[error("VM {} maps no sections", .0.0)]
    NoVm(Vmid),
    /// There is no such section.
    #[error("there is no section {0}")]
    NoSuchSection(SectionName),
    /// It is another group's.
    #[error("section {name} is not for VMs of {}", .group.map_or("no group".to_owned(), |group| format!("group {group}")))]
    OtherGroup {
        /// The section.
        name: SectionName,
        /// The VM's group.
        group: Option<u32>,
    },
    /// Not on a page's boundary.
    #[error("section {name} cannot be mapped at {at}: not a multiple of 4096")]
    Misaligned {
        /// The section.
        name: SectionName,
        /// Where it was to be.
        at: Gpa,
    },
    /// Not pages of the section, or none.
    #[error("pages {first} to {last} of section {name}, which has {pages}", last = .end.saturating_sub(1))]
    Pages {
        /// The section.
        name: SectionName,
        /// The first page.
        first: u64,
        /// The page after the last.
        end: u64,
        /// How many there are.
        pages: u64,
    },
    /// Something else is there.
    #[error("section {name} at {}..{} overlaps what is at {}..{}", .region.start, .region.end, .with.start, .with.end)]
    Overlaps {
        /// The section.
        name: SectionName,
        /// Where it was to be.
        region: Range<Gpa>,
        /// What is there.
        with: Range<Gpa>,
    },
    /// More than the VM's table translates.
    #[error("section {name} at {at} would end beyond {limit}, where the VM's table ends")]
    Beyond {
        /// The section.
        name: SectionName,
        /// Where it was to be.
        at: Gpa,
        /// Where the table ends.
        limit: Gpa,
    },
    /// To be written to, but its file is not.
    #[error("section {0} cannot be mapped for writing: its file was opened for reading")]
    ReadOnlyFile(SectionName),
    /// No frames for tables.
    #[error("tables for section {name}: {frames}")]
    Tables {
        /// The section.
        name: SectionName,
        /// What there is of frames.
        frames: OutOfFrames,
    },
    /// A page that was to make room cannot be written to its file.
    #[error(transparent)]
    Backing(#[from] BackingError),
}

/// Why a map cannot be taken away, or not completely.
#[derive(Debug, thiserror::Error)]
pub enum SectionUnmapError {
    /// The VM is unknown, or has no nested table.
    #[error("VM {} maps no sections", .0.0)]
    NoVm(Vmid),
    /// No map begins there.
    #[error("no section is mapped at {0}")]
    NotMapped(Gpa),
    /// The map is gone, but the section cannot be deleted: a modified page cannot be written.
    #[error(transparent)]
    Delete(#[from] DeleteError),
}

/// Why a section's page cannot be had. The guest cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SectionFaultError {
    /// The VM is unknown, or has no nested table.
    #[error("VM {} maps no sections", .0.0)]
    NoVm(Vmid),
    /// The page.
    #[error("section {name}, page {page}: {error}")]
    Page {
        /// The section.
        name: SectionName,
        /// The page.
        page: u64,
        /// Why.
        error: PageError,
    },
    /// A page that was to make room cannot be written to its file.
    #[error(transparent)]
    Backing(#[from] BackingError),
}
