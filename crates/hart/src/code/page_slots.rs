//! Page slots: where accesses to a page were found last.
//!
//! A load or store that misses the entry it hit last looks here before the bus searches: a program that walks over a few pages in no order hits the first
//! level each time, and rarely the entry of the time before. As every predicted slot it is a hint, which each use checks.

use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

/// Entries, a power of two: several times as many as a first level has.
const PAGES: usize = 256;

/// The predicted slots, by page number. (Atomic, so that a shared reference can set them. One thread at a time uses them.)
pub(crate) struct PageSlots(Box<[AtomicU16; PAGES]>);

impl PageSlots {
    /// The mask of a page number, and the binary logarithm of an entry's bytes, for compiled code.
    pub(crate) const MASK: u64 = PAGES as u64 - 1;
    pub(crate) const SHIFT: u8 = size_of::<AtomicU16>().trailing_zeros() as u8;

    pub(super) fn new() -> Self {
        Self(Box::new([const { AtomicU16::new(0) }; PAGES]))
    }

    /// The predicted slot of an access to `address`.
    #[inline(always)]
    pub(crate) fn get(&self, address: u64) -> u16 {
        self.0[Self::index(address)].load(Relaxed)
    }

    /// An access to `address` was found there.
    #[inline(always)]
    pub(crate) fn set(&self, address: u64, predicted: u16) {
        self.0[Self::index(address)].store(predicted, Relaxed);
    }

    /// Where the entries lie.
    pub(crate) fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }

    #[inline(always)]
    const fn index(address: u64) -> usize {
        (address >> 12 & Self::MASK) as usize
    }
}
