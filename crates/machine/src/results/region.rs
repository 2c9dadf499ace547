//! The region of interest: what was counted between a guest's markers.

use crate::results::gauge::Phase;
use crate::results::statistics::Statistics;
use std::time::{Duration, Instant};

/// Regions that a guest marked, added up.
#[derive(Default)]
pub(crate) struct Region {
    state: State,
    measured: Option<Statistics>,
    host_time: Duration,
}

/// Where the guest is.
#[derive(Default)]
enum State {
    /// In no region.
    #[default]
    Outside,
    /// In one that is measured once the guest has retired so many instructions.
    Warming { until: u64 },
    /// In one that is measured: the counts at its beginning.
    Measured(Box<Statistics>, Instant),
}

impl Region {
    /// The guest has begun a region, which is measured once it has retired `until` instructions.
    pub(crate) fn warm(&mut self, until: u64) {
        self.state = State::Warming { until };
    }

    /// Whether the guest is in one, measured or not.
    pub(crate) const fn is_inside(&self) -> bool {
        !matches!(self.state, State::Outside)
    }

    /// How many instructions the guest is to have retired when measurement begins; `None` if none is about to.
    pub(crate) fn warms_until(&self) -> Option<u64> {
        match self.state {
            State::Warming { until } => Some(until),
            State::Outside | State::Measured(..) => None,
        }
    }

    /// Where the guest is.
    pub(crate) const fn phase(&self) -> Phase {
        match (&self.state, &self.measured) {
            (State::Warming { .. }, _) => Phase::WarmUp,
            (State::Measured(..), _) => Phase::Measure,
            (State::Outside, None) => Phase::Boot,
            (State::Outside, Some(_)) => Phase::After,
        }
    }

    /// Measurement begins with the counts as they are.
    pub(crate) fn begin(&mut self, now: Statistics) {
        self.state = State::Measured(Box::new(now), Instant::now());
    }

    /// The guest has ended its region, with the counts as they are; nothing is measured unless that was begun.
    pub(crate) fn end(&mut self, now: &Statistics) {
        let State::Measured(begun, at) = std::mem::take(&mut self.state) else { return };
        self.host_time += at.elapsed();
        let measured = now.since(&begun);
        match &mut self.measured {
            Some(sum) => sum.add(&measured),
            none => *none = Some(measured),
        }
    }

    /// What was counted; `None` if no region was ended.
    pub(crate) fn measured(&self) -> Option<&Statistics> {
        self.measured.as_ref()
    }

    /// What the host took for it. Reported by benchmarks; nothing simulated depends on it.
    pub(crate) fn host_time(&self) -> Duration {
        self.host_time
    }
}
