//! Intervals of agile paging: at the end of each the hypervisor looks again at which tables of its guests are nested.

use crate::clock::Clock;
use crate::config::Config;
use crate::machine::Machine;
use crate::world::Current;
use types::Cycles;

/// When intervals end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AgileIntervals {
    length: Cycles,
    due: Cycles,
}

impl AgileIntervals {
    /// As the configuration says, if there are any.
    pub(crate) fn new(config: &Config, clock: &Clock) -> Option<Self> {
        let is_agile = config.shadow().is_some_and(|shadow| shadow.agile.is_some());
        let length = Cycles((u128::from(config.agile.interval) * u128::from(clock.hz) / 1_000_000) as u64);
        (is_agile && length > Cycles(0)).then_some(Self { length, due: length })
    }
}

impl Machine {
    /// When the interval under way ends.
    pub(crate) fn agile_due(&self) -> Option<Cycles> {
        self.agile.map(|intervals| intervals.due)
    }

    /// Ends the interval if that is due no later than `next`, the time of whatever else happens; whether it was.
    pub(crate) fn end_agile_interval(&mut self, next: Option<Cycles>) -> bool {
        let Some(intervals) = &mut self.agile else { return false };
        let Some(next) = next.filter(|&next| intervals.due <= next) else { return false };
        // Whoever waits for longer than an interval has nothing to look at in those between.
        let passed = (next.0 - intervals.due.0) / intervals.length.0 + 1;
        intervals.due += intervals.length * passed;
        for guest in 0..self.world.vms.len() {
            if !self.has_ended(guest) {
                self.world.current = Current { guest, ..self.world.current };
                self.world.end_agile_interval();
            }
        }
        true
    }
}

impl crate::world::World {
    /// The same for the current guest.
    fn end_agile_interval(&mut self) {
        let guest = self.current.guest;
        let (vms, host, mut tlbs) = self.shadow_parts();
        let event = vms[guest].end_agile_interval(host, &mut tlbs);
        self.charge_shadow(event);
    }
}
