//! `flat`: walks of the guest's tables with one reference to a flat table for each guest physical address, by a refill routine of firmware
//! (Sha et al. 2022).

use super::nested;
use crate::facts::{Facts, Family, RefillName};
use crate::scheme::{GuestMemory, Scheme};
use crate::worst_case::WorstCase;
use hypervisor::Backing;

/// The scheme.
#[derive(Debug)]
pub(super) struct Flat;

pub(super) const FACTS: Facts = Facts {
    name: "flat",
    summary: "a walk of the guest's table by a routine of software, with one reference to a flat table for each guest physical address",
    page: Some("flat.md"),
    aliases: &[],
    host_table: "flat table",
    family: Family::Flat,
    refill: Some(RefillName::Software),
    hypervisor_changes: "required: a flat table in one piece; a refill routine in the hardware mode",
    ..nested::FACTS
};

impl Scheme for Flat {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn worst_case(&self, guest: u32, _: u32) -> WorstCase {
        flat_walk(guest)
    }

    fn backing(&self, memory: &GuestMemory) -> Backing {
        flat_table(memory)
    }
}

/// A flat table is a second dimension of one level.
pub(super) const fn flat_walk(guest: u32) -> WorstCase {
    WorstCase::two_dimensional(guest, 1)
}

/// The hypervisor keeps one entry for each 4K page of the guest, in one piece.
pub(super) fn flat_table(memory: &GuestMemory) -> Backing {
    Backing::flat(memory.page, memory.status)
}
