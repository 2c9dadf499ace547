//! The region of interest: what was counted between a guest's markers.

use crate::statistics::Statistics;
use std::time::{Duration, Instant};

/// Regions that a guest marked, added up.
#[derive(Default)]
pub(crate) struct Region {
    begun: Option<(Statistics, Instant)>,
    measured: Option<Statistics>,
    host_time: Duration,
}

impl Region {
    /// Begins with the counts as they are.
    pub(crate) fn begin(&mut self, now: Statistics) {
        self.begun = Some((now, Instant::now()));
    }

    /// Ends with the counts as they are; nothing happens unless it was begun.
    pub(crate) fn end(&mut self, now: &Statistics) {
        let Some((begun, at)) = self.begun.take() else { return };
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
