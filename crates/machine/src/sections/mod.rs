//! Sections in a machine: made from the plan when it starts, mapped into each guest as that is added, resolved on faults, and gone with their
//! guests. The mechanisms are `hypervisor::section` and `memory::section`.

mod calls;
mod figures;
pub(crate) mod host;
mod plan;
mod serve;
mod start;

pub use figures::{GuestFigures, ReservedFigures, SectionFigures, ShadowMemory, WindowFigures};
pub use hypervisor::section::SectionAccess;
pub use memory::section::{FaultCounts, FileCounts};
pub use plan::{GuestSection, GuestSections, PlacementError, SectionPlan, SectionStore, Wish, place};

pub(crate) use start::{host_bytes, start};
