//! The bytes of host physical memory: one private mapping of the process, anonymous but for what an image gives, and the crate's only unsafe code.
//!
//! # Justification of unsafe
//! The hart reaches memory through raw pointers kept in its TLB, and the devices through `VolatileSlice`s of `vm-memory`; both want
//! memory that is not a Rust object. The mapping is therefore never behind a reference: every access copies bytes in or out through
//! a raw pointer after one bounds check, and no `&[u8]` of it exists. [`HostMemory`] is `Send` but not `Sync`, so one thread at a
//! time touches it.
#![allow(unsafe_code)]

use crate::error::OutsideMemory;
use crate::inconsistency::{Cause, Inconsistency, Note};
use core::cell::Cell;
use core::fmt;
use core::ptr::{self, NonNull};
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::os::fd::AsFd;
use types::{Hpa, PageSize};
use vm_memory::VolatileSlice;

/// The first host physical address. The guest's RAM starts at the same guest physical address, so that `native` maps with a
/// constant of zero.
pub const HOST_BASE: Hpa = Hpa(0x8000_0000);

/// Host memory lies on this boundary in the process, so that its 2M frames can be huge pages of the operating system.
const ALIGNMENT: u64 = PageSize::Size2M.bytes();

/// What the operating system under Pagewalk should back the memory with. A matter of speed: no simulated result depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HostPages {
    /// Base pages: resident memory is exactly what was touched.
    #[default]
    Base,
    /// Transparent huge pages where it has them: random accesses over 256 MiB take a fifth less time (measured), and a touched byte
    /// costs up to 2 MiB of resident memory.
    Huge,
}

/// Why host memory of a size cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MapError {
    /// Zero, not a multiple of 4 KiB, or more than the address space holds.
    #[error("host memory of {0} bytes: the size must be a positive multiple of 4096")]
    Size(u64),
    /// The operating system refused.
    #[error("host memory of {bytes} bytes: {cause}")]
    System {
        /// The size asked for.
        bytes: u64,
        /// Its reason.
        cause: rustix::io::Errno,
    },
}

/// An integer that memory holds in little-endian order, as RISC-V stores it. Implemented for `u8`, `u16`, `u32` and `u64`.
pub trait Scalar: Copy + sealed::Sealed {
    /// From the order of memory to that of the host, or back.
    #[must_use]
    fn little_endian(self) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! scalar {
    ($($int:ty),*) => {$(
        impl sealed::Sealed for $int {}
        impl Scalar for $int {
            #[inline]
            fn little_endian(self) -> Self {
                self.to_le()
            }
        }
    )*};
}
scalar!(u8, u16, u32, u64);

/// The bytes of host physical memory, from [`HOST_BASE`] on.
///
/// Reading and writing take `&self`, as a [`core::cell::Cell`] does: the hart writes through pointers at any time, so an
/// exclusive borrow would promise what cannot be kept.
pub struct HostMemory {
    base: NonNull<u8>,
    bytes: u64,
    /// Whether any of it is mapped from a file.
    has_files: Cell<bool>,
    note: Note,
}

// SAFETY: the mapping belongs to this value alone and has no ties to a thread.
unsafe impl Send for HostMemory {}

impl HostMemory {
    /// `bytes` bytes of zeroes. Costs address space only, until touched.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn new(bytes: u64, pages: HostPages) -> Result<Self, MapError> {
        let mapped = bytes
            .checked_add(ALIGNMENT)
            .filter(|&mapped| bytes > 0 && bytes.is_multiple_of(PageSize::Size4K.bytes()) && mapped < 1 << 47)
            .ok_or(MapError::Size(bytes))? as usize;
        let system = |cause| MapError::System { bytes, cause };
        // NORESERVE: a guest of 64 GiB that touches 1 GiB must start on a machine that has 2.
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice disturbs nothing.
        let start =
            unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), mapped, ProtFlags::READ | ProtFlags::WRITE, flags) }
                .map_err(system)?
                .cast::<u8>();
        let head = start.align_offset(ALIGNMENT as usize);
        let tail = mapped - head - bytes as usize;
        // SAFETY: `head` and `head + bytes` are within the mapping just made, and no other code has its address. Both ends are whole pages.
        let base = unsafe {
            let base = start.add(head);
            for (end, length) in [(start, head), (base.add(bytes as usize), tail)] {
                if length > 0 {
                    rustix::mm::munmap(end.cast(), length).map_err(system)?;
                }
            }
            NonNull::new_unchecked(base)
        };
        let memory = Self { base, bytes, has_files: Cell::new(false), note: Note::default() };
        let advice = match pages {
            HostPages::Base => Advice::LinuxNoHugepage,
            HostPages::Huge => Advice::LinuxHugepage,
        };
        // A kernel without transparent huge pages refuses either advice, and base pages are what is then had.
        // SAFETY: the range is ours and the advice does not change its contents.
        let _ = unsafe { rustix::mm::madvise(memory.base.as_ptr().cast(), bytes as usize, advice) };
        Ok(memory)
    }

    /// Size in bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Always false: memory of no bytes cannot be made.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The address after the last byte.
    #[inline]
    #[must_use]
    pub fn end(&self) -> Hpa {
        HOST_BASE.wrapping_add(self.bytes)
    }

    /// Where the memory lies in the process: its first byte, and its size.
    #[must_use]
    pub fn host_range(&self) -> (*const u8, usize) {
        (self.base.as_ptr().cast_const(), self.bytes as usize)
    }

    /// The byte at `hpa` in the process, for the hit path; `None` outside memory. Good to the end of the 4 KiB frame.
    #[inline]
    #[must_use]
    pub fn pointer(&self, hpa: Hpa) -> Option<NonNull<u8>> {
        self.range(hpa, 1).ok()
    }

    /// Takes the outcome of an access to `what`, which the hypervisor placed in this memory itself. If it is not there,
    /// [`Host::take_inconsistency`](crate::Host::take_inconsistency) tells.
    #[inline]
    pub fn note_failure(&self, outcome: Result<(), OutsideMemory>, what: &'static str) {
        if let Err(error) = outcome {
            self.note.put(what, Cause::Memory(error));
        }
    }

    pub(crate) fn take_note(&self) -> Option<Inconsistency> {
        self.note.take()
    }

    /// The scalar at `hpa`, at any alignment.
    ///
    /// # Errors
    /// [`OutsideMemory`].
    #[inline]
    pub fn read<T: Scalar>(&self, hpa: Hpa) -> Result<T, OutsideMemory> {
        let at = self.range(hpa, size_of::<T>() as u64)?;
        // SAFETY: `range` checked that all bytes of a `T` are in the mapping; every bit pattern is a scalar.
        Ok(unsafe { at.cast::<T>().read_unaligned() }.little_endian())
    }

    /// Stores `value` at `hpa`, at any alignment.
    ///
    /// # Errors
    /// [`OutsideMemory`]: nothing was written.
    #[inline]
    pub fn write<T: Scalar>(&self, hpa: Hpa, value: T) -> Result<(), OutsideMemory> {
        let at = self.range(hpa, size_of::<T>() as u64)?;
        // SAFETY: as in `read`; no reference exists into the mapping.
        unsafe { at.cast::<T>().write_unaligned(value.little_endian()) };
        Ok(())
    }

    /// Copies the bytes at `hpa` to `to`.
    ///
    /// # Errors
    /// [`OutsideMemory`]: `to` is unchanged.
    pub fn read_slice(&self, hpa: Hpa, to: &mut [u8]) -> Result<(), OutsideMemory> {
        let from = self.range(hpa, to.len() as u64)?;
        // SAFETY: `range` checked the source; a Rust slice never overlaps the mapping.
        unsafe { from.as_ptr().copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    /// Copies `from` to `hpa`.
    ///
    /// # Errors
    /// [`OutsideMemory`]: nothing was written.
    pub fn write_slice(&self, hpa: Hpa, from: &[u8]) -> Result<(), OutsideMemory> {
        let to = self.range(hpa, from.len() as u64)?;
        // SAFETY: `range` checked the destination; a Rust slice never overlaps the mapping.
        unsafe { to.as_ptr().copy_from_nonoverlapping(from.as_ptr(), from.len()) };
        Ok(())
    }

    /// Makes `bytes` bytes at `hpa` zero. Whole pages of a longer range are given back to the operating system instead, so that
    /// they cost nothing until touched again.
    ///
    /// # Errors
    /// [`OutsideMemory`]: nothing was written.
    pub fn zero(&self, hpa: Hpa, bytes: u64) -> Result<(), OutsideMemory> {
        // Writing zeroes is four times faster than faulting the pages in again (measured: 0.4 against 1.6 ms for 2 MiB), but then
        // all of a large frame is resident of which a guest may use little.
        const DISCARD_FROM: u64 = PageSize::Size2M.bytes();
        let at = self.range(hpa, bytes)?;
        let whole_pages = hpa.is_aligned(PageSize::Size4K.bytes()) && bytes.is_multiple_of(PageSize::Size4K.bytes());
        // What is mapped from a file would be the file's again.
        if whole_pages && bytes >= DISCARD_FROM && !self.has_files.get() {
            // SAFETY: the range is whole pages of a private anonymous mapping of ours: DONTNEED leaves zeroes.
            if unsafe { rustix::mm::madvise(at.as_ptr().cast(), bytes as usize, Advice::LinuxDontNeed) }.is_ok() {
                return Ok(());
            }
        }
        // SAFETY: `range` checked the destination.
        unsafe { at.write_bytes(0, bytes as usize) };
        Ok(())
    }

    /// Puts `bytes` bytes of `file` from `offset` on in the place of the memory at `hpa`: whole pages. What is stored there stays out of the file,
    /// which must not shrink, or its pages are gone.
    ///
    /// # Errors
    /// The system's, or that it is not all in host memory or no whole pages: nothing has changed.
    pub(crate) fn map_file(&self, hpa: Hpa, bytes: u64, file: impl AsFd, offset: u64) -> rustix::io::Result<()> {
        let at = self.range(hpa, bytes).map_err(|_| rustix::io::Errno::INVAL)?;
        if !(hpa.0 | bytes | offset).is_multiple_of(PageSize::Size4K.bytes()) || bytes == 0 {
            return Err(rustix::io::Errno::INVAL);
        }
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the range is whole pages of our own mapping, which is behind no reference: pointers into it lead to the file's bytes from now on,
        // as if these had been stored.
        unsafe { rustix::mm::mmap(at.as_ptr().cast(), bytes as usize, rights, flags, file, offset) }?;
        self.has_files.set(true);
        Ok(())
    }

    /// A piece of memory as the devices of `vm-memory` take it.
    ///
    /// # Errors
    /// [`OutsideMemory`].
    pub fn volatile_slice(&self, hpa: Hpa, bytes: usize) -> Result<VolatileSlice<'_>, OutsideMemory> {
        let at = self.range(hpa, bytes as u64)?;
        // SAFETY: the range is in the mapping, which lives as long as `self`, and no reference exists into it.
        Ok(unsafe { VolatileSlice::new(at.as_ptr(), bytes) })
    }

    /// Where `bytes` bytes at `hpa` are in the process.
    #[inline]
    fn range(&self, hpa: Hpa, bytes: u64) -> Result<NonNull<u8>, OutsideMemory> {
        let offset = hpa.0.wrapping_sub(HOST_BASE.0);
        if offset > self.bytes || bytes > self.bytes - offset {
            return Err(OutsideMemory { at: hpa, bytes });
        }
        // SAFETY: `offset` is within the mapping, or one past its end for an empty range.
        Ok(unsafe { self.base.add(offset as usize) })
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and `self` was the last to know of it. Pointers from `pointer` die with their users first:
        // the machine drops its harts before its memory.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.bytes as usize) };
    }
}

impl fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostMemory({HOST_BASE}..{})", self.end())
    }
}

#[cfg(test)]
mod tests;
