//! `vmm-direct`: the hypervisor's direct segment in place of nested tables (Gandhi et al. 2014).

use super::nested;
use crate::facts::{Facts, Family, Segments};
use crate::scheme::{GuestMemory, Scheme};
use crate::services::Services;
use crate::worst_case::WorstCase;
use hypervisor::Backing;

/// The scheme.
#[derive(Debug)]
pub(super) struct VmmDirect;

pub(super) const FACTS: Facts = Facts {
    name: "vmm-direct",
    aliases: &[],
    summary: "a walk of the guest's table, with each guest physical address translated by the hypervisor's segment",
    page: Some("segments.md"),
    dimensions: 1,
    has_host_pages: false,
    family: Family::Segment,
    segments: Segments::Hypervisor,
    hypervisor_changes: "required: contiguous memory, segment registers",
    services: Services::of_fixed_memory(
        "memory in the hypervisor's segment lies where the segment leads, and cannot be taken away page by page",
    ),
    ..nested::FACTS
};

impl Scheme for VmmDirect {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn worst_case(&self, guest: u32, _: u32) -> WorstCase {
        WorstCase::sequential(guest)
    }

    fn backing(&self, memory: &GuestMemory) -> Backing {
        segment(memory)
    }
}

/// The hypervisor's segment over all memory, with a nested table for what escapes it.
pub(super) fn segment(memory: &GuestMemory) -> Backing {
    Backing::Direct { mode: memory.mode, filter: memory.filter }
}
