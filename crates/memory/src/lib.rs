//! The simulated host's physical memory: its bytes, and who owns its frames.
//!
//! * [`HostMemory`]: the bytes. Only pages that were touched cost host memory.
//! * [`FrameAllocator`]: hands out zeroed, aligned frames; the ownership protocol is written there.
//! * [`Host`]: both together, made for the same range.
//! * [`Inconsistency`]: an edit of a table or of the frames' accounts that failed.
//! * [`MemoryImage`]: what memory begins with, where that is in a file.
//! * [`registry`]: memory set aside by name, and [`section`]: the memory that several VMs share under these names.
#![deny(unsafe_code)]

mod bytes;
mod error;
mod frame_range;
mod frames;
mod host;
mod image;
mod inconsistency;
mod page_set;
pub mod registry;
pub mod section;

pub use bytes::{HOST_BASE, HostMemory, HostPages, MapError, Scalar};
pub use error::{FrameError, OutsideMemory};
pub use frame_range::FrameRange;
pub use frames::{FrameAllocator, OutOfFrames, Placement, UnknownPlacement};
pub use host::Host;
pub use image::{ImageRun, MemoryImage, is_zero_page};
pub use inconsistency::{Cause, Inconsistency};
pub use page_set::PageSet;
