//! Sections in guest physical memory: memory that several VMs map, and the tables that they share for it (Noel and Karkhanis 1998, paper 003).
//!
//! `memory::section` has the sections' pages; here is how they get into VMs' nested tables, and out of them again.
//!
//! # Which tables map a section
//! A memory-resident section has [tables of its own](crate::SharedTables), unless the registry says otherwise. A VM that may write gets them linked into
//! its nested table, at the highest level of which the section fills a table, if the address is aligned to what such a table maps. All other maps have
//! private tables: those that are read-only, because rights stand in the shared entries, those that are not aligned or end within a table,
//! and those of pageable sections.
//!
//! # What keeps private memory out of shared tables
//! 1. A map takes its *region*: its addresses, rounded up to what a shared table maps. Regions overlap neither each other nor the VM's RAM or devices.
//! 2. A nested table never changes what is below a link (`table/page_table/linked.rs`), for any caller.
//! 3. Entries of a shared table beyond the section's end stay empty: a fault there is the guest's.
//!
//! # Order of an edit
//! As `table` has it: what is added needs no flush. To take away, the entries are cleared, every processor is flushed of the VM, and then tables are freed, pages
//! are given back, and the section loses its mapper. The last mapper gone, the section's memory goes back to the registry, and so it is in no
//! TLB by then.
//!
//! # Working sets
//! A pageable page that a VM maps is in that VM's working set, which has a quota: beyond it the page that came first leaves. Memory-resident pages are in no working set.
//! When frames run short, pages that no VM maps go first, and then the oldest of all working sets.

mod error;
mod fault;
mod guests;
mod manager;
mod map;
mod pressure;
mod request;
mod shadow;
mod space;
mod work;
mod working_set;

pub use error::{SectionCreateError, SectionFaultError, SectionMapError, SectionUnmapError};
pub use fault::{Denial, Resolution, SectionFault};
pub use manager::{GuestTables, SectionHost, SectionManager};
pub use request::{MapRequest, SectionAccess, VmProfile};
pub(crate) use shadow::{Piece, Presence};
pub use space::{Window, WindowTables};
pub use work::SectionWork;

#[cfg(test)]
mod tests;
