//! Anonymous memory with pages of a chosen size.

use rustix::mm::{Advice as Madvise, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ops::Range;
use std::{io, ptr, slice};

/// What the kernel is advised about pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Advice {
    /// `MADV_NOHUGEPAGE`.
    BasePages,
    /// `MADV_HUGEPAGE`.
    HugePages,
}

/// Zeroed private memory of this process, aligned to 2 MiB. A page exists from its first use on.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// The whole mapping: alignment takes up to 2 MiB more than was asked for.
    whole: Range<usize>,
    start: *mut u64,
    words: usize,
}

const ALIGNMENT: usize = 2 << 20;

/// Bytes of a base page.
pub(crate) const PAGE: usize = 4 << 10;

impl Mapping {
    /// `bytes` of address space, rounded up to words. No memory is reserved for it, so that it may be far larger than memory.
    ///
    /// # Errors
    /// As the kernel says: no such address space, or no huge pages at all.
    pub(crate) fn new(bytes: usize, advice: Advice) -> io::Result<Self> {
        let words = bytes.div_ceil(size_of::<u64>());
        let length = (words * size_of::<u64>()).next_multiple_of(ALIGNMENT) + ALIGNMENT;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: without a fixed address, the kernel takes addresses that are not in use.
        let memory = unsafe { mmap_anonymous(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags)? };
        let first = memory.addr();
        let start: *mut u64 = memory.map_addr(|address| address.next_multiple_of(ALIGNMENT)).cast();
        let mapping = Self { whole: first..first + length, start, words };
        let advice = match advice {
            Advice::BasePages => Madvise::LinuxNoHugepage,
            Advice::HugePages => Madvise::LinuxHugepage,
        };
        // SAFETY: the addresses are those of the mapping, and the advice changes no content.
        unsafe { madvise(memory, length, advice)? };
        Ok(mapping)
    }

    /// Its words.
    pub(crate) fn words(&mut self) -> &mut [u64] {
        // SAFETY: `start` and `words` lie in the mapping, which lives as long as `self` and is borrowed for as long as the slice; it is zeroed, aligned
        // to more than a word, and no other code has its addresses.
        unsafe { slice::from_raw_parts_mut(self.start, self.words) }
    }

    /// Gives a range of its base pages back to the kernel. Their content is zero from then on.
    ///
    /// # Errors
    /// As the kernel says.
    ///
    /// # Panics
    /// A page is beyond its end.
    pub(crate) fn give_back(&mut self, pages: Range<usize>) -> io::Result<()> {
        assert!(
            pages.start <= pages.end && pages.end <= self.bytes() / PAGE,
            "pages {pages:?} of {} bytes",
            self.bytes()
        );
        let first = self.start.wrapping_byte_add(pages.start * PAGE);
        // SAFETY: the addresses are those of the mapping, which `self` has alone, and any content is one of words.
        unsafe { madvise(first.cast(), pages.len() * PAGE, Madvise::LinuxDontNeed) }?;
        Ok(())
    }

    /// Bytes that callers may use.
    pub(crate) const fn bytes(&self) -> usize {
        self.words * size_of::<u64>()
    }

    /// Its addresses.
    pub(crate) fn addresses(&self) -> Range<usize> {
        self.start.addr()..self.start.addr() + self.bytes()
    }

    /// The address of its first word, for a chain.
    pub(super) const fn start(&self) -> *mut u64 {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let first = ptr::with_exposed_provenance_mut(self.whole.start);
        // SAFETY: the mapping is this value's own, and slices and chains of it have ended, since they borrow it. That it cannot fail for a mapping
        // that exists is the kernel's promise.
        let _ = unsafe { munmap(first, self.whole.len()) };
    }
}
