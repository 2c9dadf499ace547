//! What the memory of a VM begins with, as far as it is not there yet.

use memory::{MemoryImage, PageSet};
use std::sync::Arc;
use types::Hpa;

/// An image, and what of it is in memory already.
#[derive(Debug)]
pub(super) struct Beginning {
    pub(super) image: Arc<MemoryImage>,
    pub(super) placed: PageSet,
    /// Frames that wait for their contents, while they are put off.
    pub(super) waiting: Option<Vec<Run>>,
}

/// Pages that follow one another, in frames that follow one another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Of the first page, from the start of RAM.
    pub(super) offset: u64,
    /// The first frame.
    pub(super) frame: Hpa,
    pub(super) bytes: u64,
}
