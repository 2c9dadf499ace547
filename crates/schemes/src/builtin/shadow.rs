//! `shadow`: walks of tables that the hypervisor composes of the guest's tables and its own (Umeno, Ozawa et al. 1985).

use super::nested;
use crate::facts::{Facts, Family, Walked};
use crate::scheme::{GuestMemory, Scheme};
use crate::worst_case::WorstCase;
use monitor::Backing;

/// The scheme.
#[derive(Debug)]
pub(super) struct Shadow;

const FACTS: Facts = Facts {
    name: "shadow",
    aliases: &[],
    summary: "a walk of a table that the monitor composes of both",
    page: Some("shadow.md"),
    dimensions: 1,
    walked: Walked::ShadowTables,
    family: Family::Shadow,
    hypervisor_changes: "required: shadow tables",
    ..nested::FACTS
};

impl Scheme for Shadow {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn worst_case(&self, guest: u32, _: u32) -> WorstCase {
        WorstCase::sequential(guest)
    }

    fn backing(&self, memory: &GuestMemory) -> Backing {
        if memory.guest_tables_are_shadow { Backing::Reserved } else { nested::nested(memory) }
    }
}
