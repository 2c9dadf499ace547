//! `native`: no virtual machine. What all other schemes are compared with.

use crate::facts::{Facts, Family, Segments, Walked};
use crate::scheme::{GuestMemory, Scheme};
use crate::services::Services;
use crate::worst_case::WorstCase;
use hypervisor::Backing;

/// The scheme.
#[derive(Debug)]
pub(super) struct Native;

pub(super) const FACTS: Facts = Facts {
    name: "native",
    aliases: &[],
    summary: "no virtual machine: a walk of the guest's table",
    page: None,
    dimensions: 1,
    is_native: true,
    has_host_pages: false,
    segments: Segments::None,
    walked: Walked::GuestTables,
    host_table: "host table",
    family: Family::Native,
    refill: None,
    guest_changes: "none",
    hypervisor_changes: "none",
    applications: "any",
    services: Services::NATIVE,
    section_obstacle: Some("there is no hypervisor below the guest that could map one"),
};

impl Scheme for Native {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn worst_case(&self, guest: u32, _: u32) -> WorstCase {
        WorstCase::sequential(guest)
    }

    fn backing(&self, _: &GuestMemory) -> Backing {
        Backing::Native
    }
}
