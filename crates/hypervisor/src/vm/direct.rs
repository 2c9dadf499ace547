//! The hypervisor's direct segment of a VM (paper 002, slides 15 and 16): BASE, LIMIT and OFFSET lead from nearly all of its guest physical
//! memory to one piece of host memory. What lies outside is paged, and so is what the escape filter takes out of the segment: a page
//! whose frame is faulty (slide 25), and, for the filter's false positives, any other, which the table then maps to where the segment leads.

use memory::FrameRange;
use mmu::{DirectSegment, EscapeFilter, Segment};
use std::collections::BTreeMap;
use types::{Gpa, Hpa, PageSize};

const PAGE: PageSize = PageSize::Size4K;

/// Bytes of host memory that are enough for the tables of what escapes, beside the segment: the root, and for 1024 pages anywhere a table
/// each of the lowest level.
pub(super) const TABLES_BYTES: u64 = 8 << 20;

/// Size of an escape filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FilterSize {
    /// Bits for each page size; `None`: as many as the pages that escape need ([`FilterSize::bits_for`]).
    pub bits: Option<u32>,
    /// Hash functions.
    pub hashes: u32,
}

impl Default for FilterSize {
    /// As many bits as are needed, at least those of [`EscapeFilter::default`].
    fn default() -> Self {
        Self { bits: None, hashes: 4 }
    }
}

impl FilterSize {
    /// Bits for each page that escapes, as 256 are for 16: with four hash functions 0.24 % of all others are false positives.
    const BITS_PER_PAGE: u32 = 16;
    /// Of a filter for up to 16 pages.
    const LEAST_BITS: u32 = 256;
    /// Of the largest filter.
    const MOST_BITS: u32 = 1 << 20;

    /// Bits of a filter that holds this many pages, where the size is not given: a power of two, 256 for up to 16 pages.
    #[must_use]
    pub fn bits_for(pages: usize) -> u32 {
        let wanted = u32::try_from(pages).unwrap_or(u32::MAX).saturating_mul(Self::BITS_PER_PAGE);
        wanted.clamp(Self::LEAST_BITS, Self::MOST_BITS).next_power_of_two()
    }

    /// An empty filter for this many pages, or the default one where there can be none of this size.
    #[must_use]
    pub fn build(self, pages: usize) -> EscapeFilter {
        EscapeFilter::new(self.bits.unwrap_or_else(|| Self::bits_for(pages)), self.hashes).unwrap_or_default()
    }
}

/// An escape filter of a given size that holds too many pages: more than one in a hundred of all others are false positives.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[error(
    "{pages} pages escape, and an escape filter of {bits} bits lets {:.0} % of all others escape too: {} bits hold them",
    100.0 * .false_positives,
    FilterSize::bits_for(*.pages)
)]
pub struct SaturatedFilter {
    /// Pages that were inserted.
    pub pages: usize,
    /// Bits for each page size.
    pub bits: u32,
    /// The part of other pages that is found in it.
    pub false_positives: f64,
}

/// The hypervisor's direct segment of one VM.
#[derive(Debug)]
pub(super) struct Direct {
    registers: DirectSegment,
    base: Gpa,
    frames: FrameRange,
    filter: FilterSize,
    /// Pages that lie elsewhere, because the frame that the segment leads to is faulty.
    replaced: BTreeMap<Gpa, Hpa>,
}

impl Direct {
    /// A segment from `base` to `frames`, which are the VM's for good.
    pub(super) fn new(base: Gpa, frames: FrameRange, filter: FilterSize) -> Self {
        let segment =
            Segment::of_hypervisor(base..base.wrapping_add(frames.bytes()), frames.start()).unwrap_or_default();
        let registers = DirectSegment { segment, escape: filter.build(0) };
        Self { registers, base, frames, filter, replaced: BTreeMap::new() }
    }

    /// What the hardware is to have in its registers.
    pub(super) const fn registers(&self) -> &DirectSegment {
        &self.registers
    }

    /// Where the segment ends.
    fn limit(&self) -> Gpa {
        self.base.wrapping_add(self.frames.bytes())
    }

    /// Whether an address lies in it, escaping or not.
    pub(super) fn contains(&self, gpa: Gpa) -> bool {
        self.base <= gpa && gpa < self.limit()
    }

    /// Where a byte lies that is in it.
    pub(super) fn hpa(&self, gpa: Gpa) -> Option<Hpa> {
        if !self.contains(gpa) {
            return None;
        }
        let straight = self.frames.start().wrapping_add(gpa.0 - self.base.0).page(PAGE);
        let page = self.replaced.get(&gpa.page(PAGE)).copied().unwrap_or(straight);
        Some(page.wrapping_add(gpa.offset(PAGE)))
    }

    /// How many bytes from `gpa` on lie in one piece.
    pub(super) fn contiguous(&self, gpa: Gpa) -> u64 {
        if self.replaced.contains_key(&gpa.page(PAGE)) {
            return PAGE.bytes() - gpa.offset(PAGE);
        }
        let end = self.replaced.range(gpa..).next().map_or(self.limit(), |(&page, _)| page);
        end.0 - gpa.0
    }

    /// The page that lies in the frame at `hpa`.
    pub(super) fn page_at(&self, hpa: Hpa) -> Option<Gpa> {
        if let Some((&gpa, _)) = self.replaced.iter().find(|&(_, &frame)| frame == hpa.page(PAGE)) {
            return Some(gpa);
        }
        let inside = self.frames.start() <= hpa && hpa < self.frames.end();
        let gpa = inside.then(|| self.base.wrapping_add(hpa.0 - self.frames.start().0).page(PAGE))?;
        (!self.replaced.contains_key(&gpa)).then_some(gpa)
    }

    /// From now on the page at `gpa` lies in `frame`, and paging translates it.
    pub(super) fn replace(&mut self, gpa: Gpa, frame: Hpa) {
        self.replaced.insert(gpa.page(PAGE), frame);
        let pages = self.replaced.len();
        if self.filter.bits.is_some() || FilterSize::bits_for(pages) <= self.registers.escape.bits() {
            self.registers.escape.insert(gpa.0);
            return;
        }
        // What was a false positive before stays mapped to where the segment leads.
        self.registers.escape = self.filter.build(pages);
        for &page in self.replaced.keys() {
            self.registers.escape.insert(page.0);
        }
    }

    /// Whether the filter holds more pages than it is good for.
    pub(super) fn saturated(&self) -> Option<SaturatedFilter> {
        let (pages, escape) = (self.replaced.len(), &self.registers.escape);
        let false_positives = escape.false_positives(pages);
        (false_positives > 0.01).then(|| SaturatedFilter { pages, bits: escape.bits(), false_positives })
    }

    /// The pages that were replaced, and where each lies.
    pub(super) fn replacements(&self) -> impl Iterator<Item = (Gpa, Hpa)> {
        self.replaced.iter().map(|(&gpa, &frame)| (gpa, frame))
    }

    /// Pages that were replaced.
    pub(super) fn replaced(&self) -> usize {
        self.replaced.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_page_lies_elsewhere_and_its_neighbours_do_not() {
        let frames = FrameRange::new(Hpa(0x9000_0000), 0x10_0000).unwrap();
        let mut direct = Direct::new(Gpa(0x8000_0000), frames, FilterSize::default());
        assert_eq!(direct.hpa(Gpa(0x8000_1234)), Some(Hpa(0x9000_1234)));
        assert_eq!((direct.hpa(Gpa(0x7fff_ffff)), direct.hpa(Gpa(0x8010_0000))), (None, None));
        assert_eq!(direct.contiguous(Gpa(0x8000_0010)), 0x10_0000 - 0x10);
        assert_eq!(direct.page_at(Hpa(0x9000_2fff)), Some(Gpa(0x8000_2000)));
        direct.replace(Gpa(0x8000_2345), Hpa(0xa000_0000));
        assert_eq!(direct.hpa(Gpa(0x8000_2345)), Some(Hpa(0xa000_0345)));
        assert_eq!(direct.hpa(Gpa(0x8000_3000)), Some(Hpa(0x9000_3000)));
        assert_eq!(direct.contiguous(Gpa(0x8000_1800)), 0x800);
        assert_eq!(direct.contiguous(Gpa(0x8000_2800)), 0x800);
        assert_eq!(direct.page_at(Hpa(0x9000_2000)), None);
        assert_eq!(direct.page_at(Hpa(0xa000_0fff)), Some(Gpa(0x8000_2000)));
        assert!(direct.registers().escape.may_hold(0x8000_2000, PAGE));
        assert_eq!((direct.replaced(), direct.saturated()), (1, None));
    }

    fn with_pages_replaced(filter: FilterSize, pages: u64) -> Direct {
        let frames = FrameRange::new(Hpa(0x1_0000_0000), 0x1000_0000).unwrap();
        let mut direct = Direct::new(Gpa(0x8000_0000), frames, filter);
        for page in 0..pages {
            direct.replace(Gpa(0x8000_0000 + (page * 0x9e3_7000) % 0x1000_0000), Hpa(0x9000_0000 + page * 0x1000));
        }
        assert_eq!(direct.replaced() as u64, pages);
        for page in direct.replaced.keys() {
            assert!(direct.registers.escape.may_hold(page.0, PAGE), "{page}");
        }
        direct
    }

    #[test]
    fn a_filter_without_a_given_size_grows_with_the_pages_that_escape() {
        for (pages, bits) in [(0, 256), (1, 256), (16, 256), (17, 512), (256, 4096), (257, 8192), (3000, 65536)] {
            let direct = with_pages_replaced(FilterSize::default(), pages);
            assert_eq!((direct.registers.escape.bits(), direct.saturated()), (bits, None), "{pages} pages");
        }
        assert_eq!(FilterSize::bits_for(usize::MAX), 1 << 20);
    }

    #[test]
    fn a_filter_of_a_given_size_stays_and_says_when_it_is_full() {
        let fixed = FilterSize { bits: Some(256), hashes: 4 };
        assert_eq!(with_pages_replaced(fixed, 16).saturated(), None);
        let text = with_pages_replaced(fixed, 256).saturated().unwrap().to_string();
        let expected = "256 pages escape, and an escape filter of 256 bits lets 93 % of all others escape too: 4096 bits hold them";
        assert_eq!(text, expected);
    }
}
