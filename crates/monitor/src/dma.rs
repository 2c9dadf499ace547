//! A guest's memory as devices, the loader and SBI calls reach it: by guest physical address, filled on demand.

use crate::vm::{FramePiece, Vm};
use core::cell::RefCell;
use devices::{DmaAccess, DmaError, DmaMemory};
use memory::{FrameAllocator, Host, HostMemory};
use types::{Access, Gpa};
use vm_memory::VolatileSlice;

/// Guest memory for the length of one request. It notes what is written, for the harts to forget code that they translated there.
#[derive(Debug)]
pub struct Dma<'m> {
    memory: &'m HostMemory,
    fill: RefCell<Fill<'m>>,
    written: RefCell<Vec<(usize, usize)>>,
}

/// What filling a page changes.
#[derive(Debug)]
struct Fill<'m> {
    vm: &'m mut Vm,
    frames: &'m mut FrameAllocator,
}

/// Why guest memory cannot be copied to or from. A part before the address may have been.
pub type GuestMemoryError = DmaError;

impl<'m> Dma<'m> {
    /// The memory of `vm`.
    #[must_use]
    pub fn new(vm: &'m mut Vm, host: &'m mut Host) -> Self {
        let fill = RefCell::new(Fill { vm, frames: &mut host.frames });
        Self { memory: &host.memory, fill, written: RefCell::default() }
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

    /// What was written: addresses in this process, and bytes. In order, neighbours joined.
    pub fn into_written(self) -> impl Iterator<Item = (usize, usize)> {
        self.written.into_inner().into_iter()
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

impl DmaMemory for Dma<'_> {
    fn contains(&self, gpa: Gpa, bytes: u64) -> bool {
        self.fill.borrow().vm.is_ram(gpa, bytes)
    }

    fn slice(&self, gpa: Gpa, bytes: usize, access: DmaAccess) -> Result<VolatileSlice<'_>, DmaError> {
        let Fill { vm, frames } = &mut *self.fill.borrow_mut();
        let kind = match access {
            DmaAccess::Read => Access::Read,
            DmaAccess::Write => Access::Write,
        };
        let piece = vm.fill(self.memory, frames, gpa, kind).map_err(|_| DmaError::NoFrame(gpa))?;
        let FramePiece { start, bytes: there } = piece.ok_or(DmaError::NotRam(gpa))?;
        let bytes = usize::try_from(there).map_or(bytes, |there| there.min(bytes));
        let slice = self.memory.volatile_slice(start, bytes).map_err(|_| DmaError::NoFrame(gpa))?;
        if access == DmaAccess::Write {
            vm.shadow_stored(self.memory, gpa, bytes as u64);
            self.note_written(&slice);
        }
        Ok(slice)
    }
}

#[cfg(test)]
mod tests;
