//! `guest-direct`: the guest's direct segment in place of its tables, before nested tables (Gandhi et al. 2014).

use super::native_segment::GUEST_CHANGES;
use super::nested;
use crate::facts::{Facts, Family, Segments};
use crate::scheme::{GuestMemory, Scheme};
use crate::services::Services;
use crate::worst_case::WorstCase;
use hypervisor::Backing;

/// The scheme.
#[derive(Debug)]
pub(super) struct GuestDirect;

const FACTS: Facts = Facts {
    name: "guest-direct",
    aliases: &[],
    summary: "the guest's segment and a walk of the nested table; outside of it as `nested`",
    page: Some("segments.md"),
    dimensions: 1,
    family: Family::Segment,
    segments: Segments::Guest,
    guest_changes: GUEST_CHANGES,
    hypervisor_changes: "minimal: the guest's registers are saved and restored",
    applications: "big-memory",
    services: Services::ALL.with_primary_region(),
    ..nested::FACTS
};

impl Scheme for GuestDirect {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn worst_case(&self, _: u32, host: u32) -> WorstCase {
        WorstCase::sequential(host)
    }

    fn backing(&self, memory: &GuestMemory) -> Backing {
        nested::nested(memory)
    }
}
