//! Segment registers: which processors have them, and what is kept of a guest that sets them.

use core::ops::Range;
use hypervisor::{PrimaryRegion, Refusal};
use std::collections::BTreeSet;
use types::{Gpa, PagingMode};

/// The most refusals whose text is kept of a guest.
const MOST_NOTED: usize = 64;

/// Which segment registers the pCPUs have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SegmentHardware {
    pub(crate) guest: bool,
    pub(crate) hypervisor: bool,
    /// Whether misses are counted by both, though none may be there.
    pub(crate) classify: bool,
}

impl SegmentHardware {
    /// Under a scheme with these segments.
    pub(crate) const fn of(segments: schemes::Segments, classify: bool) -> Self {
        Self { guest: segments.has_guest(), hypervisor: segments.has_hypervisor(), classify }
    }

    /// Whether a guest's segment is translated by.
    pub(crate) const fn has_guest_segment(&self) -> bool {
        self.guest
    }
}

/// A guest's primary region, with what the machine keeps of it.
pub(crate) struct GuestRegion {
    pub(crate) region: PrimaryRegion,
    /// By hart: the address space that it loaded last.
    pub(crate) spaces: Vec<(PagingMode, Gpa)>,
    /// What was refused: so many, and the first of them in words.
    pub(crate) refused: (u64, Vec<String>),
    /// Pages that the guest's balloon gave up and that were added here in their place, if that is done.
    pub(crate) swapped: Option<BTreeSet<Gpa>>,
}

impl GuestRegion {
    /// A region without an owner.
    pub(crate) fn new(memory: Range<Gpa>, harts: usize, hot_add: bool) -> Self {
        let spaces = vec![(PagingMode::Bare, Gpa(0)); harts];
        let swapped = hot_add.then(BTreeSet::new);
        Self { region: PrimaryRegion::new(memory, harts), spaces, refused: (0, Vec::new()), swapped }
    }

    /// A region that goes on as it was elsewhere: `spaces` are the address spaces that the harts loaded last.
    pub(crate) fn going_on(region: PrimaryRegion, spaces: Vec<(PagingMode, Gpa)>, hot_add: bool) -> Self {
        Self { region, spaces, refused: (0, Vec::new()), swapped: hot_add.then(BTreeSet::new) }
    }

    pub(crate) fn note(&mut self, asked: &str, refusal: Refusal) {
        let (count, noted) = &mut self.refused;
        *count += 1;
        if noted.len() < MOST_NOTED {
            noted.push(format!("{asked}: {refusal}"));
        }
    }
}
