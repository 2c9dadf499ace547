//! A set of pages in one word.

use crate::{Gva, PageSize};

/// A set of pages of 4K, which may seem to have more pages than were put in: a bit for each of 64 groups, by the page's number modulo 64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub struct PageGroups(pub u64);

impl PageGroups {
    /// No page.
    pub const NONE: Self = Self(0);

    /// Every page.
    pub const ALL: Self = Self(!0);

    /// log2 of the bytes of a page.
    pub const PAGE_SHIFT: u8 = PageSize::Size4K.shift() as u8;

    /// The pages of which the page of `1 << shift` bytes around `address` consists.
    #[inline]
    #[must_use]
    pub const fn of_page(address: Gva, shift: u8) -> Self {
        let pages = shift.saturating_sub(Self::PAGE_SHIFT);
        if pages >= 6 {
            return Self::ALL;
        }
        let first = (address.0 >> Self::PAGE_SHIFT & 63) & (!0 << pages);
        Self((!0 >> (64 - (1_u32 << pages))) << first)
    }

    /// Those of both sets.
    #[inline]
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the page of `address` may be in the set. If it is, this is true.
    #[inline]
    #[must_use]
    pub const fn may_have(self, address: Gva) -> bool {
        self.0 >> (address.0 >> Self::PAGE_SHIFT & 63) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_own_base_pages() {
        for (shift, pages) in [(12, 1), (15, 8), (16, 16), (17, 32), (18, 64), (21, 512), (57, 1 << 45)] {
            let address = Gva(0x7654_3210_f123);
            let set = PageGroups::of_page(address, shift);
            assert_eq!(u64::from(set.0.count_ones()), u64::min(pages, 64), "{shift}");
            let start = address.0 >> shift << shift;
            for page in [0, pages / 2, pages - 1] {
                assert!(set.may_have(Gva(start + (page << 12))), "{page} of {shift}");
            }
            if pages < 64 {
                assert!(!set.may_have(Gva(start.wrapping_sub(1))) && !set.may_have(Gva(start + (pages << 12))));
            }
        }
    }

    #[test]
    fn sets_are_joined() {
        let both = PageGroups::of_page(Gva(0x1000), 12).and(PageGroups::of_page(Gva(0x3000), 12));
        assert_eq!(both, PageGroups(0b1010));
        assert!(PageGroups::ALL.may_have(Gva(!0)) && !PageGroups::NONE.may_have(Gva(!0)));
    }
}
