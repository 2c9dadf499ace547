//! `nested`: two-dimensional walks of the guest's tables and of the hypervisor's nested tables (RISC-V Privileged 1.13, section 19.5).

use crate::facts::{Facts, Family, Segments, Walked};
use crate::scheme::{GuestMemory, Scheme};
use crate::services::Services;
use crate::worst_case::WorstCase;
use hypervisor::Backing;

/// The scheme.
#[derive(Debug)]
pub(super) struct Nested;

/// What paging in two dimensions gives; schemes that build on it differ in little.
pub(super) const FACTS: Facts = Facts {
    name: "nested",
    aliases: &["2d"],
    summary: "a two-dimensional walk, of the guest's table and of the hypervisor's nested table",
    page: None,
    dimensions: 2,
    is_native: false,
    has_host_pages: true,
    segments: Segments::None,
    walked: Walked::GuestTables,
    host_table: "host table",
    family: Family::Nested,
    refill: None,
    guest_changes: "none",
    hypervisor_changes: "none",
    applications: "any",
    services: Services::ALL,
    section_obstacle: None,
};

impl Scheme for Nested {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn worst_case(&self, guest: u32, host: u32) -> WorstCase {
        WorstCase::two_dimensional(guest, host)
    }

    fn backing(&self, memory: &GuestMemory) -> Backing {
        nested(memory)
    }
}

/// A nested table of pages of the size that was chosen.
pub(super) fn nested(memory: &GuestMemory) -> Backing {
    Backing::nested(memory.mode, memory.page, memory.status)
}
