//! What a hypervisor chooses of a second stage.

use super::agile::ShadowRoot;
use super::format::Registers;
use core::ops::Range;
use types::{Gpa, Hpa, SecondStageMode};

/// How guest physical addresses become host physical ones. One VMID has one second stage: a hypervisor that changes it
/// fences the VMID ([`crate::Fence::Gvma`]). Under agile paging each address space has a shadow
/// root of its own; a hypervisor that gives it another one fences the address space ([`crate::Fence::Vvma`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SecondStage {
    /// No second stage: a gPA within `ram` is at hPA gPA + `offset`, modulo 2^64. Every other gPA is a device's, with
    /// the hPA equal to it.
    Constant {
        /// The guest's memory, in whole 4K pages.
        ram: Range<Gpa>,
        /// What is added.
        offset: u64,
    },
    /// Tables that the hypervisor writes. Devices are not mapped: their gPAs fault.
    Nested {
        /// Shape of the tables.
        mode: SecondStageMode,
        /// The root table, 16 KiB and aligned to that; the bits below are ignored.
        root: Hpa,
    },
    /// Nested tables, behind a shadow table that may switch a walk to them: agile paging.
    Agile {
        /// Shape of the nested tables.
        mode: SecondStageMode,
        /// Their root, as of [`SecondStage::Nested`].
        root: Hpa,
        /// The shadow table of the address space.
        shadow: ShadowRoot,
    },
    /// One contiguous table that the hypervisor writes, of eight bytes for each 4K page of the guest. A gPA that has no entry faults.
    Flat {
        /// Where the table is: a multiple of 8.
        table: Hpa,
        /// The page that its first entry maps: a multiple of 4K.
        first: Gpa,
        /// How many entries it has.
        entries: u64,
    },
    /// Memory that is reserved for the guest in one piece: a gPA within `ram` is at hPA gPA + `offset`, modulo 2^64. Every other gPA
    /// faults.
    Reserved {
        /// The guest's memory, in whole 4K pages.
        ram: Range<Gpa>,
        /// What is added.
        offset: u64,
    },
    /// Tables in a format of a scheme's own, by the MMU's [`TableFormat`](crate::TableFormat).
    Other(Registers),
}
