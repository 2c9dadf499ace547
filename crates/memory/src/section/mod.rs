//! Sections: memory that several VMs map, by name (Noel and Karkhanis 1998, "Memory-resident Global Sections"). Here are their pages; the tables that lead
//! to them are the hypervisor's.
//!
//! * A *memory-resident* section is zeroes at first and has no backing store. Once a page is valid it stays valid for the life of the section: it
//!   is never paged out, and in no working set. The [registry](crate::registry), and not the caller, decides whether its pages are
//!   preallocated (ALLOC) or taken when they are touched (FLUID).
//! * A *pageable* section is a file. A page is read when it is touched, and when no VM maps it any more it waits on the free list, or if it is
//!   modified on the modified list, to be mapped again or to give its frame away ([`Sections::reclaim`]).
//!
//! # Life
//! A section lives from its creation until it has no mapper and is not wanted any more: a [temporary](Lifetime::Temporary) one until the last
//! mapper is gone, a [permanent](Lifetime::Permanent) one until it is deleted. Deleting one that has mappers is refused. Memory then goes back to the registry.
//!
//! # Frames
//! The ownership protocol is that of [`FrameAllocator`](crate::FrameAllocator). A section owns its frames. [`Sections`] frees none itself: whatever takes frames
//! from a section returns them as [`Vacated`], because the caller first has to make sure that no processor uses what was translated from them.

mod backing;
mod counts;
mod definition;
mod error;
mod pageable;
mod resident;
mod sections;

pub use backing::{BackingError, BackingFile};
pub use counts::{FaultCounts, FaultKind, FileCounts};
pub use definition::{Lifetime, Section, SectionKind};
pub use error::{CreateError, DeleteError, NoSuchSection, PageError};
pub use resident::Preparation;
pub use sections::{SectionId, Sections, Vacated};
