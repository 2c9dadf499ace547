//! What the memory of a VM begins with, as far as it is not there yet.

use memory::{ImageRun, MemoryImage, PageSet};
use std::sync::Arc;

/// An image, and what of it is in memory already.
#[derive(Debug)]
pub(super) struct Beginning {
    pub(super) image: Arc<MemoryImage>,
    pub(super) placed: PageSet,
    /// Frames that wait for their contents, while they are put off.
    pub(super) waiting: Option<Vec<ImageRun>>,
}
