//! When intervals of agile paging end.

use crate::clock::Clock;
use crate::config::Config;
use types::Cycles;

/// When intervals end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AgileIntervals {
    pub(crate) length: Cycles,
    pub(crate) due: Cycles,
}

impl AgileIntervals {
    /// As the configuration says, if there are any.
    pub(crate) fn new(config: &Config, clock: &Clock) -> Option<Self> {
        let is_agile = config.shadow().is_some_and(|shadow| shadow.agile.is_some());
        let length = Cycles((u128::from(config.agile.interval) * u128::from(clock.hz) / 1_000_000) as u64);
        (is_agile && length > Cycles(0)).then_some(Self { length, due: length })
    }
}
