//! How much work is left, judged by work of the same kind that is done.

use std::collections::HashMap;
use std::time::Duration;

/// What runs of one kind have taken.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    runs: u32,
    instructions: u64,
    time: Duration,
}

/// Records by kind: runs of one workload do about the same work, whatever the scheme.
#[derive(Debug, Default)]
pub(super) struct Estimate(HashMap<String, Record>);

impl Estimate {
    /// A run of `kind` has ended.
    pub(super) fn add(&mut self, kind: &str, instructions: u64, time: Duration) {
        let record = self.0.entry(kind.to_owned()).or_default();
        record.runs += 1;
        record.instructions += instructions;
        record.time += time;
    }

    /// Instructions of a run of `kind`; `None` before one has ended.
    pub(super) fn instructions(&self, kind: &str) -> Option<u64> {
        let record = self.0.get(kind)?;
        Some(record.instructions / u64::from(record.runs)).filter(|&instructions| instructions > 0)
    }

    /// How long a run of `kind` takes; `None` before one has ended.
    pub(super) fn time(&self, kind: &str) -> Option<Duration> {
        self.0.get(kind).map(|record| record.time / record.runs)
    }
}

/// A duration for people: `4.1 s`, `41 s`, `2 min 05 s`, `1 h 12 min`.
pub(super) fn duration(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        seconds @ 10..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// A number of instructions for people, in millions.
pub(super) fn millions(instructions: u64) -> String {
    match instructions {
        few @ 0..10_000_000 => format!("{:.1}", few as f64 / 1e6),
        many => (many / 1_000_000).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_expected_before_a_run_of_the_kind_has_ended() {
        let mut estimate = Estimate::default();
        estimate.add("gups", 100, Duration::from_secs(2));
        assert_eq!((estimate.instructions("kv"), estimate.time("kv")), (None, None));
        estimate.add("gups", 300, Duration::from_secs(4));
        assert_eq!(estimate.instructions("gups"), Some(200));
        assert_eq!(estimate.time("gups"), Some(Duration::from_secs(3)));
    }

    #[test]
    fn durations_and_counts_are_for_people() {
        for (millis, text) in [(4_120, "4.1 s"), (41_900, "41 s"), (125_000, "2 min 05 s"), (4_320_000, "1 h 12 min")] {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
        assert_eq!((millions(123_456), millions(12_345_678)), ("0.1".to_owned(), "12".to_owned()));
    }
}
