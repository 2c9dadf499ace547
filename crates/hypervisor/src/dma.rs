//! A guest's memory as devices, the loader and SBI calls reach it: by guest physical address, filled on demand.

use crate::paging::{FrameReclaim, PageUnavailable};
use crate::table::FlushTlbs;
use crate::vm::FramePiece;
use core::cell::RefCell;
use devices::{DmaAccess, DmaError, DmaMemory};
use memory::HostMemory;
use types::{Access, Gpa};
use vm_memory::VolatileSlice;

/// Guest memory for the length of one event. It notes what is written, for the harts to forget code that they translated there, and pins
/// what it hands out until that is released.
#[derive(Debug)]
pub struct Dma<'m, P> {
    memory: &'m HostMemory,
    /// The VM's number in the supply.
    vm: usize,
    fill: RefCell<Fill<'m, P>>,
    written: RefCell<Vec<(usize, usize)>>,
}

/// What filling a page changes.
#[derive(Debug)]
struct Fill<'m, P> {
    supply: FrameReclaim<'m, P>,
    /// The first page that was not to be had.
    unavailable: Option<PageUnavailable>,
}

/// What came of an event.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DmaOutcome {
    /// What was written: addresses in this process, and bytes. In order, neighbours joined.
    pub written: Vec<(usize, usize)>,
    /// A page was not to be had: the guest cannot go on.
    pub unavailable: Option<PageUnavailable>,
}

/// Why guest memory cannot be copied to or from. A part before the address may have been.
pub type GuestMemoryError = DmaError;

impl<'m, P: FlushTlbs> Dma<'m, P> {
    /// The memory of VM number `vm` of `supply`.
    #[must_use]
    pub fn new(supply: FrameReclaim<'m, P>, vm: usize) -> Self {
        let memory = supply.memory;
        let fill = RefCell::new(Fill { supply, unavailable: None });
        Self { memory, vm, fill, written: RefCell::default() }
    }

    /// Copies the bytes at `gpa` to `to`.
    ///
    /// # Errors
    /// [`GuestMemoryError`].
    pub fn read(&self, gpa: Gpa, to: &mut [u8]) -> Result<(), GuestMemoryError> {
        self.pieces(gpa, to.len(), DmaAccess::Read, |slice, range| {
            slice.copy_to(&mut to[range]);
        })
    }

    /// Copies `from` to `gpa`.
    ///
    /// # Errors
    /// [`GuestMemoryError`].
    pub fn write(&self, gpa: Gpa, from: &[u8]) -> Result<(), GuestMemoryError> {
        self.pieces(gpa, from.len(), DmaAccess::Write, |slice, range| slice.copy_from(&from[range]))
    }

    /// What came of it. No slice is in use any more.
    pub fn finish(self) -> DmaOutcome {
        self.release();
        DmaOutcome { written: self.written.into_inner(), unavailable: self.fill.into_inner().unavailable }
    }

    /// Calls `copy` for each piece of the range, with the part of it that the piece is.
    fn pieces(
        &self,
        gpa: Gpa,
        bytes: usize,
        access: DmaAccess,
        mut copy: impl FnMut(VolatileSlice<'_>, core::ops::Range<usize>),
    ) -> Result<(), GuestMemoryError> {
        if !self.contains(gpa, bytes as u64) {
            return Err(DmaError::NotRam(gpa));
        }
        let mut done = 0;
        while done < bytes {
            let slice = self.slice(gpa.wrapping_add(done as u64), bytes - done, access)?;
            let end = done + slice.len();
            copy(slice, done..end);
            self.release();
            done = end;
        }
        Ok(())
    }

    fn note_written(&self, slice: &VolatileSlice<'_>) {
        let (start, bytes) = (slice.ptr_guard().as_ptr() as usize, slice.len());
        let mut written = self.written.borrow_mut();
        match written.last_mut() {
            Some((last, length)) if *last + *length == start => *length += bytes,
            _ => written.push((start, bytes)),
        }
    }
}

impl<P: FlushTlbs> DmaMemory for Dma<'_, P> {
    fn contains(&self, gpa: Gpa, bytes: u64) -> bool {
        self.fill.borrow().supply.vms[self.vm].is_ram(gpa, bytes)
    }

    fn slice(&self, gpa: Gpa, bytes: usize, access: DmaAccess) -> Result<VolatileSlice<'_>, DmaError> {
        let Fill { supply, unavailable } = &mut *self.fill.borrow_mut();
        let kind = match access {
            DmaAccess::Read => Access::Read,
            DmaAccess::Write => Access::Write,
        };
        let piece = supply.fill(self.vm, gpa, kind).map_err(|error| {
            unavailable.get_or_insert(error);
            DmaError::NoFrame(gpa)
        })?;
        let FramePiece { start, bytes: there } = piece.ok_or(DmaError::NotRam(gpa))?;
        let bytes = usize::try_from(there).map_or(bytes, |there| there.min(bytes));
        if let Some(pager) = supply.pager.as_deref_mut() {
            pager.pin(start, bytes as u64);
        }
        let slice = self.memory.volatile_slice(start, bytes).map_err(|_| DmaError::NoFrame(gpa))?;
        if access == DmaAccess::Write {
            supply.vms[self.vm].shadow_stored(self.memory, gpa, bytes as u64);
            self.note_written(&slice);
        }
        Ok(slice)
    }

    fn release(&self) {
        if let Some(pager) = self.fill.borrow_mut().supply.pager.as_deref_mut() {
            pager.unpin();
        }
    }
}

#[cfg(test)]
mod tests;
