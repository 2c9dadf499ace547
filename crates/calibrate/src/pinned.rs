//! A thread that stays on its processor.

use rustix::io::Result;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The calling thread, and those that it starts, stay on its processor while this value lives.
#[derive(Debug)]
pub(crate) struct Pinned {
    /// Where the thread ran before.
    processors: CpuSet,
}

impl Pinned {
    /// # Errors
    /// As the system says that refuses.
    pub(crate) fn here() -> Result<Self> {
        let processors = sched_getaffinity(None)?;
        let mut own = CpuSet::new();
        own.set(sched_getcpu());
        sched_setaffinity(None, &own)?;
        Ok(Self { processors })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // It was allowed there before. If it no longer is, it stays where it is.
        let _ = sched_setaffinity(None, &self.processors);
    }
}
