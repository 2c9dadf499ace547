//! What is kept of the pages that guests use.

use crate::pages::{Distances, Heatmaps, SpacePage};
use crate::parts::intervals::RegionChange;
use crate::profile::Space;
use types::Cycles;

/// What a heatmap counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeatmapOf {
    /// L1 misses of loads, stores and fetches.
    Misses,
    /// Loads and stores.
    References,
}

/// What is to be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageRequest {
    /// The reuse distances of pages.
    pub reuse: bool,
    /// A heatmap.
    pub heatmap: Option<HeatmapOf>,
}

/// What is kept of the pages that guests use.
#[derive(Debug)]
pub(crate) struct PageWatch {
    request: PageRequest,
    /// By guest, if they are kept.
    distances: Vec<Distances>,
    /// By guest, if they are kept.
    heatmaps: Vec<Heatmaps>,
    /// By pCPU: the address space there.
    spaces: Vec<Space>,
}

impl PageWatch {
    /// For so many pCPUs, and guests with so many harts each.
    pub(crate) fn new(request: PageRequest, pcpus: usize, harts: impl Iterator<Item = usize> + Clone) -> Self {
        Self {
            request,
            distances: harts.clone().filter(|_| request.reuse).map(Distances::new).collect(),
            heatmaps: harts.filter(|_| request.heatmap.is_some()).map(|_| Heatmaps::new()).collect(),
            spaces: vec![Space::default(); pcpus],
        }
    }

    /// Whether harts have to keep every page that they access.
    pub(crate) fn needs_accesses(&self) -> bool {
        self.request.reuse || self.request.heatmap == Some(HeatmapOf::References)
    }

    /// Whether L1 misses are of interest.
    pub(crate) fn needs_misses(&self) -> bool {
        self.request.heatmap == Some(HeatmapOf::Misses)
    }

    /// A pCPU translates in an address space from now on.
    pub(crate) fn enter(&mut self, pcpu: usize, space: Space) {
        self.spaces[pcpu] = space;
    }

    /// The address space of a pCPU.
    pub(crate) fn space(&self, pcpu: usize) -> Space {
        self.spaces[pcpu]
    }

    /// A hart has accessed a page so many times in a row, in a turn that began at `at`.
    pub(crate) fn accessed(&mut self, (guest, hart): (usize, usize), page: SpacePage, at: Cycles, count: u64) {
        if let Some(distances) = self.distances.get_mut(guest) {
            distances.touch(hart, page, count);
        }
        if self.request.heatmap == Some(HeatmapOf::References) {
            self.heatmaps[guest].add(page, at, count);
        }
    }

    /// An access to a page has missed the L1 so many times.
    pub(crate) fn missed(&mut self, guest: usize, page: SpacePage, at: Cycles, count: u64) {
        self.heatmaps[guest].add(page, at, count);
    }

    /// The region of interest of a guest changes.
    pub(crate) fn region(&mut self, guest: usize, change: RegionChange) {
        if let Some(distances) = self.distances.get_mut(guest) {
            match change {
                RegionChange::Warms => distances.drop_region(),
                RegionChange::Begins => distances.begin_region(),
                RegionChange::Ends => distances.end_region(),
            }
        }
        if let Some(heatmaps) = self.heatmaps.get_mut(guest) {
            match change {
                RegionChange::Warms => heatmaps.drop_region(),
                RegionChange::Begins => heatmaps.begin_region(),
                RegionChange::Ends => heatmaps.end_region(),
            }
        }
    }

    /// The reuse distances of a guest, if they are kept.
    pub(crate) fn distances(&self, guest: usize) -> Option<&Distances> {
        self.distances.get(guest)
    }

    /// The heatmap of a guest, if one is kept.
    pub(crate) fn heatmaps(&self, guest: usize) -> Option<&Heatmaps> {
        self.heatmaps.get(guest)
    }
}
