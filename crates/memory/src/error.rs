//! Why an access to memory, or a change of the owner of frames, is refused.

use crate::frame_range::FrameRange;
use types::Hpa;

/// An access that is not wholly within host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{bytes} bytes at {at} are not all in host memory")]
pub struct OutsideMemory {
    /// Where the access starts.
    pub at: Hpa,
    /// How long it is.
    pub bytes: u64,
}

/// Why given frames can be neither reserved nor freed. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FrameError {
    /// They are not all in host memory.
    #[error("frames {0} are not in host memory")]
    Outside(FrameRange),
    /// To reserve: at least one has an owner.
    #[error("frames {0} are owned already")]
    Owned(FrameRange),
    /// To reserve: at least one is faulty.
    #[error("frame {1} of {0} is faulty")]
    Faulty(FrameRange, Hpa),
    /// To free: at least one has no owner.
    #[error("frames {0} are not owned")]
    Free(FrameRange),
}
