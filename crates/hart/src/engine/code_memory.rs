//! The host's memory that compiled code lies in: readable, and either written or executed.
//!
//! A process that gives up the right to make memory executable reserves a [range](reserve_code) before; each machine then takes a piece of it.
//!
//! JUSTIFICATION for unsafe: executable memory is mapped here, written while it is not executable, and its addresses are handed out.

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// Bytes of units, or of baseline code, that a machine holds. When they are full, all translations are forgotten.
pub const CODE_BYTES: usize = 64 << 20;

/// Pieces of memory that a machine takes: for units, and for baseline code.
const PIECES: usize = 2;

/// Code begins at multiples of this.
const ALIGNMENT: usize = 64;

/// Bytes of a large page of the host. Pieces begin at multiples of it, and change what may be done with them by as much at once, so that the host can back them with such pages:
/// the code of a program with little repetition is larger than its TLB reaches by small ones.
const LARGE_PAGE: usize = 2 << 20;

/// The host refused to let compiled code be written or executed. What was compiled is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeMemoryError(Errno);

impl fmt::Display for CodeMemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the host's memory for compiled code cannot be made executable: {}", self.0)
    }
}

impl std::error::Error for CodeMemoryError {}

/// Pieces of the reserved range that no machine has, by their addresses. `None` while nothing is reserved: each machine then maps its own.
static RESERVED: Mutex<Option<Vec<usize>>> = Mutex::new(None);

/// Reserves address space for the compiled code of `machines` machines at once, as the range of addresses at which it may begin; [`CODE_BYTES`] behind it
/// belong to it, too. From now on no other memory is used for code: a machine that finds all of it taken compiles nothing.
///
/// # Errors
/// The host has not so much address space, or something is reserved already.
pub fn reserve_code(machines: usize) -> std::io::Result<Range<usize>> {
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    if reserved.is_some() {
        return Err(std::io::ErrorKind::AlreadyExists.into());
    }
    let pieces = machines * PIECES;
    let bytes = pieces * CODE_BYTES;
    let start = map(bytes + CODE_BYTES)?.as_ptr() as usize;
    (0..pieces).for_each(|piece| ask_for_large_pages(start + piece * CODE_BYTES));
    *reserved = Some((0..pieces).map(|piece| start + piece * CODE_BYTES).collect());
    Ok(start..start + bytes)
}

/// A new mapping of `bytes` bytes, wherever the kernel finds room for it that begins with a large page.
fn map(bytes: usize) -> rustix::io::Result<NonNull<u8>> {
    // SAFETY: the kernel chooses the address, so nothing is mapped over; and what is unmapped lies in the new mapping, before and behind what is returned.
    unsafe {
        let mapped = mmap_anonymous(
            std::ptr::null_mut(),
            bytes + LARGE_PAGE,
            ProtFlags::READ | ProtFlags::EXEC,
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )?;
        let before = (mapped as usize).next_multiple_of(LARGE_PAGE) - mapped as usize;
        let start = mapped.byte_add(before);
        if before > 0 {
            munmap(mapped, before)?;
        }
        munmap(start.byte_add(bytes), LARGE_PAGE - before)?;
        NonNull::new(start.cast()).ok_or(Errno::NOMEM)
    }
}

/// Asks the host for large pages, but for the first, so that a machine with little code takes little memory. A host that has none has the same results.
fn ask_for_large_pages(piece: usize) {
    let (at, bytes) = ((piece + LARGE_PAGE) as *mut std::ffi::c_void, CODE_BYTES - LARGE_PAGE);
    // SAFETY: the piece was mapped for code; what it holds does not change.
    let _ = unsafe { madvise(at, bytes, Advice::LinuxHugepage) };
}

/// Memory for the code of one machine.
pub(crate) struct CodeMemory {
    start: NonNull<u8>,
    used: usize,
    /// Why pages of it can no longer be executed.
    failure: Option<CodeMemoryError>,
    /// Whether it is a piece of the reserved range.
    is_reserved: bool,
}

// SAFETY: the mapping, or the piece of the reserved one, is used by this value alone.
unsafe impl Send for CodeMemory {}

impl CodeMemory {
    /// `None` where the host gives none.
    pub(crate) fn new() -> Option<Self> {
        let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, is_reserved) = match &mut *reserved {
            Some(pieces) => (NonNull::new(pieces.pop()? as *mut u8)?, true),
            None => (map(CODE_BYTES).ok()?, false),
        };
        if !is_reserved {
            ask_for_large_pages(start.as_ptr() as usize);
        }
        Some(Self { start, used: 0, failure: None, is_reserved })
    }

    /// Puts code behind what is there, and says where it begins; `None` if there is no room, or if the host refuses, see [`failure`](Self::failure).
    pub(crate) fn append(&mut self, code: &[u8]) -> Option<usize> {
        let at = self.next_offset();
        if self.failure.is_some() || code.len() > CODE_BYTES - at {
            return None;
        }
        // Pages that the code touches; nothing in them runs meanwhile. Large ones as a whole, which the host would split otherwise.
        let page = |offset: usize| if offset < LARGE_PAGE { 4096 } else { LARGE_PAGE };
        let (end, last) = (at + code.len(), at + code.len() - 1);
        let (first, end) = (at / page(at) * page(at), end.next_multiple_of(page(last)));
        // SAFETY: the pages lie in the mapping, as `at` and `code.len()` do by the check above.
        let written = unsafe {
            let pages = self.start.as_ptr().add(first).cast();
            mprotect(pages, end - first, MprotectFlags::READ | MprotectFlags::WRITE).and_then(|()| {
                self.start.as_ptr().add(at).copy_from_nonoverlapping(code.as_ptr(), code.len());
                mprotect(pages, end - first, MprotectFlags::READ | MprotectFlags::EXEC)
            })
        };
        if let Err(error) = written {
            // The first page may hold earlier code, which cannot be executed any more.
            self.failure = Some(CodeMemoryError(error));
            return None;
        }
        self.used = at + code.len();
        Some(self.start.as_ptr() as usize + at)
    }

    /// Bytes that are used.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Where code that is put behind what is there begins.
    pub(crate) fn next(&self) -> usize {
        self.start.as_ptr() as usize + self.next_offset()
    }

    fn next_offset(&self) -> usize {
        self.used.next_multiple_of(ALIGNMENT)
    }

    /// Why nothing in it may be executed any more, if that is so.
    pub(crate) fn failure(&self) -> Option<CodeMemoryError> {
        self.failure
    }

    /// Bytes that are left.
    pub(crate) fn room(&self) -> usize {
        CODE_BYTES - self.used
    }

    /// Forgets all code in it, none of which runs.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }
}

#[cfg(feature = "planted")]
impl CodeMemory {
    /// The address of its first byte.
    pub(crate) fn start(&self) -> usize {
        self.start.as_ptr() as usize
    }

    /// Writes a byte at any offset, as a fault in the emitter would: see [`planted`](crate::planted).
    pub(crate) fn write_anywhere(&mut self, offset: usize, byte: u8) {
        // SAFETY: none, on purpose. The page is executable again before anything in it runs.
        unsafe {
            let at = self.start.as_ptr().wrapping_add(offset);
            let page = at.map_addr(|address| address & !0xfff).cast();
            let writable = mprotect(page, 4096, MprotectFlags::READ | MprotectFlags::WRITE);
            writable.expect("the test writes where code lies");
            at.write(byte);
            mprotect(page, 4096, MprotectFlags::READ | MprotectFlags::EXEC).expect("as before");
        }
    }
}

impl Drop for CodeMemory {
    fn drop(&mut self) {
        // SAFETY: the memory is this value's own, and no code of it runs: who runs it holds the cache that holds this. A failure leaves pages that
        // are not in use.
        unsafe {
            if !self.is_reserved {
                let _ = munmap(self.start.as_ptr().cast(), CODE_BYTES);
                return;
            }
            let _ = madvise(self.start.as_ptr().cast(), CODE_BYTES, Advice::LinuxDontNeed);
        }
        if self.failure.is_none()
            && let Some(pieces) = &mut *RESERVED.lock().unwrap_or_else(PoisonError::into_inner)
        {
            pieces.push(self.start.as_ptr() as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_cannot_be_made_executable_is_an_error_and_no_panic() {
        let mut memory = CodeMemory::new().expect("the host gives memory");
        assert!(memory.append(&[0xc3]).is_some());
        // SAFETY: nothing in it runs. Without the mapping `mprotect` fails, as it does where the host has no more of what it needs.
        unsafe { munmap(memory.start.as_ptr().cast(), CODE_BYTES) }.unwrap();
        assert_eq!(memory.append(&[0xc3]), None);
        assert!(memory.failure().is_some_and(|error| error.to_string().contains("executable")));
        assert_eq!(memory.append(&[0xc3]), None, "it stays so");
        // Its addresses may belong to another mapping by now.
        std::mem::forget(memory);
    }
}
