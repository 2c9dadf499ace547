//! The second stage: from guest physical to host physical addresses.
//!
//! A scheme is a [`SecondStage`] variant, which holds what the monitor chooses, and a type that implements [`Stage`]
//! for the length of one walk. To add one, add both, and the arm in `Walkers::walk` that joins them: neither the walker
//! nor the TLBs change.

mod constant;
mod flat;
mod nested;
mod reserved;
mod segmented;

pub(crate) use constant::{ConstantStage, base_page};
pub(crate) use flat::FlatTable;
pub(crate) use nested::{HostTables, NestedStage, NestedTlb};
pub(crate) use reserved::ReservedStage;
pub(crate) use segmented::SegmentedStage;

use crate::fault::{Fault, Purpose};
use crate::memory::TableMemory;
use crate::rights::Rights;
use crate::statistics::MmuStatistics;
use core::ops::Range;
use types::{Access, Gpa, Hpa, PageSize, SecondStageMode};

/// How guest physical addresses become host physical ones. One VMID has one second stage: a monitor that changes it
/// fences the VMID ([`crate::Fence::Gvma`]).
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
    /// Tables that the monitor writes. Devices are not mapped: their gPAs fault.
    Nested {
        /// Shape of the tables.
        mode: SecondStageMode,
        /// The root table, 16 KiB and aligned to that; the bits below are ignored.
        root: Hpa,
    },
    /// One contiguous table that the monitor writes, of eight bytes for each 4K page of the guest. A gPA that has no entry faults.
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
}

/// What stands behind a host physical page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Backing {
    /// What the host's memory says.
    Host,
    /// A device, whatever the host's memory has at that address.
    Device,
}

/// A translation by the second stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostMapping {
    /// Start of the host page.
    pub(crate) page: Hpa,
    /// Its size.
    pub(crate) size: PageSize,
    /// What it leaves of the first stage's rights.
    pub(crate) rights: Rights,
    pub(crate) backing: Backing,
}

impl HostMapping {
    /// The host physical address of a byte of the page.
    pub(crate) const fn hpa(&self, gpa: Gpa) -> Hpa {
        Hpa(self.page.0 | gpa.offset(self.size))
    }
}

/// The second stage during one walk.
pub(crate) trait Stage {
    /// The host's memory.
    type Memory: TableMemory;

    /// The host's memory.
    fn memory(&mut self) -> &mut Self::Memory;

    /// Where counts go.
    fn statistics(&mut self) -> &mut MmuStatistics;

    /// Translates for an access. The caller has no use for a page larger than `limit`.
    fn translate(&mut self, gpa: Gpa, access: Access, purpose: Purpose, limit: PageSize) -> Result<HostMapping, Fault>;

    /// Turns the latest translation, which was of `gpa` for a table's read, into one for writing that table's A and D
    /// bits.
    fn translate_update(&mut self, gpa: Gpa) -> Result<HostMapping, Fault>;
}
