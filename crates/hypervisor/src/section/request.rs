//! What a VM asks of sections.

use core::ops::Range;
use memory::registry::SectionName;
use types::{Gpa, SecondStageMode, Vmid};

/// What a VM may do with a section that it maps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SectionAccess {
    /// Read and execute.
    ReadOnly,
    /// Write as well.
    ReadWrite,
}

/// A VM, as far as sections are concerned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VmProfile {
    /// Its identifier.
    pub vmid: Vmid,
    /// The group whose sections it may map, beside the system's.
    pub group: Option<u32>,
    /// Shape of its nested table.
    pub mode: SecondStageMode,
    /// Whether tables of sections can be linked into it: a flat table takes none.
    pub links: bool,
    /// Where addresses end that its tables translate.
    pub limit: Gpa,
    /// Addresses that have something else: its RAM, its devices.
    pub taken: Vec<Range<Gpa>>,
    /// Pages of pageable sections that it maps at once, at least one.
    pub quota: u64,
}

/// A map to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapRequest {
    /// The VM.
    pub vmid: Vmid,
    /// The section.
    pub name: SectionName,
    /// Where it is to appear, a multiple of 4 KiB.
    pub at: Gpa,
    /// The first of its pages that appears.
    pub first: u64,
    /// How many; `None` for all from there on.
    pub pages: Option<u64>,
    /// What the VM may do.
    pub access: SectionAccess,
}

impl MapRequest {
    /// All of a section, to read and write.
    #[must_use]
    pub const fn whole(vmid: Vmid, name: SectionName, at: Gpa) -> Self {
        Self { vmid, name, at, first: 0, pages: None, access: SectionAccess::ReadWrite }
    }

    /// This request with read-only access.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { access: SectionAccess::ReadOnly, ..self }
    }
}
