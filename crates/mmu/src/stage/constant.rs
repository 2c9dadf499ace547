//! No second stage: guest physical address plus a constant.

use super::{Backing, HostMapping, Stage};
use crate::fault::{Fault, Purpose};
use crate::memory::TableMemory;
use crate::rights::Rights;
use crate::statistics::MmuStatistics;
use core::ops::Range;
use types::{Access, Gpa, Hpa, PageSize};

/// `SecondStage::Constant` during one walk.
pub(crate) struct ConstantStage<'a, M> {
    pub(crate) memory: &'a mut M,
    pub(crate) statistics: &'a mut MmuStatistics,
    pub(crate) ram: &'a Range<Gpa>,
    pub(crate) offset: u64,
}

/// Where a byte of memory in a base page is; `None` of any other page. (What [`ConstantStage`] finds for it.)
#[inline(always)]
pub(crate) fn base_page(ram: &Range<Gpa>, offset: u64, gpa: Gpa) -> Option<Hpa> {
    let (first, last) = (gpa.page(PageSize::Size4K), Gpa(gpa.0 | (PageSize::Size4K.bytes() - 1)));
    let within = (ram.start <= first) & (last < ram.end) & (offset & (PageSize::Size4K.bytes() - 1) == 0);
    within.then_some(Hpa(gpa.0.wrapping_add(offset)))
}

/// How a page lies to the memory's range.
enum Position {
    Within,
    Outside,
    Across,
}

impl<M> ConstantStage<'_, M> {
    fn position(&self, page: Gpa, size: PageSize) -> Position {
        // The last byte, because the end of the topmost page is not an address.
        let last = Gpa(page.0 | (size.bytes() - 1));
        let Range { start, end } = *self.ram;
        if start <= page && last < end {
            Position::Within
        } else if last < start || end <= page || start >= end {
            Position::Outside
        } else {
            Position::Across
        }
    }

    /// The page of `size` around `gpa`, unless it is not all of one kind, or would not be aligned in the host.
    fn mapping(&self, gpa: Gpa, size: PageSize) -> Option<HostMapping> {
        let page = gpa.page(size);
        let (page, backing) = match self.position(page, size) {
            Position::Within if self.offset & (size.bytes() - 1) == 0 => {
                (Hpa(page.0.wrapping_add(self.offset)), Backing::Host)
            }
            Position::Outside => (Hpa(page.0), Backing::Device),
            Position::Within | Position::Across => return None,
        };
        Some(HostMapping { page, size, rights: Rights::ALL, backing })
    }

    /// The largest page around `gpa`, of at most `size`, that is all of one kind.
    #[cold]
    #[inline(never)]
    fn largest(&self, gpa: Gpa, mut size: PageSize) -> HostMapping {
        loop {
            if let Some(mapping) = self.mapping(gpa, size) {
                return mapping;
            }
            // Memory and offset come in whole 4K pages; were they not, the page would be nobody's.
            let nobody =
                HostMapping { page: Hpa(gpa.page(size).0), size, rights: Rights::ALL, backing: Backing::Device };
            size = match size.smaller() {
                Some(smaller) => smaller,
                None => return nobody,
            };
        }
    }
}

impl<M: TableMemory> Stage for ConstantStage<'_, M> {
    type Memory = M;

    fn memory(&mut self) -> &mut M {
        self.memory
    }

    fn statistics(&mut self) -> &mut MmuStatistics {
        self.statistics
    }

    #[inline(always)]
    fn translate(&mut self, gpa: Gpa, _: Access, _: Purpose, limit: PageSize) -> Result<HostMapping, Fault> {
        // Mostly all of it is memory.
        let page = gpa.page(limit);
        if matches!(self.position(page, limit), Position::Within) && self.offset & (limit.bytes() - 1) == 0 {
            let page = Hpa(page.0.wrapping_add(self.offset));
            return Ok(HostMapping { page, size: limit, rights: Rights::ALL, backing: Backing::Host });
        }
        Ok(self.largest(gpa, limit))
    }

    #[inline]
    fn translate_update(&mut self, gpa: Gpa) -> Result<HostMapping, Fault> {
        self.translate(gpa, Access::Write, Purpose::Table, PageSize::Size4K)
    }
}
