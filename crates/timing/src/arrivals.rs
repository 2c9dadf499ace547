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
        self.latest = self.latest.max(arrives);
        self.list.retain(|&(known, arrives)| known != key && arrives > now);
        self.list.push((key, arrives));
    }

    /// What is in the list. Some of it may have arrived.
    pub(crate) fn keys(&self) -> impl Iterator<Item = K> {
        self.list.iter().map(|&(key, _)| key)
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
}

/// Lines that are under way. Nearly every access of a busy core asks for one that is not, and a table of counts answers that.
#[derive(Debug)]
pub(crate) struct LineArrivals {
    /// Lines, each once, and when each arrives. Some may have arrived.
    list: Vec<(Line, Ticks)>,
    latest: Ticks,
    /// How many lines of the list there are of each group.
    counts: Box<[u16; GROUPS]>,
    /// Of each group that has any, the place in the list of the one that came last.
    places: Box<[u16; GROUPS]>,
    /// Lines in the list with which it is cleared of those that have arrived.
    most: usize,
}

/// Groups of lines. A core waits for fewer than a hundred lines at a time, so that most groups are empty.
pub(crate) const GROUPS: usize = 1024;

/// Lines in the list before any is dropped: many enough that a miss rarely clears the list, few enough that most groups are empty.
const LEAST_DROPPED: usize = 24;

const fn group(line: Line) -> usize {
    line.0 as usize % GROUPS
}

impl LineArrivals {
    pub(crate) fn new() -> Self {
        let groups = || Box::new([0; GROUPS]);
        Self { list: Vec::new(), latest: Ticks(0), counts: groups(), places: groups(), most: LEAST_DROPPED }
    }

    /// When a line arrives, if that is later than `now`. Nothing will ask for times before that.
    #[inline]
    pub(crate) fn find(&mut self, now: Ticks, line: Line) -> Option<Ticks> {
        if self.may_have(line) { self.find_in_list(now, line) } else { None }
    }

    /// Whether a line may be under way.
    #[inline]
    pub(crate) fn may_have(&self, line: Line) -> bool {
        self.counts[group(line)] != 0
    }

    /// A line that has arrived is dropped, so that its next use finds an empty group.
    #[inline(never)]
    fn find_in_list(&mut self, now: Ticks, line: Line) -> Option<Ticks> {
        let place = self.place(line)?;
        let (_, arrives) = self.list[place];
        if arrives <= now {
            self.remove(place);
            return None;
        }
        Some(arrives)
    }

    /// The place in the list of a line whose group is not empty.
    #[inline]
    fn place(&self, line: Line) -> Option<usize> {
        let group = group(line);
        let place = usize::from(self.places[group]);
        if self.list[place].0 == line {
            return Some(place);
        }
        // Groups of two are rare.
        if self.counts[group] == 1 { None } else { self.list.iter().position(|&(known, _)| known == line) }
    }

    /// Removes the line in a place. The last of the list takes the place.
    fn remove(&mut self, place: usize) {
        let (line, _) = self.list.swap_remove(place);
        let group_of_line = group(line);
        self.counts[group_of_line] -= 1;
        if let Some(&(moved, _)) = self.list.get(place)
            && usize::from(self.places[group(moved)]) == self.list.len()
        {
            self.places[group(moved)] = place as u16;
        }
        if self.counts[group_of_line] > 0
            && let Some(other) = self.list.iter().rposition(|&(known, _)| group(known) == group_of_line)
        {
            self.places[group_of_line] = other as u16;
        }
    }

    /// A line is under way, and arrives then, whatever was known of it before. Nothing will ask for times before `now`.
    #[inline]
    pub(crate) fn expect(&mut self, line: Line, arrives: Ticks, now: Ticks) {
        self.latest = self.latest.max(arrives);
        if self.may_have(line)
            && let Some(place) = self.place(line)
        {
            self.list[place].1 = arrives;
            return;
        }
        if self.list.len() >= self.most {
            self.drop_arrived(now);
        }
        self.counts[group(line)] += 1;
        self.places[group(line)] = self.list.len() as u16;
        self.list.push((line, arrives));
    }

    /// Drops the lines that have arrived by `now`. If most of them have not, the list may become longer.
    #[inline(never)]
    pub(crate) fn drop_arrived(&mut self, now: Ticks) {
        let counts = &mut self.counts;
        self.list.retain(|&(line, arrives)| {
            let stays = arrives > now;
            counts[group(line)] -= u16::from(!stays);
            stays
        });
        for (&(line, _), place) in self.list.iter().zip(0..) {
            self.places[group(line)] = place;
        }
        self.most = LEAST_DROPPED.max(2 * self.list.len());
    }

    /// How many lines there are of each group, by the line's number modulo [`GROUPS`].
    pub(crate) fn counts(&self) -> *const u16 {
        self.counts.as_ptr()
    }

    /// When all of them have arrived.
    pub(crate) fn latest(&self) -> Ticks {
        self.latest
    }

    /// Becomes a copy of another list, without an allocation where there is room.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { list, latest, counts, places, most } = other;
        self.list.clone_from(list);
        (self.latest, self.most) = (*latest, *most);
        *self.counts = **counts;
        *self.places = **places;
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
        lines.drop_arrived(Ticks(100));
        assert_eq!(lines.counts[group(one)], 1, "the other has been dropped");
        assert_eq!(lines.list, [(one, Ticks(200))]);
        assert_eq!(lines.latest(), Ticks(200));
    }

    /// Lines of few groups, so that many groups have several, against a map.
    #[test]
    fn lines_of_the_same_groups_are_told_apart() {
        let mut random = testing::Random::new(11);
        let (mut lines, mut obvious) = (LineArrivals::new(), std::collections::BTreeMap::new());
        for now in 0..20_000 {
            let line = random.below(5) * GROUPS as u64 + random.below(9);
            let expected = obvious.get(&line).copied().filter(|&arrives| arrives > Ticks(now));
            assert_eq!(lines.find(Ticks(now), Line(line)), expected, "{line} at {now}");
            if random.below(3) == 0 {
                let arrives = Ticks(now + random.below(60));
                lines.expect(Line(line), arrives, Ticks(now));
                obvious.insert(line, arrives);
            }
            let counts: u16 = lines.counts.iter().sum();
            assert_eq!(usize::from(counts), lines.list.len());
        }
    }

    #[test]
    fn lines_that_have_arrived_are_dropped_and_those_under_way_are_kept() {
        let mut lines = LineArrivals::new();
        for line in 0..10_000 {
            lines.expect(Line(line), Ticks(line + 100), Ticks(line));
            assert!(lines.list.len() <= 200, "{}", lines.list.len());
            let oldest = line.saturating_sub(99);
            assert_eq!(lines.find(Ticks(line), Line(oldest)), Some(Ticks(oldest + 100)).filter(|&at| at > Ticks(line)));
        }
        assert_eq!(lines.counts.iter().map(|&count| usize::from(count)).sum::<usize>(), lines.list.len());
    }

    #[test]
    fn lines_that_follow_each_other_are_in_groups_of_their_own() {
        let mut lines = LineArrivals::new();
        (0..GROUPS as u64).for_each(|line| lines.expect(Line(line), Ticks(50), Ticks(0)));
        assert!(lines.counts.iter().all(|&count| count == 1), "{:?}", lines.counts);
    }
}
