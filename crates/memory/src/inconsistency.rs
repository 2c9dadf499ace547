//! Failures in the hypervisor's own accounts, noted where they are found.
//!
//! The hypervisor owns its tables and knows who has which frame. If a table turns out to lie outside of memory, or a frame that is given back
//! to have no owner, its records are inconsistent, and what its guests compute from then on cannot be trusted. Functions that edit tables have no way out for that: it is
//! noted where it is found, in release builds too, and the run loop reads it and ends the guest.

use crate::error::{FrameError, OutsideMemory};
use core::cell::Cell;
use core::fmt;

/// An edit of a table or of the frames' accounts that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the records of host memory are inconsistent: {what}: {cause}")]
pub struct Inconsistency {
    /// What was edited.
    pub what: &'static str,
    /// Why that failed.
    pub cause: Cause,
}

/// Why an edit failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Frames have another owner than they should have.
    Frames(FrameError),
    /// A place is not in memory.
    Memory(OutsideMemory),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frames(error) => error.fmt(f),
            Self::Memory(error) => error.fmt(f),
        }
    }
}

/// Where the first of them is noted. A note that is never read is a defect that a test would not see: it panics where debug assertions are on.
#[derive(Debug, Default)]
pub(crate) struct Note(Cell<Option<Inconsistency>>);

impl Note {
    /// Notes that `what` failed, unless something did before.
    #[cold]
    pub(crate) fn put(&self, what: &'static str, cause: Cause) {
        self.0.set(self.0.get().or(Some(Inconsistency { what, cause })));
    }

    /// The note, which is then gone.
    pub(crate) fn take(&self) -> Option<Inconsistency> {
        self.0.take()
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        let panics = std::thread::panicking();
        debug_assert!(panics || self.0.get().is_none(), "it was not taken by the run loop: {:?}", self.0.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Host, HostPages};
    use types::{Hpa, PageSize};

    #[test]
    fn a_frame_that_is_freed_twice_is_told_of_once() {
        let mut host = Host::new(8 << 20, HostPages::Base).unwrap();
        let frame = host.frames.allocate(&host.memory, PageSize::Size4K).unwrap();
        host.frames.give_back(frame, "a page of a guest");
        assert_eq!(host.take_inconsistency(), None);
        host.frames.give_back(frame, "a table");
        host.frames.give_back(frame, "another table");
        let found = host.take_inconsistency().unwrap();
        assert_eq!((found.what, found.cause), ("a table", Cause::Frames(FrameError::Free(frame))));
        assert_eq!(host.take_inconsistency(), None);
        assert_eq!(host.frames.owned_bytes(), 0, "nothing else has changed");
    }

    #[test]
    fn a_write_to_a_table_outside_of_memory_is_told_of() {
        let host = Host::new(8 << 20, HostPages::Base).unwrap();
        host.memory.note_failure(host.memory.write(Hpa(0x1000), 1_u64), "an entry of a table");
        let said = host.take_inconsistency().unwrap().to_string();
        assert!(
            said.starts_with("the records of host memory are inconsistent: an entry of a table: 8 bytes at"),
            "{said}"
        );
    }
}
