//! Counters over time as JSON Lines. The keys are a contract: see docs/json-keys.md.

use super::difference::difference;
use super::identity::RunIdentity;
use crate::comparison::counts;
use machine::{Interval, Intervals, Reading};
use serde_json::{Value, json};
use std::io;

/// Writes a line for each interval and hart, and one for what belongs to the guest.
///
/// # Errors
/// Those of `to`.
pub(super) fn write(to: &mut dyn io::Write, about: &RunIdentity, intervals: &Intervals) -> io::Result<()> {
    let mut before = Counted::of(&intervals.begun);
    for (number, interval) in intervals.intervals.iter().enumerate() {
        let after = Counted::of(&interval.end);
        let harts = after.harts.iter().zip(&before.harts).enumerate();
        for (hart, (after, before)) in harts {
            let mut line = heading(about, number, interval, before.at);
            line["hart"] = hart.into();
            line["pcpu"] = interval.end.harts[hart].pcpu.into();
            write_line(to, line, &difference(&after.counts, &before.counts))?;
        }
        let line = heading(about, number, interval, before.guest.at);
        write_line(to, line, &difference(&after.guest.counts, &before.guest.counts))?;
        before = after;
    }
    Ok(())
}

/// What had been counted at one instant.
struct Counted {
    harts: Vec<At>,
    guest: At,
}

struct At {
    at: u64,
    counts: Value,
}

impl Counted {
    fn of(reading: &Reading) -> Self {
        let at = |counts: Value| At { at: reading.at.0, counts };
        Self {
            harts: reading.harts.iter().map(|hart| at(counts::of_hart(&hart.statistics))).collect(),
            guest: at(counts::of_guest(&reading.guest)),
        }
    }
}

/// What a line begins with: which run and interval it is of.
fn heading(about: &RunIdentity, number: usize, interval: &Interval, from: u64) -> Value {
    json!({
        "run": about.run,
        "guest": about.guest,
        "workload": about.work,
        "scheme": about.system,
        "settings": about.settings,
        "interval": number,
        "phase": interval.phase.map(machine::Phase::name),
        "measured": interval.measured,
        "clock_hz": about.clock_hz,
        "from": from,
        "to": interval.end.at.0,
        "hart": null,
        "pcpu": null,
    })
}

fn write_line(to: &mut dyn io::Write, mut line: Value, counts: &Value) -> io::Result<()> {
    for (key, count) in counts.as_object().into_iter().flatten() {
        line[key] = count.clone();
    }
    serde_json::to_writer(&mut *to, &line)?;
    to.write_all(b"\n")
}
