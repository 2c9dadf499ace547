//! The core's clock, by additions that wait for each other, and how many it does in a cycle where they do not.

use crate::findings::{Finding, Pipeline};
use crate::raw::{ADDITIONS, Additions, additions, timestamp};
use crate::spread::Spread;
use crate::timing::{Effort, nanoseconds, step};

/// Measures them.
pub(crate) fn measure(effort: Effort) -> Pipeline {
    Pipeline {
        clock_hz: nanoseconds_of(effort, Additions::Dependent).map(|each| each.inverted().scaled(1e9)),
        timestamp_hz: ticks(effort),
        width: width(effort),
    }
}

/// Independent additions in a cycle. Another thread on the same core takes some of them away.
pub(crate) fn width(effort: Effort) -> Finding<Spread> {
    let dependent = nanoseconds_of(effort, Additions::Dependent)?;
    Ok(dependent.over(&nanoseconds_of(effort, Additions::Independent)?))
}

/// Of a number that other work on this machine can only lower, the greater of two measurements.
pub(crate) fn greater(one: Finding<Spread>, other: Finding<Spread>) -> Finding<Spread> {
    match (one, other) {
        (Ok(one), Ok(other)) if other.median > one.median => Ok(other),
        (Ok(one), _) => Ok(one),
        (Err(_), other) => other,
    }
}

/// The time of one addition.
fn nanoseconds_of(effort: Effort, kind: Additions) -> Finding<Spread> {
    match additions(kind, 1) {
        Some(()) => Ok(step(effort, 0, |steps| {
            let _ = additions(kind, steps);
        })
        .scaled(1.0 / ADDITIONS as f64)),
        None => Err("additions of this processor are not known to this program".to_owned()),
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
    fn the_greater_of_two_measurements_counts() {
        let (less, more) = (Ok(Spread::exact(2.0)), Ok(Spread::exact(4.0)));
        let none = || Err("why".to_owned());
        assert_eq!(greater(less.clone(), more.clone()), more);
        assert_eq!(greater(more.clone(), less.clone()), more);
        assert_eq!([greater(less.clone(), none()), greater(none(), less.clone())], [less.clone(), less]);
        assert_eq!(greater(none(), none()), none());
    }

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
