//! The second stage: from guest physical to host physical addresses.
//!
//! A scheme is a [`SecondStage`] variant, which holds what the hypervisor chooses, and a type that implements [`Map`](crate::walk::Map) for the
//! length of one walk. `kind.rs` joins the two: a variant without its type does not compile. Neither the walker nor the TLBs change.

mod agile;
#[cfg(test)]
mod composition;
mod constant;
mod entry_cache;
mod flat;
mod format;
mod host;
mod kind;
mod nested_tlb;
mod radix;
mod reserved;
mod second_stage;
mod segmented;
mod tabled;

pub use agile::{SWITCHING, ShadowRoot};
pub(crate) use format::FormatHardware;
pub use format::{CloneFormat, Entries, FoundEntry, LookupError, Registers, TableFormat};
pub(crate) use kind::{SecondStageHardware, StageKind, StageVisitor};
pub(crate) use nested_tlb::NestedTlb;
pub use second_stage::SecondStage;
pub(crate) use segmented::SegmentedStage;
