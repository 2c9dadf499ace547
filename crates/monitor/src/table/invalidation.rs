//! What has to happen after a translation was taken away.

use memory::{FrameError, FrameRange, Host};
use mmu::Fence;

/// Every real processor of the machine, as far as an edit concerns them.
pub trait FlushTlbs {
    /// Does `fence` on each of them.
    fn fence(&mut self, fence: &Fence);

    /// Drops what was translated from code in `frames`: they will hold something else.
    fn forget_code(&mut self, frames: FrameRange);
}

/// A table no longer has a translation that TLBs may still have. The frames behind it stay owned until [`perform`](Self::perform).
#[derive(PartialEq, Eq, Debug)]
#[must_use = "until it is performed the TLBs still use the old translation, and its frames are lost"]
pub struct Invalidation {
    fence: Fence,
    frames: FrameRange,
}

impl Invalidation {
    /// A page was taken away, and its frames with it.
    pub(super) const fn of_page(fence: Fence, frames: FrameRange) -> Self {
        Self { fence, frames }
    }

    /// Flushes the processors, then frees the frames.
    ///
    /// # Errors
    /// [`FrameError`]: the frames were not owned; the flush is done all the same.
    pub fn perform(self, processors: &mut impl FlushTlbs, host: &mut Host) -> Result<(), FrameError> {
        processors.fence(&self.fence);
        processors.forget_code(self.frames);
        host.frames.free(self.frames)
    }
}
