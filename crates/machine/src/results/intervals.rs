//! What a run counted over time, by intervals.

use crate::results::gauge::Phase;
use crate::results::statistics::Statistics;
use core::str::FromStr;
use types::Cycles;

/// How long an interval is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntervalLength {
    /// So many microseconds of simulated time.
    Microseconds(u64),
    /// So many instructions that the guest's harts retire together.
    Instructions(u64),
}

impl FromStr for IntervalLength {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a time such as `1ms`, `250us` or `2s`, or a number of instructions");
        let number = |digits: &str| digits.parse::<u64>().ok().filter(|&number| number > 0).ok_or_else(wrong);
        let units = [("us", 1), ("ms", 1_000), ("s", 1_000_000)];
        match units.into_iter().find_map(|(unit, length)| Some((text.strip_suffix(unit)?, length))) {
            Some((digits, length)) => number(digits)?.checked_mul(length).map(Self::Microseconds).ok_or_else(wrong),
            None => number(text).map(Self::Instructions),
        }
    }
}

/// What a guest had counted at one instant, from the beginning of the run on.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// When, in simulated time.
    pub at: Cycles,
    /// By hart: where it was, and what it had counted.
    pub harts: Vec<HartReading>,
    /// What belongs to the guest and to none of its harts: transactions and shadow tables. All else is zero.
    pub guest: Statistics,
}

/// The part of a [`Reading`] that is of one hart.
#[derive(Clone, Debug)]
pub struct HartReading {
    /// The pCPU that it had; `None` of one that waited without any.
    pub pcpu: Option<usize>,
    /// What it had counted.
    pub statistics: Statistics,
}

/// An interval of a run. It begins where the one before it ends.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Where the guest was all the time; `None` of the last one of a run that had more intervals than are kept.
    pub phase: Option<Phase>,
    /// Whether what was counted is part of the run's measured statistics; `None` where a part of it is.
    pub measured: Option<bool>,
    /// Its end.
    pub end: Reading,
}

/// The intervals of a guest's run.
#[derive(Clone, Debug)]
pub struct Intervals {
    /// The beginning of the first one.
    pub begun: Reading,
    /// All of them, in order.
    pub intervals: Vec<Interval>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_times_or_instructions() {
        for (text, length) in [
            ("1ms", IntervalLength::Microseconds(1000)),
            ("250us", IntervalLength::Microseconds(250)),
            ("2s", IntervalLength::Microseconds(2_000_000)),
            ("1000000", IntervalLength::Instructions(1_000_000)),
        ] {
            assert_eq!(text.parse(), Ok(length));
        }
        for bad in ["", "0", "0ms", "ms", "us", "1.5ms", "-1", "1M", "1ns", "99999999999999999999", "99999999999999s"] {
            assert!(bad.parse::<IntervalLength>().unwrap_err().contains(&format!("`{bad}`")), "{bad}");
        }
    }
}
