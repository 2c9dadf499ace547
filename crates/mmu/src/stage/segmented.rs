//! The monitor's segment before any other second stage: in each step of a walk, an address that it holds needs no table.

use super::{Backing, HostMapping, Stage};
use crate::fault::{Fault, Purpose};
use crate::rights::Rights;
use crate::segment::{DirectSegment, Lookup};
use crate::statistics::MmuStatistics;
use types::{Access, Gpa, Hpa, PageSize};

/// A second stage behind a segment during one walk.
pub(crate) struct SegmentedStage<'a, 's, S> {
    pub(crate) segment: &'a DirectSegment,
    pub(crate) inner: &'s mut S,
}

/// What the segment leads to.
pub(crate) const fn mapping(page: u64, size: PageSize) -> HostMapping {
    HostMapping { page: Hpa(page), size, rights: Rights::ALL, backing: Backing::Host }
}

impl<S: Stage> Stage for SegmentedStage<'_, '_, S> {
    type Memory = S::Memory;

    fn memory(&mut self) -> &mut S::Memory {
        self.inner.memory()
    }

    fn statistics(&mut self) -> &mut MmuStatistics {
        self.inner.statistics()
    }

    fn translate(&mut self, gpa: Gpa, access: Access, purpose: Purpose, limit: PageSize) -> Result<HostMapping, Fault> {
        match self.segment.look_up(gpa.0, limit) {
            Lookup::Page { page, size } => {
                let statistics = self.statistics();
                statistics.monitor_segment_hits += 1;
                statistics.monitor_segment_pages += u64::from(purpose == Purpose::Data);
                return Ok(mapping(page, size));
            }
            Lookup::Escapes => self.statistics().escape_hits += 1,
            Lookup::Outside => {}
        }
        self.inner.translate(gpa, access, purpose, limit)
    }

    fn translate_update(&mut self, gpa: Gpa) -> Result<HostMapping, Fault> {
        // The latest translation was the segment's if this is: it is not counted again.
        match self.segment.look_up(gpa.0, PageSize::Size4K) {
            Lookup::Page { page, size } => Ok(mapping(page, size)),
            Lookup::Outside | Lookup::Escapes => self.inner.translate_update(gpa),
        }
    }
}
