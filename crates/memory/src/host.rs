//! The host's memory as the monitor holds it.

use crate::{CodeMap, FrameAllocator, HostMemory, HostPages, MapError};

/// The bytes of host memory, the owner of its frames and the map of its code, all of one size.
///
/// The fields are public so that a caller can borrow them apart: a walk reads bytes while the allocator hands out a frame.
#[derive(Debug)]
pub struct Host {
    /// The bytes.
    pub memory: HostMemory,
    /// Free and owned frames.
    pub frames: FrameAllocator,
    /// Frames that hold translated code.
    pub code: CodeMap,
}

impl Host {
    /// A host with `bytes` bytes of zeroed memory from [`HOST_BASE`](crate::HOST_BASE) on, all of it free.
    ///
    /// # Errors
    /// [`MapError`]: the size is not a multiple of 4 KiB, or the operating system has no room for it.
    pub fn new(bytes: u64, pages: HostPages) -> Result<Self, MapError> {
        let memory = HostMemory::new(bytes, pages)?;
        Ok(Self { frames: FrameAllocator::new(&memory), code: CodeMap::new(&memory), memory })
    }
}
