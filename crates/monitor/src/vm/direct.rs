//! The monitor's direct segment of a VM (paper 002, slides 15 and 16): BASE, LIMIT and OFFSET lead from nearly all of its guest physical
//! memory to one piece of host memory. What lies outside is paged, and so is what the escape filter takes out of the segment: a page
//! whose frame is faulty (slide 25), and, for the filter's false positives, any other, which the table then maps to where the segment leads.

use memory::FrameRange;
use mmu::{DirectSegment, EscapeFilter, Segment};
use std::collections::BTreeMap;
use types::{Gpa, Hpa, PageSize};

const PAGE: PageSize = PageSize::Size4K;

/// Size of an escape filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FilterSize {
    /// Bits for each page size.
    pub bits: u32,
    /// Hash functions.
    pub hashes: u32,
}

impl Default for FilterSize {
    /// Of [`EscapeFilter::default`].
    fn default() -> Self {
        Self { bits: 256, hashes: 4 }
    }
}

impl FilterSize {
    /// An empty filter of this size, or of the default one where there can be none.
    #[must_use]
    pub fn build(self) -> EscapeFilter {
        EscapeFilter::new(self.bits, self.hashes).unwrap_or_default()
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Direct {
    registers: DirectSegment,
    base: Gpa,
    frames: FrameRange,
    /// Pages that lie elsewhere, because the frame that the segment leads to is faulty.
    replaced: BTreeMap<Gpa, Hpa>,
}

impl Direct {
    /// A segment from `base` to `frames`, which are the VM's for good.
    pub(super) fn new(base: Gpa, frames: FrameRange, filter: FilterSize) -> Self {
        let segment = Segment::of_monitor(base..base.wrapping_add(frames.bytes()), frames.start()).unwrap_or_default();
        Self { registers: DirectSegment { segment, escape: filter.build() }, base, frames, replaced: BTreeMap::new() }
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
        self.registers.escape.insert(gpa.0);
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
        assert_eq!(direct.replaced(), 1);
    }
}
