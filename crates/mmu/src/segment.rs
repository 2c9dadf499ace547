//! Direct segments: BASE, LIMIT and OFFSET translate a whole range of addresses without tables (Gandhi et al. 2014; Basu et al., ISCA 2013).
//!
//! A pCPU has two sets of these registers: the guest's, from guest virtual to guest physical addresses, and the hypervisor's, from
//! guest physical to host physical ones. Which of them are on is the mode: the hypervisor's (VMM Direct), the guest's (Guest Direct, or, on a
//! native machine, Basu's direct segment), or both (Dual Direct).
//!
//! Order of a lookup (slides 35 to 38):
//!
//! 1. the L1 TLB;
//! 2. the L2 TLB, and both segments at once: where the guest's holds the address, and the hypervisor's (or, on a native machine, nothing) leads on
//!    to the host, no table is read. The page is filled into the L1 as one of 4K, and the L2 is neither asked nor filled;
//! 3. the walk. The guest's segment takes the place of the guest's tables; each guest physical address, of a table or of the page, is
//!    translated by the hypervisor's segment where that holds it, and else by the second stage. The result fills both TLBs.
//!
//! A segment holds an address that its escape filter does not: see [`EscapeFilter`]. The guest's segment is a process's data: loads and stores
//! from U, or from S under SUM, in a context with translation; every other access is translated by paging. The hypervisor's serves all accesses.
//!
//! TLB entries outlive the registers that they were filled through: software that changes registers fences.

pub(crate) mod escape_filter;

use crate::rights::Rights;
use crate::segment::escape_filter::EscapeFilter;
use core::ops::Range;
use types::{Gpa, Gva, Hpa, PageSize};

/// The registers of one segment, in whole 4K pages. It is off where BASE = LIMIT.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    base: u64,
    limit: u64,
    offset: u64,
}

impl Segment {
    /// A segment of the guest: `range` is at `target` and above.
    ///
    /// `None` unless all are multiples of 4K, and neither range wraps.
    #[must_use]
    pub fn of_guest(range: Range<Gva>, target: Gpa) -> Option<Self> {
        Self::new(range.start.0..range.end.0, target.0)
    }

    /// A segment of the hypervisor: `range` is at `target` and above.
    ///
    /// `None` unless all are multiples of 4K, and neither range wraps.
    #[must_use]
    pub fn of_hypervisor(range: Range<Gpa>, target: Hpa) -> Option<Self> {
        Self::new(range.start.0..range.end.0, target.0)
    }

    fn new(range: Range<u64>, target: u64) -> Option<Self> {
        let bytes = range.end.checked_sub(range.start)?;
        target.checked_add(bytes)?;
        let whole = (range.start | range.end | target).is_multiple_of(PageSize::Size4K.bytes());
        whole.then_some(Self { base: range.start, limit: range.end, offset: target.wrapping_sub(range.start) })
    }

    /// BASE and LIMIT.
    #[must_use]
    pub const fn range(&self) -> Range<u64> {
        self.base..self.limit
    }

    /// Where BASE leads.
    #[must_use]
    pub const fn target(&self) -> u64 {
        self.base.wrapping_add(self.offset)
    }

    /// What is added to an address, modulo 2^64.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether it holds an address.
    #[must_use]
    pub const fn contains(&self, address: u64) -> bool {
        self.base <= address && address < self.limit
    }

    /// Whether it holds all of the page of `size` around an address, and that is aligned on the other side, too.
    const fn contains_page(&self, address: u64, size: PageSize) -> bool {
        let rest = size.bytes() - 1;
        self.base <= address & !rest && address | rest < self.limit && self.offset & rest == 0
    }
}

/// A segment with its escape filter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DirectSegment {
    /// The registers.
    pub segment: Segment,
    /// Pages of the range that are translated by paging.
    pub escape: EscapeFilter,
}

/// What a segment says of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lookup {
    /// It lies outside.
    Outside,
    /// It lies inside, but paging is to translate it.
    Escapes,
    /// It lies in this page.
    Page {
        /// Start of the page, translated.
        page: u64,
        size: PageSize,
    },
}

impl DirectSegment {
    /// Whether it holds any address.
    pub(crate) const fn is_on(&self) -> bool {
        self.segment.base < self.segment.limit
    }

    /// Translates an address, as part of the largest page of at most `largest` that the segment holds whole.
    pub(crate) fn look_up(&self, address: u64, largest: PageSize) -> Lookup {
        if !self.segment.contains(address) {
            return Lookup::Outside;
        }
        let mut size = largest;
        loop {
            if self.segment.contains_page(address, size) && !self.escape.may_hold(address, size) {
                let page = (address & !(size.bytes() - 1)).wrapping_add(self.segment.offset);
                return Lookup::Page { page, size };
            }
            match size.smaller() {
                Some(smaller) => size = smaller,
                None => return Lookup::Escapes,
            }
        }
    }
}

/// The segment registers of a pCPU.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Segments {
    /// From guest virtual to guest physical addresses.
    pub guest: DirectSegment,
    /// From guest physical to host physical addresses.
    pub hypervisor: DirectSegment,
}

impl Segments {
    /// Whether neither holds any address.
    #[inline(always)]
    pub(crate) const fn are_off(&self) -> bool {
        !self.guest.is_on() && !self.hypervisor.is_on()
    }

    /// What the guest's segment permits: a process's data.
    pub(crate) const GUEST_RIGHTS: Rights = Rights::READ.with(Rights::WRITE, true).with(Rights::USER, true);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct(range: Range<u64>, target: u64) -> DirectSegment {
        DirectSegment { segment: Segment::new(range, target).unwrap(), ..DirectSegment::default() }
    }

    #[test]
    fn base_is_inside_and_limit_is_outside() {
        let segment = direct(0x1000..0x4000, 0x9000);
        let page = |page| Lookup::Page { page, size: PageSize::Size4K };
        assert_eq!(segment.look_up(0x1000, PageSize::Size4K), page(0x9000));
        assert_eq!(segment.look_up(0x3fff, PageSize::Size256T), page(0xb000));
        for outside in [0, 0xfff, 0x4000, u64::MAX] {
            assert_eq!(segment.look_up(outside, PageSize::Size4K), Lookup::Outside, "{outside:#x}");
        }
        assert!(segment.is_on() && !DirectSegment::default().is_on());
        assert_eq!(DirectSegment::default().look_up(0, PageSize::Size4K), Lookup::Outside);
    }

    #[test]
    fn a_page_is_as_large_as_it_is_whole_on_both_sides() {
        let size = |segment: &DirectSegment, address| match segment.look_up(address, PageSize::Size1G) {
            Lookup::Page { size, .. } => size,
            other => panic!("{other:?}"),
        };
        let aligned = direct(0x20_0000..0x60_1000, 0x4000_0000 + 0x20_0000);
        assert_eq!(size(&aligned, 0x20_0000), PageSize::Size2M);
        assert_eq!(size(&aligned, 0x5f_ffff), PageSize::Size2M);
        assert_eq!(size(&aligned, 0x60_0000), PageSize::Size4K, "cut off by the limit");
        let shifted = direct(0x20_0000..0x60_0000, 0x4001_0000 + 0x20_0000);
        assert_eq!(size(&shifted, 0x30_0000), PageSize::Size64K, "aligned to 64K in the host");
    }

    #[test]
    fn a_page_that_escapes_leaves_its_neighbours_alone() {
        let mut segment = direct(0..0x4000_0000, 0x4000_0000);
        segment.escape.insert(0x1234_5678);
        assert_eq!(segment.look_up(0x1234_5000, PageSize::Size1G), Lookup::Escapes);
        let beside = segment.look_up(0x1234_4fff, PageSize::Size1G);
        assert_eq!(beside, Lookup::Page { page: 0x5234_4000, size: PageSize::Size4K });
        let far = segment.look_up(0x2000_0000, PageSize::Size1G);
        assert_eq!(far, Lookup::Page { page: 0x6000_0000, size: PageSize::Size2M });
    }

    #[test]
    fn what_wraps_or_is_no_whole_page_is_no_segment() {
        for (range, target) in [
            (Range { start: 0x2000, end: 0x1000 }, 0),
            (0x1001..0x2000, 0),
            (0x1000..0x2001, 0),
            (0x1000..0x2000, 1),
            (0..!0xfff, 0x1000_0000),
        ] {
            assert_eq!(Segment::new(range.clone(), target), None, "{range:x?} {target:#x}");
        }
        assert!(Segment::of_guest(Gva(0)..Gva(0x1000), Gpa(0)).is_some());
        assert!(Segment::of_hypervisor(Gpa(0x1000)..Gpa(0x2000), Hpa(0)).is_some());
    }
}
