//! What is under way: lines that were requested, or pages whose walks have begun. Caches and TLBs have them at once; who uses them waits.

use crate::{event::Line, ticks::Ticks};

/// Keys of what is under way, and when each arrives. Times before the latest dispatch do not matter any more. What has arrived by then is dropped, so
/// that the list is as long as what is outstanding, and a search through it in order is fast.
#[derive(Debug)]
pub(crate) struct Arrivals<K> {
    list: Vec<(K, Ticks)>,
    latest: Ticks,
}

impl<K: PartialEq + Copy> Arrivals<K> {
    pub(crate) fn new() -> Self {
        Self { list: Vec::new(), latest: Ticks(0) }
    }

    /// When all that matches has arrived, if that is later than `now`.
    #[inline]
    pub(crate) fn find(&self, now: Ticks, matches: impl Fn(K) -> bool) -> Option<Ticks> {
        if self.latest <= now {
            return None;
        }
        let arrivals = self.list.iter().filter(|&&(key, arrives)| arrives > now && matches(key));
        arrivals.map(|&(_, arrives)| arrives).max()
    }

    /// `key` is under way, and arrives then, whatever was known of it before. What has arrived by `now` is dropped.
    pub(crate) fn expect(&mut self, key: K, arrives: Ticks, now: Ticks) {
        self.expect_and_drop(key, arrives, now, |_| {});
    }

    /// When all of it has arrived.
    pub(crate) fn latest(&self) -> Ticks {
        self.latest
    }

    /// Becomes a copy of another list, without an allocation where there is room.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.list.clone_from(&other.list);
        self.latest = other.latest;
    }

    /// As [`Self::expect`]; each key that is dropped. Returns whether `key` was not known.
    fn expect_and_drop(&mut self, key: K, arrives: Ticks, now: Ticks, mut dropped: impl FnMut(K)) -> bool {
        self.latest = self.latest.max(arrives);
        let (mut at, mut new) = (0, true);
        while let Some(known) = self.list.get_mut(at) {
            if known.0 == key {
                known.1 = arrives;
                new = false;
            } else if known.1 <= now {
                dropped(known.0);
                self.list.swap_remove(at);
                continue;
            }
            at += 1;
        }
        if new {
            self.list.push((key, arrives));
        }
        new
    }
}

/// Lines that are under way. Nearly every access of a busy core asks for one that is not, and a table of counts answers that.
#[derive(Debug)]
pub(crate) struct LineArrivals {
    arrivals: Arrivals<Line>,
    /// How many lines of the list there are of each group.
    counts: Box<[u16; GROUPS]>,
}

/// Groups of lines. A core waits for fewer than a hundred lines at a time, so that most groups are empty.
const GROUPS: usize = 1024;

const fn group(line: Line) -> usize {
    line.0 as usize % GROUPS
}

impl LineArrivals {
    pub(crate) fn new() -> Self {
        Self { arrivals: Arrivals::new(), counts: Box::new([0; GROUPS]) }
    }

    /// When a line arrives, if that is later than `now`.
    #[inline]
    pub(crate) fn find(&self, now: Ticks, line: Line) -> Option<Ticks> {
        if self.counts[group(line)] == 0 {
            return None;
        }
        self.arrivals.find(now, |known| known == line)
    }

    /// As [`Arrivals::expect`].
    pub(crate) fn expect(&mut self, line: Line, arrives: Ticks, now: Ticks) {
        let counts = &mut self.counts;
        if self.arrivals.expect_and_drop(line, arrives, now, |dropped| counts[group(dropped)] -= 1) {
            counts[group(line)] += 1;
        }
    }

    /// When all of them have arrived.
    pub(crate) fn latest(&self) -> Ticks {
        self.arrivals.latest()
    }

    /// Becomes a copy of another list, without an allocation where there is room.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.arrivals.copy_from(&other.arrivals);
        *self.counts = *other.counts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_arrives_once_and_its_group_is_empty_again() {
        let mut lines = LineArrivals::new();
        let (one, other) = (Line(3), Line(3 + GROUPS as u64));
        lines.expect(one, Ticks(50), Ticks(0));
        assert_eq!([lines.find(Ticks(0), one), lines.find(Ticks(0), other)], [Some(Ticks(50)), None]);
        lines.expect(other, Ticks(90), Ticks(10));
        assert_eq!([lines.find(Ticks(49), one), lines.find(Ticks(50), one)], [Some(Ticks(50)), None]);
        lines.expect(one, Ticks(200), Ticks(100));
        assert_eq!([lines.find(Ticks(100), one), lines.find(Ticks(100), other)], [Some(Ticks(200)), None]);
        assert_eq!(lines.counts[group(one)], 1, "the other has been dropped");
        assert_eq!(lines.latest(), Ticks(200));
    }

    #[test]
    fn lines_that_follow_each_other_are_in_groups_of_their_own() {
        let mut lines = LineArrivals::new();
        (0..GROUPS as u64).for_each(|line| lines.expect(Line(line), Ticks(50), Ticks(0)));
        assert!(lines.counts.iter().all(|&count| count == 1), "{:?}", lines.counts);
    }
}
