//! The host's memory as the hypervisor holds it.

use crate::{FrameAllocator, HostMemory, HostPages, Inconsistency, MapError};

/// The bytes of host memory and the book of its frames.
///
/// The fields are public so that a caller can borrow them apart: a walk reads bytes while the allocator hands out a frame.
#[derive(Debug)]
pub struct Host {
    /// The bytes.
    pub memory: HostMemory,
    /// Free and owned frames.
    pub frames: FrameAllocator,
}

impl Host {
    /// A host with `bytes` bytes of zeroed memory from [`HOST_BASE`](crate::HOST_BASE) on, all of it free.
    ///
    /// # Errors
    /// [`MapError`]: the size is not a multiple of 4 KiB, or the operating system has no room for it.
    pub fn new(bytes: u64, pages: HostPages) -> Result<Self, MapError> {
        let memory = HostMemory::new(bytes, pages)?;
        Ok(Self { frames: FrameAllocator::new(&memory), memory })
    }

    /// What was found wrong first in the accounts of frames or the places of tables, since this was last asked for.
    #[must_use]
    pub fn take_inconsistency(&self) -> Option<Inconsistency> {
        let (frames, memory) = (self.frames.take_note(), self.memory.take_note());
        frames.or(memory)
    }
}
