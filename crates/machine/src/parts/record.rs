//! What is kept of a guest.

use crate::results::figures::Figures;
use crate::results::outcome::Outcome;
use crate::results::region::Region;
use crate::results::walks::RecordedWalks;
use core::ops::Range;
use hypervisor::sched::{AllocationForm, Handshake, spin::SpinMethod};
use std::collections::VecDeque;

/// What is kept of a guest beside its machine.
pub(crate) struct Record {
    pub(crate) region: Region,
    /// How it ended.
    pub(crate) outcome: Option<Outcome>,
    /// Its vCPUs.
    pub(crate) vcpus: Range<usize>,
    /// Console output of SBI calls.
    pub(crate) printed: Vec<u8>,
    /// Console input that it has not taken yet.
    pub(crate) typed: VecDeque<u8>,
    /// How it learns of its allocation.
    pub(crate) handshake: Handshake,
    /// What happens when it spins.
    pub(crate) spin: SpinMethod,
    /// Walks of it.
    pub(crate) walks: Option<RecordedWalks>,
    /// How many times they were recorded.
    pub(crate) recordings: u64,
    /// What it has reported of itself.
    pub(crate) figures: Figures,
}

impl Record {
    pub(crate) fn new(form: AllocationForm, vcpus: Range<usize>, spin: SpinMethod) -> Self {
        Self {
            region: Region::default(),
            outcome: None,
            vcpus,
            printed: Vec::new(),
            typed: VecDeque::new(),
            handshake: Handshake::new(form),
            spin,
            walks: None,
            recordings: 0,
            figures: Figures::default(),
        }
    }

    /// Whether the guest is in a region of interest.
    pub(crate) const fn is_in_region(&self) -> bool {
        self.region.is_inside()
    }
}
