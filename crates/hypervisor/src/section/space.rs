//! One VM's guest physical address space, as far as sections are in it: which regions are taken, and where a map may go. Pure.

use super::error::SectionMapError;
use super::request::{MapRequest, SectionAccess, VmProfile};
use super::working_set::WorkingSet;
use crate::table::SharedTables;
use core::ops::Range;
use memory::section::{FaultCounts, SectionId};
use std::collections::BTreeMap;
use types::{Gpa, PageSize};

const PAGE: u64 = PageSize::Size4K.bytes();

/// A section's appearance in a VM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    /// The section.
    pub section: SectionId,
    /// The first of its pages that appears.
    pub first: u64,
    /// How many.
    pub pages: u64,
    /// What the VM may do.
    pub access: SectionAccess,
    /// Addresses that nothing else may have: those of the pages, and of the rest of the last shared table.
    pub region: Range<Gpa>,
    /// What maps it.
    pub tables: WindowTables,
}

/// The tables that map a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowTables {
    /// The VM's own.
    Private,
    /// The section's, linked as tables of this level.
    Shared {
        /// 0 for leaf tables.
        level: u32,
    },
}

impl Window {
    /// The page of the section that appears at `gpa`; `None` beyond the window's end.
    #[must_use]
    pub fn page_at(&self, gpa: Gpa) -> Option<u64> {
        let page = (gpa.0.checked_sub(self.region.start.0)?) / PAGE;
        (page < self.pages).then_some(self.first + page)
    }
}

/// What a VM maps.
#[derive(Debug)]
pub(super) struct SectionSpace {
    pub(super) profile: VmProfile,
    windows: BTreeMap<Gpa, Window>,
    pub(super) working_set: WorkingSet,
    pub(super) faults: FaultCounts,
    /// Tables of the VM's own that were added for sections. Where a section leaves they are not counted down one by one: with the last window they are all gone.
    pub(super) tables: u64,
}

impl SectionSpace {
    pub(super) fn new(profile: VmProfile) -> Self {
        let working_set = WorkingSet::new(profile.quota);
        Self { profile, windows: BTreeMap::new(), working_set, faults: FaultCounts::default(), tables: 0 }
    }

    /// The window whose region holds `gpa`.
    pub(super) fn window_at(&self, gpa: Gpa) -> Option<&Window> {
        self.windows.range(..=gpa).next_back().map(|(_, window)| window).filter(|window| gpa < window.region.end)
    }

    /// All windows, ascending.
    pub(super) fn windows(&self) -> impl Iterator<Item = &Window> {
        self.windows.values()
    }

    pub(super) fn insert(&mut self, window: Window) {
        self.windows.insert(window.region.start, window);
    }

    /// Takes the window that begins at `at` out.
    pub(super) fn remove(&mut self, at: Gpa) -> Option<Window> {
        let window = self.windows.remove(&at);
        if self.windows.is_empty() {
            self.tables = 0;
        }
        window
    }

    /// Where a map of pages `first..end` of a section would go, whose shared tables are `shared`.
    pub(super) fn place(
        &self,
        request: &MapRequest,
        section: SectionId,
        (first, end): (u64, u64),
        shared: Option<&SharedTables>,
    ) -> Result<Window, SectionMapError> {
        let name = || request.name.clone();
        let at = request.at;
        if !at.is_aligned(PAGE) {
            return Err(SectionMapError::Misaligned { name: name(), at });
        }
        let limit = self.profile.limit;
        let bytes = (end - first) * PAGE;
        let region = |bytes: u64| at.checked_add(bytes).filter(|&end| end <= limit).map(|end| at..end);
        let own = region(bytes).ok_or_else(|| SectionMapError::Beyond { name: name(), at, limit })?;
        if let Some(with) = self.collision(&own) {
            return Err(SectionMapError::Overlaps { name: name(), region: own, with });
        }
        let writable = request.access == SectionAccess::ReadWrite;
        let linked = shared.filter(|_| writable && self.profile.links).and_then(|shared| {
            (0..=shared.top()).rev().find_map(|level| {
                let span = PageSize::of_level(level + 1).bytes();
                let aligned = at.is_aligned(span) && (first * PAGE).is_multiple_of(span);
                // A table more than it fills would take address space for nothing; the leaf table is the least that can be shared.
                let fills = level == 0 || bytes >= span;
                // What is left of the last table must be unmapped, and not pages of the section that were not asked for.
                let ends = bytes.is_multiple_of(span) || end * PAGE == shared.section_bytes();
                let fits = level + 1 < self.profile.mode.levels() && shared.is_linkable(level);
                let region = region(bytes.next_multiple_of(span))
                    .filter(|region| aligned && fills && ends && fits && self.collision(region).is_none())?;
                Some((region, WindowTables::Shared { level }))
            })
        });
        let (region, tables) = linked.unwrap_or((own, WindowTables::Private));
        Ok(Window { section, first, pages: end - first, access: request.access, region, tables })
    }

    /// What overlaps `region`.
    fn collision(&self, region: &Range<Gpa>) -> Option<Range<Gpa>> {
        let windows = self.windows.values().map(|window| &window.region);
        let mut others = self.profile.taken.iter().chain(windows);
        others.find(|other| other.start < region.end && region.start < other.end).cloned()
    }
}
