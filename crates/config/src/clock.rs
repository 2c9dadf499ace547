//! Simulated time: cycles of a pCPU, and the guest's `time`.

use std::time::Duration;
use types::Cycles;

/// Ticks of the guest's `time` in a second (`timebase-frequency`).
pub const TIMEBASE_HZ: u64 = 10_000_000;

/// The clock of a host's processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    /// Cycles in a second.
    pub hz: u64,
    /// Cycles of an instruction whose translation costs nothing, in thousandths.
    pub millicycles_per_instruction: u64,
}

impl Clock {
    /// What `instructions` take, translation apart.
    #[must_use]
    pub fn instructions(&self, instructions: u64) -> Cycles {
        Cycles((u128::from(instructions) * u128::from(self.millicycles_per_instruction) / 1000) as u64)
    }

    /// How many instructions fit in `cycles` at the most, translation apart.
    #[must_use]
    pub fn instructions_in(&self, cycles: Cycles) -> u64 {
        (u128::from(cycles.0) * 1000 / u128::from(self.millicycles_per_instruction.max(1))).min(u128::from(u64::MAX))
            as u64
    }

    /// The guest's `time` at `cycles`.
    #[must_use]
    pub fn time(&self, cycles: Cycles) -> u64 {
        (u128::from(cycles.0) * u128::from(TIMEBASE_HZ) / u128::from(self.hz)) as u64
    }

    /// The first cycle at which `time` reads `time`; `None` where that is beyond all cycles.
    #[must_use]
    pub fn cycle_of(&self, time: u64) -> Option<Cycles> {
        let cycle = (u128::from(time) * u128::from(self.hz)).div_ceil(u128::from(TIMEBASE_HZ));
        u64::try_from(cycle).ok().map(Cycles)
    }

    /// The guest time that `cycles` take.
    #[must_use]
    pub fn duration(&self, cycles: Cycles) -> Duration {
        Duration::from_nanos((u128::from(cycles.0) * 1_000_000_000 / u128::from(self.hz)) as u64)
    }

    /// Cycles in `seconds`.
    #[must_use]
    pub fn seconds(&self, seconds: u64) -> Cycles {
        Cycles(self.hz.saturating_mul(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Clock = Clock { hz: 2_600_000_000, millicycles_per_instruction: 750 };

    #[test]
    fn time_reads_the_value_from_its_first_cycle_on() {
        for time in [0, 1, 7, 123_456_789] {
            let first = CLOCK.cycle_of(time).unwrap();
            assert_eq!(CLOCK.time(first), time);
            assert!(time == 0 || CLOCK.time(Cycles(first.0 - 1)) == time - 1);
        }
        assert_eq!(CLOCK.cycle_of(u64::MAX), None);
    }

    #[test]
    fn instructions_and_cycles_convert_both_ways() {
        assert_eq!(CLOCK.instructions(1000), Cycles(750));
        assert_eq!(CLOCK.instructions_in(Cycles(750)), 1000);
    }
}
