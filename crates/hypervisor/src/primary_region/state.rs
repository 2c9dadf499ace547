//! Who has a primary region, as plain values for a snapshot.

use super::{Owner, PrimaryRegion};
use core::ops::Range;
use mmu::Segment;
use serde::{Deserialize, Serialize};
use types::{Gpa, Gva, PagingMode};

/// The state of a primary region in a snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PrimaryRegionState {
    start: u64,
    end: u64,
    /// By hart.
    registers: Vec<SegmentState>,
    owner: Option<OwnerState>,
    owners: u64,
}

/// BASE, LIMIT, and where BASE leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct SegmentState(u64, u64, u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct OwnerState {
    root: u64,
    /// Levels of its tables.
    levels: u32,
    page: u64,
    segment: SegmentState,
}

impl SegmentState {
    fn of(segment: Segment) -> Self {
        let Range { start, end } = segment.range();
        Self(start, end, segment.target())
    }

    fn segment(self) -> Option<Segment> {
        let Self(base, limit, target) = self;
        if base == limit { Some(Segment::default()) } else { Segment::of_guest(Gva(base)..Gva(limit), Gpa(target)) }
    }
}

impl PrimaryRegionState {
    /// Where the region lies.
    #[must_use]
    pub fn memory(&self) -> Range<Gpa> {
        Gpa(self.start)..Gpa(self.end)
    }
}

impl PrimaryRegion {
    /// The region and its registers as they are.
    #[must_use]
    pub fn state(&self) -> PrimaryRegionState {
        let owner = |owner: &Owner| OwnerState {
            root: owner.root.0,
            levels: owner.mode.levels(),
            page: owner.page.0,
            segment: SegmentState::of(owner.segment),
        };
        PrimaryRegionState {
            start: self.memory.start.0,
            end: self.memory.end.0,
            registers: self.registers.iter().copied().map(SegmentState::of).collect(),
            owner: self.owner.as_ref().map(owner),
            owners: self.owners,
        }
    }

    /// The region of a guest with so many harts that is as `state` says; `None` if there is none such: a segment leads out of it, or it is another
    /// guest's.
    #[must_use]
    pub fn of_state(state: &PrimaryRegionState, harts: usize) -> Option<Self> {
        let memory = state.memory();
        let segment = |state: &SegmentState| {
            let segment = state.segment()?;
            let bytes = segment.range().end - segment.range().start;
            let inside = segment.target() >= memory.start.0 && segment.target().checked_add(bytes)? <= memory.end.0;
            (bytes == 0 || inside).then_some(segment)
        };
        let owner = match &state.owner {
            None => None,
            Some(owner) => {
                let modes = [PagingMode::Sv39, PagingMode::Sv48, PagingMode::Sv57];
                let mode = modes.into_iter().find(|mode| mode.levels() == owner.levels)?;
                let segment = segment(&owner.segment)?;
                Some(Owner { root: Gpa(owner.root), mode, page: Gva(owner.page), segment })
            }
        };
        let registers = state.registers.iter().map(segment).collect::<Option<Vec<_>>>()?;
        (registers.len() == harts).then_some(Self { memory, registers, owner, owners: state.owners })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SegmentRequest;

    #[test]
    fn a_region_goes_on_elsewhere_and_one_that_leads_out_is_none() {
        let mut region = PrimaryRegion::new(Gpa(0x9000_0000)..Gpa(0x9100_0000), 2);
        let request = SegmentRequest { range: Gva(0x10_0000)..Gva(0x20_0000), target: Gpa(0x9000_1000) };
        region.set(1, PagingMode::Sv39, &request).unwrap();
        let state = region.state();
        let again = PrimaryRegion::of_state(&state, 2).unwrap();
        assert_eq!((again.registers(0), again.registers(1)), (region.registers(0), region.registers(1)));
        assert_eq!(again.state(), state);
        assert!(PrimaryRegion::of_state(&state, 3).is_none());
        let mut out = state;
        out.registers[0] = SegmentState(0x1000, 0x2000, 0x8000_0000);
        assert!(PrimaryRegion::of_state(&out, 2).is_none());
    }
}
