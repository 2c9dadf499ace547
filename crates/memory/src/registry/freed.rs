//! A reservation is freed while the host runs: what that gives back, and why it is refused (Noel and Karkhanis 1998, "Freeing Reserved Memory").

use super::name::SectionName;
use super::plan::Refusal;

/// What freeing a reservation gave back. Its page tables are included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Freed {
    /// Preallocated pages that went to the free list.
    pub free_list_pages: u64,
    /// Pages that went to the fluid page count: those of the free list, and those that were only promised.
    pub returned_pages: u64,
    /// Pages that the section of that name has. They go the same way when it ends.
    pub kept_pages: u64,
    /// The fluid page count since then.
    pub fluid_pages: u64,
}

/// Why a reservation is not freed. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FreeError {
    /// The name has no reservation.
    #[error("nothing is reserved for {0}")]
    NotReserved(SectionName),
    /// It is freed: while the host runs, or in the registry that the host started with.
    #[error("the memory of {0} is freed already")]
    AlreadyFreed(SectionName),
    /// It did not fit when the host started.
    #[error("the host holds no memory for {name}, because it refused the reservation when it started: {why}")]
    NotHonoured {
        /// The reservation.
        name: SectionName,
        /// Why it did not fit.
        why: Refusal,
    },
}
