//! Names of pages in a tag array: keys of pages of any size, and where base pages are.

use types::PageSize;

/// A page of some size, in one word: its number, a one, and a zero for each bit by which it exceeds 4K.
/// No page has the key zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key(u64);

impl Key {
    pub(super) const NONE: Self = Self(0);

    /// The page of 2^`shift` bytes that holds `address`.
    #[inline(always)]
    pub(super) const fn new(address: u64, shift: u32) -> Self {
        Self(((address >> shift << 1) | 1) << (shift - PageSize::Size4K.shift()))
    }

    /// By how many bits the page's size exceeds 4K; 64 for no page.
    #[inline(always)]
    pub(super) const fn excess(self) -> usize {
        self.0.trailing_zeros() as usize
    }

    /// The page's first byte.
    #[inline]
    pub(super) const fn page(self) -> u64 {
        self.0 >> self.excess() >> 1 << (self.excess() as u32 + PageSize::Size4K.shift())
    }

    /// What a search compares first. Different keys may have the same.
    #[inline(always)]
    pub(super) const fn tag(self) -> u32 {
        (self.0 ^ self.0 >> 32) as u32
    }
}

/// A base page, as the tag arrays of a level and the next one look for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BasePage(pub(super) Key);

impl BasePage {
    #[inline(always)]
    pub(crate) const fn new(address: u64) -> Self {
        Self(Key::new(address, PageSize::Size4K.shift()))
    }

    /// The page's number.
    #[inline(always)]
    pub(super) const fn number(self) -> u64 {
        self.0.0 >> 1
    }
}

/// Where base pages are kept, if they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    /// Sets − 1.
    pub(super) mask: u64,
    /// First group of the array, and groups of a set.
    pub(super) first: u32,
    pub(super) groups: u32,
    pub(super) ways: u32,
    /// The candidates of a region in which there is nothing but base pages; more bits than candidates have where that does not occur.
    pub(super) alone: u16,
}

impl Base {
    pub(super) const NONE: Self = Self { mask: 0, first: 0, groups: 0, ways: 0, alone: 1 << 8 };

    /// The first group of a page's set.
    #[inline(always)]
    pub(super) const fn set(&self, page: BasePage) -> usize {
        self.first as usize + (page.number() & self.mask) as usize * self.groups as usize
    }

    /// The group of a page's set, where a set is one group.
    #[inline(always)]
    pub(super) const fn group(&self, page: BasePage) -> usize {
        self.first as usize + (page.number() & self.mask) as usize
    }
}
