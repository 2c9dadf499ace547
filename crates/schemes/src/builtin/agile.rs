//! `agile`: agile paging, whose walks begin in a shadow table and go on nested where the guest's table changes often (Gandhi, Hill and Swift,
//! ISCA 2016).

use super::nested;
use crate::facts::{Facts, Family, Walked};
use crate::scheme::{GuestMemory, Scheme};
use crate::worst_case::WorstCase;
use monitor::Backing;

/// The scheme.
#[derive(Debug)]
pub(super) struct Agile;

const FACTS: Facts = Facts {
    name: "agile",
    aliases: &[],
    summary: "a walk that begins in a shadow table, and goes on in two dimensions where the guest's table changes often",
    page: Some("agile.md"),
    walked: Walked::AgileTables,
    family: Family::Shadow,
    hypervisor_changes: "required: shadow tables, and a mode for each page of the guest's tables",
    section_obstacle: Some("its shadow tables lead to tables of the guest, and to none of sections"),
    ..nested::FACTS
};

impl Scheme for Agile {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    /// Fully nested. With s levels of the shadow table before the switch it is s + (n − s)(m + 1).
    fn worst_case(&self, guest: u32, host: u32) -> WorstCase {
        WorstCase::two_dimensional(guest, host)
    }

    fn backing(&self, memory: &GuestMemory) -> Backing {
        nested::nested(memory)
    }
}
