//! What a machine records beside its statistics, and the result.

use machine::{
    Heatmap, HeatmapOf, IntervalLength, Intervals, Machine, PageRequest, Profile, ProfileDetail, Reuse, Stay, Trace,
};

/// What is recorded of each run of a command beside its statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Recorded {
    /// What events of translation are charged to.
    pub(crate) profile: Option<ProfileDetail>,
    /// Counters over time.
    pub(crate) intervals: Option<IntervalLength>,
    /// What happens when.
    pub(crate) trace: bool,
    /// Which pages are used.
    pub(crate) pages: PageRequest,
}

impl Recorded {
    /// Whether anything is. What is kept of a run has no recordings: it runs again for them.
    pub(crate) fn any(&self) -> bool {
        *self != Self::default()
    }

    /// Whether harts have to keep every access.
    pub(crate) fn needs_accesses(&self) -> bool {
        self.pages.reuse || self.pages.heatmap == Some(HeatmapOf::References)
    }

    /// Has a machine record it from now on.
    pub(crate) fn begin(&self, machine: &mut Machine) {
        if let Some(detail) = self.profile {
            machine.record_profile(detail);
        }
        if let Some(length) = self.intervals {
            machine.record_intervals(length);
        }
        if self.trace {
            machine.record_trace();
        }
        if self.pages != PageRequest::default() {
            machine.record_pages(self.pages);
        }
    }
}

/// What was recorded of a guest's run. What was not asked for is `None`.
#[derive(Debug, Default)]
pub(crate) struct Recordings {
    /// What events of translation were charged to.
    pub(crate) profile: Option<Profile>,
    /// Counters over time.
    pub(crate) intervals: Option<Intervals>,
    /// What happened when.
    pub(crate) trace: Option<Trace>,
    /// The vCPUs' stays on pCPUs, if there is a trace.
    pub(crate) stays: Vec<Stay>,
    /// The reuse distances of pages.
    pub(crate) reuse: Option<Reuse>,
    /// The map of addresses over time.
    pub(crate) heatmap: Option<Heatmap>,
}

impl Recordings {
    /// Those of a guest.
    pub(crate) fn of(machine: &Machine, guest: usize) -> Self {
        let trace = machine.trace_of(guest);
        let stays = machine.stays().iter().filter(|stay| stay.guest == guest && trace.is_some());
        Self {
            profile: machine.profile_of(guest),
            intervals: machine.intervals_of(guest),
            stays: stays.copied().collect(),
            trace,
            reuse: machine.reuse_of(guest),
            heatmap: machine.heatmap_of(guest),
        }
    }
}
