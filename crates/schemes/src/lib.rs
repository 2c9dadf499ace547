//! Translation schemes: ways to get from guest virtual to host physical addresses.
//!
//! A scheme is one file in `builtin`, or in a crate of a user's own: a type that implements [`Scheme`]. Everything that names schemes (the command
//! line, `explain`, `advise`, refusals, the table in docs/configuration.md, the test of closed forms) asks the [`registry`] for them.
//!
//! * [`Scheme`] and [`Facts`]: what a scheme says of itself;
//! * [`Services`]: what a hypervisor and a guest can do with memory under it;
//! * [`WorstCase`]: the closed form of its longest walk;
//! * [`PagedScheme`]: a scheme with a page size for each dimension, as users write it.
#![forbid(unsafe_code)]

pub mod builtin;
pub mod conformance;
mod facts;
mod key_problem;
mod paged;
pub mod registry;
mod scheme;
mod services;
mod shadow_keys;
mod worst_case;

pub use facts::{Facts, Family, RefillName, Segments, Walked};
pub use key_problem::KeyProblem;
pub use paged::{PagedScheme, SchemeError};
pub use scheme::{GuestMemory, Scheme, SchemeRef, ShadowTables};
pub use services::{Service, ServiceName, Services};
pub use shadow_keys::{AssistName, ClearName, CoherenceName, InvalidationName, OnOff, ShadowKeys, TablesName};
pub use worst_case::WorstCase;

/// What a scheme is written with.
pub use {hypervisor, keys, memory, mmu, types};

/// What a file of a scheme with tables of its own uses.
pub mod prelude {
    pub use crate::{Facts, Family, GuestMemory, Scheme, ShadowTables, WorstCase, builtin};
    pub use hypervisor::{Backing, HostTable, Leaf, LeafBits, MapError, TableDesign, TableRequest, VmError};
    pub use keys::GroupValues;
    pub use memory::{FrameAllocator, FrameRange, Host, HostMemory};
    pub use mmu::{Cause, Entries, FoundEntry, LookupError, Mmu, Registers, SecondStage, TableFormat};
    pub use types::{Gpa, Hpa, PageSize};
}
