//! Steal time, as the SBI's STA extension tells a guest of it (SBI 3.0, chapter 16): the time in which a vCPU was ready and had no pCPU.
//!
//! It is the scheduler's own wait, from ready to dispatched, of this one vCPU. One with a pCPU of its own never waits. What the guest sees is
//! written where the vCPU gets a pCPU, before its next instruction, and where it is taken away.

use crate::snapshot::state::StealState;
use config::clock::Clock;
use types::{Cycles, Gpa};

/// What is kept for a vCPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StealTime {
    /// Where the guest wants to be told.
    pub(crate) area: Option<Gpa>,
    /// Even, as no write of ours is ever seen half done.
    pub(crate) sequence: u32,
    /// Stolen since the guest asked.
    pub(crate) stolen: Cycles,
    /// Since when it has been ready without a pCPU.
    pub(crate) ready_since: Option<Cycles>,
}

impl StealTime {
    /// As a snapshot has it.
    pub(crate) fn going_on(state: Option<StealState>, clock: &Clock) -> Self {
        let Some(StealState { area, nanoseconds, sequence }) = state else { return Self::default() };
        let stolen = u128::from(nanoseconds) * u128::from(clock.hz) / 1_000_000_000;
        let stolen = Cycles(u64::try_from(stolen).unwrap_or(u64::MAX));
        Self { area: Some(Gpa(area)), sequence, stolen, ready_since: None }
    }

    /// For a snapshot.
    pub(crate) fn saved(&self, clock: &Clock) -> Option<StealState> {
        let area = self.area?.0;
        Some(StealState { area, nanoseconds: nanoseconds(self.stolen, clock), sequence: self.sequence })
    }
}

pub(crate) fn nanoseconds(cycles: Cycles, clock: &Clock) -> u64 {
    u64::try_from(clock.duration(cycles).as_nanos()).unwrap_or(u64::MAX)
}
