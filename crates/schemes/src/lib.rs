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
mod facts;
mod paged;
pub mod registry;
mod scheme;
mod services;
mod worst_case;

pub use facts::{Facts, Family, RefillName, Segments, Walked};
pub use paged::{PagedScheme, SchemeError};
pub use scheme::{GuestMemory, Scheme, SchemeRef};
pub use services::{Service, ServiceName, Services};
pub use worst_case::WorstCase;
