//! What a prefetcher of the next line does: whether a miss brings the line behind it, into which level, and how many misses at a time keep it from that.
//!
//! A round visits a number of pages, one line of each: these lines miss. Then it times loads of a second line of a few of these pages: the line behind
//! the first, the first again, or one that lies apart. The last two say what a hit and a miss take. The other pages have a second line as well, which lies
//! apart and is not timed. So the second line lies anywhere, and a prefetcher that learns where it mostly lies does not bring it.

use crate::pages::BASE;
use crate::random::Random;
use crate::raw::{Chain, Mapping};
use crate::spread::Spread;
use crate::staircase::Point;
use crate::timing::{Effort, nanoseconds};
use crate::visits::Lines;

/// Pages of a round: few enough for any first-level TLB, and a multiple of all numbers of chases.
const PAGES: usize = 24;

/// One page of so many of the first chase has a second line that is timed; one page at the least.
const ONE_OF: usize = 8;

/// Numbers of misses at a time.
const CHASES: [usize; 7] = [1, 2, 3, 4, 6, 8, 12];

/// How often hits and the next line are compared.
const TRIES: usize = 5;

/// Rounds of a repeat. All repeats together come to no page again that a cache may hold.
const ROUNDS: usize = 16;

/// Nanoseconds of a load of a second line of a page, once the first one has missed.
#[derive(Clone, PartialEq, Debug)]
pub struct NextLine {
    /// The first line again, which is in the first-level cache.
    pub same: Spread,
    /// A line that lies apart.
    pub apart: Spread,
    /// The line behind the first, by the number of misses at a time, ascending from 1 on.
    pub next: Vec<Point>,
    /// What the line behind the first takes more than the first where each miss is alone: the difference of the means of the quickest half of all rounds. In
    /// the others, some lines may not have been brought.
    pub beyond_same: f64,
}

/// The cache of a prefetcher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextLineLevel {
    /// The first level.
    First,
    /// The second level.
    Second,
}

impl NextLine {
    /// The time where each miss is alone.
    #[must_use]
    pub fn alone(&self) -> Spread {
        self.next[0].value
    }

    /// The most misses at a time with which at least half of the next lines are there; `None` if they are not even where a miss is alone.
    #[must_use]
    pub fn most_misses(&self) -> Option<u64> {
        let half = f64::midpoint(self.same.median, self.apart.median);
        self.next.iter().take_while(|point| point.value.median <= half).last().map(|point| point.size)
    }

    /// Whether next lines are there with as many misses at a time as were tried.
    #[must_use]
    pub fn has_no_limit(&self) -> bool {
        self.most_misses() == self.next.last().map(|point| point.size)
    }

    /// Where the lines are, by the nanoseconds of a load from the first level. A load from the second level takes more than twice as long in all processors.
    #[must_use]
    pub fn level(&self, first: f64) -> NextLineLevel {
        if self.beyond_same > first { NextLineLevel::Second } else { NextLineLevel::First }
    }
}

/// Measures it in memory that is larger than all caches.
pub(crate) fn measure(effort: Effort, buffer: &mut Mapping, lines: Lines) -> NextLine {
    let mut rounds = |chases, probe| {
        let visits = Visits { lines, chases, probe };
        let mut chain = visits.chain(buffer);
        // The chain has few lines of each page, which have just been written. A cache may hold all of them.
        chain.read_mapping(lines.line);
        visits.time(&mut chain, effort.repeats * ROUNDS)
    };
    // Others that share the first level displace lines for a while. The try with the quickest hits has the least of that.
    let alone = (0..TRIES).map(|_| (rounds(1, Probe::Same), rounds(1, Probe::Next)));
    let alone = alone.min_by(|(one, _), (other, _)| quickest_half(one).total_cmp(&quickest_half(other)));
    let (same, next) = alone.expect("there is a try");
    let beyond_same = quickest_half(&next) - quickest_half(&same);
    let apart = rounds(1, Probe::Apart);
    let mut next = vec![next];
    next.extend(CHASES[1..].iter().map(|&chases| rounds(chases, Probe::Next)));
    let points =
        CHASES.iter().zip(&next).map(|(&chases, rounds)| Point { size: chases as u64, value: repeats(rounds) });
    NextLine { same: repeats(&same), apart: repeats(&apart), next: points.collect(), beyond_same }
}

/// The means of the rounds of each repeat.
fn repeats(rounds: &[f64]) -> Spread {
    Spread::of(rounds.chunks(ROUNDS).map(mean).collect())
}

fn quickest_half(rounds: &[f64]) -> f64 {
    let mut rounds = rounds.to_vec();
    rounds.sort_by(f64::total_cmp);
    mean(&rounds[..rounds.len() / 2])
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// The second line of a page that is timed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Probe {
    Same,
    Next,
    Apart,
}

/// Rounds of visits, by chases at the same time.
#[derive(Clone, Copy, Debug)]
struct Visits {
    lines: Lines,
    chases: usize,
    probe: Probe,
}

impl Visits {
    /// Pages that a chase visits in a round.
    const fn pages(self) -> usize {
        PAGES / self.chases
    }

    /// Of how many of them the second line is timed, in the first chase: loads of several chases would overlap. They are visited first, so that their lines have
    /// the most time to arrive.
    fn timed(self) -> usize {
        (self.pages() / ONE_OF).max(1)
    }

    /// A chase's part of a round: the first line of each of its pages, then the second lines in the same order. Each chase begins with such a part.
    fn order(self) -> Vec<usize> {
        let Self { lines: Lines { size, line }, probe, .. } = self;
        let mut random = Random::new(size);
        let per_page = BASE / line;
        let pages = size as usize / BASE / PAGES * PAGES;
        let mut order = Vec::with_capacity(2 * pages);
        for (number, part) in random.order(pages).chunks_exact(self.pages()).enumerate() {
            // The first chase has the first parts.
            let timed = if number < pages / PAGES { self.timed() } else { 0 };
            // The second line of an aligned pair: a prefetcher of such pairs does not bring the next one.
            let places: Vec<(usize, usize)> =
                part.iter().map(|&page| (page as usize * BASE, 2 * random.below(per_page / 2 - 1) + 1)).collect();
            order.extend(places.iter().map(|(page, first)| page + first * line));
            for (number, (page, first)) in places.into_iter().enumerate() {
                // At least three lines away, in either direction.
                let apart = (first + 3 + random.below(per_page - 5)) % per_page;
                order.push(match probe {
                    Probe::Same if number < timed => page + first * line + size_of::<u64>(),
                    Probe::Next if number < timed => page + (first + 1) * line,
                    _ => page + apart * line,
                });
            }
        }
        order
    }

    fn chain(self, memory: &mut Mapping) -> Chain<'_> {
        Chain::with_chases(self.chases, memory, self.order().into_iter())
    }

    /// Nanoseconds of a load of a second line, round by round, without those that the clock takes itself.
    fn time(self, chain: &mut Chain<'_>, rounds: usize) -> Vec<f64> {
        let (pages, timed) = (self.pages() as u64, self.timed() as u64);
        let mut clock = Vec::with_capacity(rounds);
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            chain.follow_together(self.chases, pages);
            // The first time, the clock's code and data may have to be fetched.
            let _ = nanoseconds();
            let begin = nanoseconds();
            let loads_begin = nanoseconds();
            chain.follow_after(loads_begin, timed);
            let end = nanoseconds();
            clock.push((loads_begin - begin) as f64);
            times.push((end - loads_begin) as f64);
            chain.follow(pages - timed);
            (1..self.chases).for_each(|chase| chain.follow_one(chase, pages));
        }
        let clock = quickest_half(&clock);
        times.into_iter().map(|time| (time - clock) / timed as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(same: f64, apart: f64, next: &[f64]) -> NextLine {
        let points = CHASES.iter().zip(next);
        NextLine {
            same: Spread::exact(same),
            apart: Spread::exact(apart),
            next: points.map(|(&size, &value)| Point { size: size as u64, value: Spread::exact(value) }).collect(),
            beyond_same: 0.0,
        }
    }

    #[test]
    fn the_most_misses_are_those_before_which_half_of_the_lines_are_there() {
        let some = found(2.0, 100.0, &[5.0, 6.0, 20.0, 51.0, 52.0, 30.0, 90.0]);
        assert_eq!((some.most_misses(), some.has_no_limit()), (Some(4), false), "what comes behind a limit is chance");
        let all = found(2.0, 100.0, &[5.0; 7]);
        assert_eq!((all.most_misses(), all.has_no_limit()), (Some(12), true));
        let none = found(2.0, 100.0, &[95.0; 7]);
        assert_eq!((none.most_misses(), none.has_no_limit()), (None, false));
    }

    #[test]
    fn lines_that_take_twice_the_time_of_a_hit_are_in_the_second_level() {
        let of = |beyond_same| NextLine { beyond_same, ..found(2.0, 100.0, &[3.0; 7]) }.level(2.0);
        assert_eq!(
            [of(-0.1), of(1.9), of(2.1), of(5.0)].map(|level| level == NextLineLevel::First),
            [true, true, false, false]
        );
    }

    #[test]
    fn times_of_rounds_that_others_delayed_do_not_count() {
        assert!((quickest_half(&[9.0, 1.0, 3.0, 100.0]) - 2.0).abs() < 1e-9);
        let rounds: Vec<f64> = (0..3 * ROUNDS).map(|round| if round < ROUNDS { 90.0 } else { 2.0 }).collect();
        assert_eq!(repeats(&rounds).median, 2.0);
    }

    #[test]
    fn a_chase_visits_the_first_lines_of_its_part_of_a_round_and_then_the_second_ones() {
        let rounds = 5;
        // Pages that are no round are left out.
        let lines = Lines { size: ((rounds * PAGES + 7) * BASE) as u64, line: 64 };
        for probe in [Probe::Same, Probe::Next, Probe::Apart] {
            for chases in CHASES {
                let visits = Visits { lines, chases, probe };
                let order = visits.order();
                assert_eq!(order.len(), rounds * PAGES * 2);
                let parts: Vec<&[usize]> = order.chunks_exact(2 * visits.pages()).collect();
                assert_eq!(parts.len(), rounds * chases);
                for (number, part) in parts.into_iter().enumerate() {
                    let (firsts, seconds) = part.split_at(visits.pages());
                    for (page, (first, second)) in firsts.iter().zip(seconds).enumerate() {
                        assert_eq!((first / BASE, first / 64 % 2), (second / BASE, 1));
                        let distance = (second / 64) as i64 - (first / 64) as i64;
                        let is_timed = number < rounds && page < visits.timed();
                        match probe {
                            Probe::Same if is_timed => assert_eq!(*second, first + 8),
                            Probe::Next if is_timed => assert_eq!(*second, first + 64),
                            _ => assert!(distance.abs() > 2, "{distance}"),
                        }
                    }
                }
                let mut pages: Vec<usize> = order.iter().map(|offset| offset / BASE).collect();
                pages.sort_unstable();
                pages.dedup();
                assert_eq!(pages.len(), rounds * PAGES, "each page has two lines");
            }
        }
    }
}
