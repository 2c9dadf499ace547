//! Why sections are refused.

use super::backing::BackingError;
use crate::OutOfFrames;
use crate::registry::{AcquireError, SectionName};

/// Why a section cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// There is one of that name.
    #[error("section {0} exists already")]
    Exists(SectionName),
    /// Not a positive multiple of a page, or more than a host can have.
    #[error("section {name} of {bytes} bytes: the size must be a positive multiple of 4096 below 2^58")]
    Size {
        /// The section.
        name: SectionName,
        /// The size.
        bytes: u64,
    },
    /// More than its file.
    #[error("section {name} of {bytes} bytes is longer than its file, which has {file}")]
    BeyondFile {
        /// The section.
        name: SectionName,
        /// The size.
        bytes: u64,
        /// That of the file, in whole pages.
        file: u64,
    },
    /// Another section writes to the same file, or would see what this one writes too late.
    #[error("sections {name} and {other} have the same backing store")]
    FileInUse {
        /// The section.
        name: SectionName,
        /// The other one.
        other: SectionName,
    },
    /// There is no memory for it.
    #[error("section {0}")]
    Memory(#[from] AcquireError),
}

/// Why a section is not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// VMs map it.
    #[error("section {name} is mapped {mappers} times")]
    InUse {
        /// The section.
        name: SectionName,
        /// How often it is mapped.
        mappers: u32,
    },
    /// A modified page cannot be written. The section is still there.
    #[error("section {name}: {error}")]
    Write {
        /// The section.
        name: SectionName,
        /// Why.
        error: BackingError,
    },
    /// There is none.
    #[error(transparent)]
    Absent(#[from] NoSuchSection),
}

/// Why a page of a section cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// No frame is free: see `Sections::reclaim`.
    #[error(transparent)]
    OutOfFrames(#[from] OutOfFrames),
    /// Its file cannot be read.
    #[error(transparent)]
    Backing(#[from] BackingError),
    /// The section has no such page, or is no more.
    #[error("the section has no page {0}")]
    NoSuchPage(u64),
}

/// A section that is no more, or never was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no such section")]
pub struct NoSuchSection;
