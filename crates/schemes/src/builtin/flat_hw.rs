//! `flat-hw`: the walk of `flat` by a hardware walker.

use super::flat::{self, flat_table, flat_walk};
use crate::facts::{Facts, RefillName};
use crate::scheme::{GuestMemory, Scheme};
use crate::worst_case::WorstCase;
use hypervisor::Backing;

/// The scheme.
#[derive(Debug)]
pub(super) struct FlatHw;

const FACTS: Facts = Facts {
    name: "flat-hw",
    summary: "the same by a hardware walker",
    refill: Some(RefillName::Hardware),
    hypervisor_changes: "required: a flat table in one piece",
    ..flat::FACTS
};

impl Scheme for FlatHw {
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
