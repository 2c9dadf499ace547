//! Tables that the hypervisor writes: real bits in host memory, which the walkers of `mmu` read.
//!
//! # Order of an edit
//! The hypervisor is the one owner of invalidation. To *add* a translation, the tables below are written before the entry that
//! leads to them; nothing is flushed, because no TLB keeps what is not there. To *take one away*, or take a right from it, the
//! entry is written, then the TLBs of every pCPU are flushed, then the frames are free. The second and third step
//! are [`Invalidation::perform`], and every such edit returns an [`Invalidation`]. Of a guest's page the one edit that takes it away is
//! `Vm::unmap_page`: page-out, balloon and the end of a guest all go through it.

mod design;
mod entry;
mod flat;
mod host;
mod invalidation;
mod nested;
mod page_table;
mod shadow;
mod shared;
mod work;

pub use design::{FlatTables, NestedTables, TableDesign, TableRequest};
pub use entry::{Leaf, LeafBits};
pub use flat::FlatTable;
pub use host::{ClearedRange, HostTable, SectionTable};
pub use invalidation::{FlushTlbs, Invalidation};
pub use nested::NestedTable;
pub use page_table::MapError;
pub(crate) use shadow::composed_bits;
pub use shadow::{Displaced, GuestTable, Radix, Removed, ShadowFormat, ShadowShape};
pub use shared::SharedTables;
pub use work::TableWork;
