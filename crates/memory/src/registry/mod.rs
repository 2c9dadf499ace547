//! The reserved memory registry: host memory set aside by name (Noel and Karkhanis 1998, "The Reserved Memory Registry").
//!
//! A reservation belongs to the section of the same name. The pieces, each of which knows only those above it:
//!
//! * [`SectionName`], [`Reservation`]: what is asked for.
//! * [`Registry`]: all reservations, as `pagewalk reserve` edits them. [`RegistryFile`] keeps them on disk, where neither a kill nor a
//!   full disk nor a second command leaves half of anything; [`document`] is the text in that file.
//! * [`FluidPages`]: how much memory may still be promised. A pure count.
//! * [`StartPlan`]: which reservations a host honours when it starts, and where each lies. A pure decision.
//! * [`ReservedMemory`]: the plan carried out on a host's frames; sections take from it and give back to it. [`Freed`] is what a reservation gives back
//!   that is freed while the host runs.
//! * [`Tuning`]: what the size of the host should be (the paper's AUTOGEN).

pub mod document;
mod file;
mod fluid;
mod freed;
mod name;
mod plan;
mod reservation;
mod reserved;
mod set;
mod tuning;

pub use file::{RegistryError, RegistryFile, default_path};
pub use fluid::{FluidPages, Starved};
pub use freed::{FreeError, Freed};
pub use name::{BadName, Scope, SectionName};
pub use plan::{Granularities, Held, Honoured, Refusal, Refused, StartPlan};
pub use reservation::{BadReservation, Preallocation, Reservation, table_pages};
pub use reserved::{AcquireError, DataGrant, Fallback, Grant, ReservedMemory, Source, TableGrant};
pub use set::{Change, EditError, Registry};
pub use tuning::Tuning;

/// Bytes of a page, as the registry counts them.
pub(crate) const PAGE: u64 = types::PageSize::Size4K.bytes();
