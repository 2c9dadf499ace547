//! Which pages a guest uses and when: the reuse distances of its pages, and a map of its addresses over time (docs/over-time.md).
//!
//! These modules know nothing of the machine. `machine/pages.rs` gives them what harts have accessed.

mod distances;
mod heatmap;
mod histogram;
mod stack;

pub(crate) use distances::Distances;
pub(crate) use heatmap::Heatmaps;

pub use distances::{HartReuse, Reuse};
pub use heatmap::{Heatmap, HeatmapCell};
pub use histogram::{DistanceBucket, DistanceHistogram};

use crate::profile::Space;
use types::Gva;

/// A page of 4 KiB in an address space. The upper half of the addresses, which kernels map everywhere, is of no space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SpacePage {
    /// The address space; `None` of the upper half.
    pub space: Option<Space>,
    /// The page.
    pub page: Gva,
}

impl SpacePage {
    /// The page of an address.
    pub(crate) fn of(space: Space, at: Gva) -> Self {
        let upper = at.0 >> 63 != 0;
        Self { space: (!upper).then_some(space), page: Gva(at.0 & !0xfff) }
    }
}
