//! `native-segment`: the guest's direct segment on a machine without virtual machines (Basu et al. 2013).

use super::native;
use crate::facts::{Facts, Family, Segments};
use crate::scheme::{GuestMemory, Scheme};
use crate::services::Services;
use crate::worst_case::WorstCase;
use hypervisor::Backing;

/// The scheme.
#[derive(Debug)]
pub(super) struct NativeSegment;

/// What guests need for a segment of theirs.
pub(super) const GUEST_CHANGES: &str = "required: primary regions (a device and a library on Linux)";

const FACTS: Facts = Facts {
    name: "native-segment",
    summary: "no virtual machine: the guest's segment, else a walk of the guest's table",
    page: Some("segments.md"),
    dimensions: 0,
    family: Family::Segment,
    segments: Segments::Guest,
    guest_changes: GUEST_CHANGES,
    applications: "big-memory",
    services: Services::NATIVE.with_primary_region(),
    ..native::FACTS
};

impl Scheme for NativeSegment {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn worst_case(&self, _: u32, _: u32) -> WorstCase {
        WorstCase::sequential(0)
    }

    fn backing(&self, _: &GuestMemory) -> Backing {
        Backing::Native
    }
}
