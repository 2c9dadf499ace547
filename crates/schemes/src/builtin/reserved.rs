//! `reserved`: memory of the guest in one piece of the host's, so that a constant leads from gPA to hPA (Sha et al. 2022, section 2.3).

use super::nested;
use crate::facts::{Facts, Family};
use crate::scheme::{GuestMemory, Scheme};
use crate::services::Services;
use crate::worst_case::WorstCase;
use hypervisor::Backing;

/// The scheme.
#[derive(Debug)]
pub(super) struct Reserved;

const FACTS: Facts = Facts {
    name: "reserved",
    aliases: &[],
    summary: "a walk of the guest's table, with a constant added to each guest physical address: memory reserved in one piece",
    dimensions: 1,
    family: Family::Flat,
    has_host_pages: false,
    hypervisor_changes: "required: contiguous memory",
    services: Services::of_fixed_memory(
        "reserved memory lies where the constant leads, and cannot be taken away page by page",
    ),
    section_obstacle: Some("its memory lies at one constant, and no table maps anything else"),
    ..nested::FACTS
};

impl Scheme for Reserved {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn worst_case(&self, guest: u32, _: u32) -> WorstCase {
        WorstCase::sequential(guest)
    }

    fn backing(&self, _: &GuestMemory) -> Backing {
        Backing::Reserved
    }
}
