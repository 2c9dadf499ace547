//! Intervals of shadow tables: at the end of each the hypervisor looks again at which tables of its guests it shadows.

use super::Machine;
use crate::state::Current;
use crate::state::shadow;
use types::Cycles;

impl Machine {
    /// When the interval under way ends.
    pub(crate) fn shadow_interval_due(&self) -> Option<Cycles> {
        self.shadow_intervals.map(|intervals| intervals.due)
    }

    /// Ends the interval if that is due no later than `next`, the time of whatever else happens; whether it was.
    pub(crate) fn end_shadow_interval(&mut self, next: Option<Cycles>) -> bool {
        let Some(intervals) = &mut self.shadow_intervals else { return false };
        let Some(next) = next.filter(|&next| intervals.due <= next) else { return false };
        // If a wait is longer than an interval, the intervals in between have nothing to look at.
        let passed = (next.0 - intervals.due.0) / intervals.length.0 + 1;
        intervals.due += intervals.length * passed;
        for guest in 0..self.state.vms.len() {
            if !self.has_ended(guest) {
                self.state.current = Current { guest, ..self.state.current };
                shadow::end_interval(&mut self.state);
            }
        }
        true
    }
}
