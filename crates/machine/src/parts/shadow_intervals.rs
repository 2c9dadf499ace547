//! When intervals end, after which the hypervisor looks again at which tables of its guests it shadows.

use config::Config;
use config::clock::Clock;
use types::Cycles;

/// When intervals end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ShadowIntervals {
    pub(crate) length: Cycles,
    pub(crate) due: Cycles,
}

impl ShadowIntervals {
    /// As the scheme of the configuration has them, if it has any.
    pub(crate) fn new(config: &Config, clock: &Clock) -> Option<Self> {
        let interval_us = config.shadow()?.config.interval_us()?;
        let length = Cycles((u128::from(interval_us) * u128::from(clock.hz) / 1_000_000) as u64);
        (length > Cycles(0)).then_some(Self { length, due: length })
    }
}
