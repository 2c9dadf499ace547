//! Sections in a machine: made from the plan when it starts, mapped into each guest as that is added, resolved on faults, and gone with their
//! guests. The mechanisms are `hypervisor::section` and `memory::section`.

pub(crate) mod calls;
mod figures;
pub(crate) mod host;
mod plan;
pub(crate) mod serve;
pub(crate) mod start;
mod table_bytes;

pub use figures::{FreedFigures, GuestFigures, ReservedFigures, SectionFigures, ShadowMemory, WindowFigures};
pub use hypervisor::section::SectionAccess;
pub use memory::section::{FaultCounts, FileCounts};
pub use plan::{GuestSection, GuestSections, PlacementError, SectionPlan, SectionStore, Wish, place};
pub use table_bytes::private_table_bytes;
