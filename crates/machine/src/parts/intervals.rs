//! The intervals of a run, as they are kept while it goes on. What is read, and when, is in `machine/intervals.rs`.

use crate::results::gauge::Phase;
use crate::results::intervals::{Interval, Intervals, Reading};
use types::Cycles;

/// The most readings of harts that are kept of a guest: how long a run is, and how many regions of interest it has, is the guest's choice.
const MOST_READINGS: usize = 1 << 16;

/// What the lengths of intervals are measured in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    /// Cycles of simulated time.
    Cycles,
    /// Instructions of the guest.
    Instructions,
}

/// The intervals of all guests.
#[derive(Debug)]
pub(crate) struct IntervalLog {
    pub(crate) unit: Unit,
    /// Not zero.
    pub(crate) length: u64,
    /// By guest.
    pub(crate) guests: Vec<GuestIntervals>,
}

/// The intervals of one guest.
#[derive(Debug)]
pub(crate) struct GuestIntervals {
    begun: Reading,
    intervals: Vec<Interval>,
    /// Where the guest is.
    phase: Phase,
    /// At which time or instruction the interval under way ends.
    due: u64,
    /// The first interval of the region of interest that is measured now.
    region: Option<usize>,
    /// Whether a region has been measured to its end.
    measured: bool,
    /// Whether there is no room for more than one interval.
    full: bool,
    /// Whether the interval under way began before a change of phase.
    mixed: bool,
    /// When the guest ended.
    pub(crate) ended: Option<Cycles>,
}

/// What changes with a region of interest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RegionChange {
    /// It begins, and is not measured yet.
    Warms,
    /// It is measured from here on.
    Begins,
    /// It ends.
    Ends,
}

impl GuestIntervals {
    /// None yet of a guest that begins at `begun`, where the first interval ends at `due`. One that goes on with a snapshot may be measured already.
    pub(crate) fn new(begun: Reading, phase: Phase, due: u64) -> Self {
        Self {
            begun,
            intervals: Vec::new(),
            phase,
            due,
            region: (phase == Phase::Measure).then_some(0),
            measured: false,
            full: false,
            mixed: false,
            ended: None,
        }
    }

    /// Whether the interval under way has ended by `position`.
    pub(crate) const fn is_due(&self, position: u64) -> bool {
        self.due <= position && !self.full
    }

    /// The last end of an interval that `position` has reached, where `length` is the length of each.
    pub(crate) const fn passed(&self, position: u64, length: u64) -> u64 {
        self.due + (position - self.due) / length * length
    }

    /// The interval under way ends, and the next one at `due`.
    ///
    /// It may end at the clock of a processor that is behind the one whose turn has ended the interval before: then it has no time.
    pub(crate) fn close(&mut self, mut end: Reading, due: u64) {
        end.at = end.at.max(self.latest());
        // This one, one more, and the last.
        self.full = (self.intervals.len() + 3) * end.harts.len() > MOST_READINGS;
        self.intervals.push(Interval { phase: Some(self.phase), measured: Some(false), end });
        self.due = due;
    }

    /// The interval under way ends because of `change`, after which the guest is in `phase`.
    pub(crate) fn cut(&mut self, end: Reading, due: u64, (change, phase): (RegionChange, Phase)) {
        if self.full {
            self.mixed = true;
        } else {
            self.close(end, due);
        }
        self.phase = phase;
        match change {
            RegionChange::Warms => self.region = None,
            RegionChange::Begins => self.region = Some(self.intervals.len()),
            RegionChange::Ends => {
                // A region that never began to be measured is none.
                if let Some(first) = self.region.take() {
                    self.measured = true;
                    self.intervals[first..].iter_mut().for_each(|interval| interval.measured = Some(true));
                }
            }
        }
    }

    /// When the interval under way began.
    fn latest(&self) -> Cycles {
        self.intervals.last().map_or(self.begun.at, |interval| interval.end.at)
    }

    /// The intervals of a run that has come to `end`.
    pub(crate) fn intervals(&self, mut end: Reading) -> Intervals {
        let mut intervals = self.intervals.clone();
        // A guest may end at a time that no pCPU has come to.
        end.at = end.at.max(self.latest());
        intervals.push(Interval {
            phase: (!self.mixed).then_some(self.phase),
            measured: if self.mixed { None } else { Some(false) },
            end,
        });
        if !self.measured {
            // The whole run counts.
            intervals.iter_mut().for_each(|interval| interval.measured = Some(true));
        }
        Intervals { begun: self.begun.clone(), intervals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::intervals::HartReading;
    use crate::results::statistics::Statistics;

    /// Four harts ended intervals by turns of processors whose clocks were apart, and one ended before it began.
    #[test]
    fn an_interval_does_not_end_before_it_begins() {
        let mut kept = GuestIntervals::new(at(0, 1), Phase::Measure, 10);
        kept.close(at(500, 1), 20);
        kept.close(at(400, 1), 30);
        let ends: Vec<u64> = kept.intervals(at(450, 1)).intervals.iter().map(|interval| interval.end.at.0).collect();
        assert_eq!(ends, [500, 500, 500]);
    }

    fn at(cycles: u64, harts: usize) -> Reading {
        let hart = || HartReading { pcpu: None, statistics: Statistics::default() };
        Reading { at: Cycles(cycles), harts: (0..harts).map(|_| hart()).collect(), guest: Statistics::default() }
    }

    fn told(guest: &GuestIntervals) -> Vec<(Option<&'static str>, Option<bool>)> {
        let intervals = guest.intervals(at(100, 1)).intervals;
        intervals.iter().map(|interval| (interval.phase.map(Phase::name), interval.measured)).collect()
    }

    #[test]
    fn what_is_measured_is_the_regions_that_have_ended() {
        let mut guest = GuestIntervals::new(at(0, 1), Phase::Boot, 10);
        guest.close(at(10, 1), 20);
        assert_eq!(told(&guest), [(Some("boot"), Some(true)); 2], "there is no region yet");
        guest.cut(at(12, 1), 22, (RegionChange::Begins, Phase::Measure));
        guest.close(at(22, 1), 32);
        assert!(told(&guest).iter().all(|(_, measured)| *measured == Some(true)), "nor one that has ended");
        guest.cut(at(25, 1), 35, (RegionChange::Ends, Phase::After));
        guest.cut(at(26, 1), 36, (RegionChange::Begins, Phase::Measure));
        let measured: Vec<_> = told(&guest).iter().map(|(_, measured)| *measured).collect();
        assert_eq!(measured, [false, false, true, true, false, false].map(Some));
    }

    #[test]
    fn a_guest_may_begin_in_a_region() {
        let mut guest = GuestIntervals::new(at(0, 1), Phase::Measure, 10);
        guest.close(at(10, 1), 20);
        guest.cut(at(15, 1), 25, (RegionChange::Ends, Phase::After));
        let measured: Vec<_> = told(&guest).iter().map(|(_, measured)| *measured).collect();
        assert_eq!(measured, [true, true, false].map(Some));
    }

    #[test]
    fn a_region_that_begins_again_is_measured_from_there() {
        let mut guest = GuestIntervals::new(at(0, 1), Phase::Boot, 10);
        guest.cut(at(1, 1), 11, (RegionChange::Begins, Phase::Measure));
        guest.cut(at(2, 1), 12, (RegionChange::Begins, Phase::Measure));
        guest.cut(at(3, 1), 13, (RegionChange::Ends, Phase::After));
        guest.cut(at(4, 1), 14, (RegionChange::Ends, Phase::After));
        let measured: Vec<_> = told(&guest).iter().map(|(_, measured)| *measured).collect();
        assert_eq!(measured, [false, false, true, false, false].map(Some));
    }

    #[test]
    fn a_guest_with_too_many_regions_has_one_last_interval() {
        let mut guest = GuestIntervals::new(at(0, 4), Phase::Boot, 10);
        for _ in 0..MOST_READINGS {
            guest.cut(at(1, 4), 11, (RegionChange::Begins, Phase::Measure));
            guest.cut(at(1, 4), 11, (RegionChange::Ends, Phase::After));
        }
        assert!(!guest.is_due(1000));
        let intervals = guest.intervals(at(2, 4)).intervals;
        assert!(intervals.len() * 4 <= MOST_READINGS);
        let last = intervals.last().unwrap();
        assert_eq!((last.phase, last.measured), (None, None));
    }

    #[test]
    fn a_long_wait_ends_one_interval() {
        let guest = GuestIntervals::new(at(0, 1), Phase::Boot, 10);
        assert!(!guest.is_due(9) && guest.is_due(10));
        assert_eq!([10, 19, 20, 57].map(|position| guest.passed(position, 10)), [10, 10, 20, 50]);
    }
}
