//! The core's clock, by additions that wait for each other, and how many it does in a cycle where they do not.

use crate::findings::{Finding, Pipeline};
use crate::raw::{ADDITIONS, Additions, additions, timestamp};
use crate::spread::Spread;
use crate::timing::{Effort, nanoseconds, step};

/// Measures them.
pub(crate) fn measure(effort: Effort) -> Pipeline {
    let each = |kind| match additions(kind, 1) {
        Some(()) => Ok(step(effort, 0, |steps| {
            let _ = additions(kind, steps);
        })
        .scaled(1.0 / ADDITIONS as f64)),
        None => Err("additions of this processor are not known to this program".to_owned()),
    };
    let dependent = each(Additions::Dependent);
    let independent = each(Additions::Independent);
    let width = dependent.clone().and_then(|dependent| Ok(dependent.over(&independent?)));
    Pipeline {
        clock_hz: dependent.map(|nanoseconds| nanoseconds.inverted().scaled(1e9)),
        timestamp_hz: ticks(effort),
        width,
    }
}

/// Ticks of the time-stamp counter in a second.
fn ticks(effort: Effort) -> Finding<Spread> {
    let once = || {
        let (begin, first) = (nanoseconds(), timestamp()?);
        while nanoseconds() < begin + effort.repeat_ns {}
        let (end, last) = (nanoseconds(), timestamp()?);
        Some((last - first) as f64 * 1e9 / (end - begin) as f64)
    };
    let repeats: Option<Vec<f64>> = (0..effort.repeats).map(|_| once()).collect();
    repeats.map(Spread::of).ok_or_else(|| "this processor has no time-stamp counter".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_processor_of_today_is_recognised_as_one() {
        let pipeline = measure(Effort::QUICK);
        let (clock, width) = (pipeline.clock_hz.unwrap().median, pipeline.width.unwrap().median);
        // A processor that others share seems slower by as much as they take.
        assert!((1e8..1e10).contains(&clock), "{clock}");
        assert!((1.0..16.0).contains(&width), "{width}");
        assert!(pipeline.timestamp_hz.unwrap().median > 1e8);
    }
}
