//! `dual-direct`: direct segments of the guest and of the hypervisor, so that no table is read (Gandhi et al. 2014).

use super::native_segment::GUEST_CHANGES;
use super::vmm_direct::{self, segment};
use crate::facts::{Facts, Segments};
use crate::scheme::{GuestMemory, Scheme};
use crate::worst_case::WorstCase;
use hypervisor::Backing;

/// The scheme.
#[derive(Debug)]
pub(super) struct DualDirect;

const FACTS: Facts = Facts {
    name: "dual-direct",
    summary: "both segments: no walk; outside of the guest's as `vmm-direct`",
    dimensions: 0,
    segments: Segments::Both,
    guest_changes: GUEST_CHANGES,
    applications: "big-memory",
    services: vmm_direct::FACTS.services.with_primary_region(),
    ..vmm_direct::FACTS
};

impl Scheme for DualDirect {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn worst_case(&self, _: u32, _: u32) -> WorstCase {
        WorstCase::sequential(0)
    }

    fn backing(&self, memory: &GuestMemory) -> Backing {
        segment(memory)
    }
}
