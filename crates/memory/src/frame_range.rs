//! A range of whole frames.

use core::fmt;
use types::{Hpa, PageSize};

/// Bytes of a frame.
pub(crate) const FRAME: u64 = PageSize::Size4K.bytes();

/// Whole frames, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FrameRange {
    start: Hpa,
    bytes: u64,
}

impl FrameRange {
    /// `bytes` bytes from `start`; `None` unless both are multiples of 4 KiB and the end is an address.
    #[must_use]
    pub const fn new(start: Hpa, bytes: u64) -> Option<Self> {
        if start.is_aligned(FRAME) && bytes.is_multiple_of(FRAME) && start.checked_add(bytes).is_some() {
            Some(Self { start, bytes })
        } else {
            None
        }
    }

    /// The base page that holds `hpa`.
    #[must_use]
    pub const fn frame(hpa: Hpa) -> Self {
        Self { start: hpa.page(PageSize::Size4K), bytes: FRAME }
    }

    /// `frames` frames from the one with number `first` on.
    pub(crate) const fn of_frames(first: u64, frames: u64) -> Self {
        Self { start: Hpa(first * FRAME), bytes: frames * FRAME }
    }

    /// The first byte.
    #[must_use]
    pub const fn start(self) -> Hpa {
        self.start
    }

    /// The byte after the last.
    #[must_use]
    pub const fn end(self) -> Hpa {
        self.start.wrapping_add(self.bytes)
    }

    /// Length in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.bytes
    }
}

impl fmt::Display for FrameRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end())
    }
}
