//! The simulated host's physical memory: its bytes, who owns its frames, and which of them hold translated code.
//!
//! * [`HostMemory`]: the bytes. Only pages that were touched cost host memory.
//! * [`FrameAllocator`]: hands out zeroed, aligned frames; the ownership protocol is written there.
//! * [`CodeMap`]: one byte per 4 KiB frame, so that a store that hits translated code is noticed.
//! * [`Host`]: the three together, made for the same range.
#![deny(unsafe_code)]

mod bytes;
mod code_map;
mod frames;
mod host;

pub use bytes::{HOST_BASE, HostMemory, HostPages, MapError, OutsideMemory, Scalar};
pub use code_map::CodeMap;
pub use frames::{FrameAllocator, FrameError, FrameRange, OutOfFrames};
pub use host::Host;
