//! Virtual machines: what a guest's RAM is backed with, what its SBI calls mean, why it exits, and what each costs.
//!
//! Everything here is a function of its inputs: no clock, no threads. The machine executes what the hypervisor decides.
//!
//! * [`Vm`]: a guest's memory: where it lies, and how the hardware is shown it.
//! * [`FrameReclaim`]: frames for guests on demand, taken away from guests where there are none left ([`Pager`]).
//! * [`Dma`]: the same memory as devices and loaders reach it.
//! * [`sbi`]: calls decoded and validated into requests; [`HartState`] is the life of a hart under them.
//! * [`sched`]: which vCPU runs on which real one, and what happens to one that spins.
//! * [`ExitReason`], [`ExitCounts`], [`CostTable`]: why control came to the hypervisor, and its cost.
//! * [`section`]: memory that several VMs map, and the tables that they share for it.
//! * [`Invalidation`]: no table edit that takes something away is over before the TLBs are flushed.
#![forbid(unsafe_code)]

mod cost;
mod dma;
mod exits;
pub mod footprint;
mod guest_view;
mod hart_state;
mod paging;
pub mod pmu;
mod primary_region;
pub mod sbi;
pub mod sched;
pub mod section;
pub mod shadow;
mod table;
#[cfg(test)]
mod testing;
mod vm;
mod walk_memory;

pub use cost::{CostTable, Prices};
pub use dma::{Dma, DmaOutcome, GuestMemoryError};
pub use exits::{ExitCounts, ExitReason};
pub use guest_view::{GuestLeaf, PeekError};
pub use hart_state::{Entry, HartState, Suspend};
pub use paging::{FaultyFrame, FrameReclaim, NoVictim, PageUnavailable, Pager, PagingCounts, Swap, SwapError};
pub use primary_region::{PrimaryRegion, PrimaryRegionState, Refusal, SegmentRequest};
pub use table::{
    ClearedRange, Displaced, FlatTable, FlatTables, FlushTlbs, GuestTable, HostTable, Invalidation, Leaf, LeafBits,
    MapError, NestedTable, NestedTables, Radix, Removed, SectionTable, ShadowFormat, ShadowShape, SharedTables,
    TableDesign, TableRequest, TableWork,
};
pub use vm::{
    Backing, FilterSize, LeafStatus, MemoryAttribute, NestedFaultOutcome, ReclaimRequest, SaturatedFilter, Vm, VmError,
    VmMemory,
};
pub use walk_memory::WalkMemory;
