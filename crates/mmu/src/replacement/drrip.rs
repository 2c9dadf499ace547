//! Dynamic re-reference interval prediction (Jaleel et al., ISCA 2010, section 5): pages that are new are inserted as [SRRIP](super::srrip) does, or
//! mostly with a distant prediction, by what misses less. So a part of a set of pages that is too large stays, where SRRIP would replace all of it.

use super::generator::SplitMix64;
use super::policy::{PolicyFacts, Replacement};
use super::srrip::{Interval, NEEDS_EVERY_HIT, Predictions};

pub(super) static FACTS: PolicyFacts = PolicyFacts {
    name: "drrip",
    summary: "as srrip, or with most new pages predicted as distant, by which of the two misses less in leader sets: DRRIP with a 10-bit counter",
    seeded: false,
    refused_at_l1: Some(NEEDS_EVERY_HIT),
    // The counter and the generator are one for the whole array, and no state of a set.
    state_bits: |ways| 2 * u64::from(ways),
    build: |shape, _| Box::new(Drrip { predictions: Predictions::new(shape), duel: Duel::new(shape.sets) }),
};

/// Pairs of leader sets, where the array has as many.
const LEADERS: usize = 32;
/// The greatest value of the counter, and the least one with which followers insert distant pages.
const MOST: u16 = (1 << 10) - 1;
const HALF: u16 = 1 << 9;
/// One of so many distant insertions has a long prediction.
const BIMODAL: u64 = 32;

/// Set dueling: some sets always insert one way, some the other. The followers do as those that miss less.
///
/// Of each group of adjacent sets, one is a leader of each kind: the set whose place in the group is the group's number, and the one whose place from the end is that
/// (complement-select: Qureshi et al., "Adaptive Insertion Policies for High Performance Caching", ISCA 2007). So the leaders of a cache hold lines from all parts of
/// a page. If all of them held first lines, the duel would see what is special about these: prefetchers that stop at the end of a page do not bring them.
#[derive(Clone, Debug)]
struct Duel {
    /// Sets of a group.
    group: usize,
    /// Misses of the leaders that insert with a long prediction, less those of the others.
    counter: u16,
    /// Chooses which few insertions have a long prediction. A count of them would always choose those at the same places of a loop.
    numbers: SplitMix64,
}

/// How the pages of a set are inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Insertion {
    Long,
    MostlyDistant,
}

impl Duel {
    fn new(sets: usize) -> Self {
        Self { group: (sets / LEADERS).max(2), counter: HALF, numbers: SplitMix64::from_seed(0) }
    }

    /// A set has missed: how its new page is inserted.
    fn missed(&mut self, set: usize) -> Insertion {
        let (place, number) = (set % self.group, set / self.group % self.group);
        if place == number {
            self.counter = (self.counter + 1).min(MOST);
            Insertion::Long
        } else if self.group - 1 - place == number {
            self.counter = self.counter.saturating_sub(1);
            Insertion::MostlyDistant
        } else if self.counter >= HALF {
            Insertion::MostlyDistant
        } else {
            Insertion::Long
        }
    }

    fn interval(&mut self, set: usize) -> Interval {
        match self.missed(set) {
            Insertion::MostlyDistant if !self.numbers.next().is_multiple_of(BIMODAL) => Interval::Distant,
            Insertion::MostlyDistant | Insertion::Long => Interval::Long,
        }
    }
}

#[derive(Clone, Debug)]
struct Drrip {
    predictions: Predictions,
    duel: Duel,
}

impl Replacement for Drrip {
    fn touch(&mut self, set: usize, way: usize) {
        self.predictions.predict(set, way, Interval::Near);
    }

    fn insert(&mut self, set: usize, way: usize) {
        let interval = self.duel.interval(set);
        self.predictions.predict(set, way, interval);
    }

    fn victim(&mut self, set: usize) -> usize {
        self.predictions.victim(set)
    }

    fn invalidate(&mut self, _: usize, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the paper: of 1024 sets, every 33rd from the first one on, and every 31st from set 31 on.
    #[test]
    fn leaders_are_those_of_complement_select() {
        let leaders = |sets: usize, moves: fn(u16) -> bool| -> Vec<usize> {
            let moved = |set: &usize| {
                let mut duel = Duel::new(sets);
                duel.missed(*set);
                moves(duel.counter)
            };
            (0..sets).filter(moved).collect()
        };
        let (long, distant) = (leaders(1024, |counter| counter > HALF), leaders(1024, |counter| counter < HALF));
        assert_eq!(long, (0..32).map(|number| number * 33).collect::<Vec<_>>());
        assert_eq!(distant, (1..=32).map(|number| number * 31).collect::<Vec<_>>());
        // A page of 64 lines has leaders at 32 places of each kind.
        let places = |moves| leaders(8192, moves).into_iter().map(|set| set % 64).collect::<Vec<_>>();
        assert_eq!(places(|counter| counter > HALF), (0..32).collect::<Vec<_>>());
        assert_eq!(places(|counter| counter < HALF), (32..64).rev().collect::<Vec<_>>());
        assert_eq!(
            (leaders(64, |counter| counter > HALF).len(), leaders(64, |counter| counter < HALF).len()),
            (32, 32)
        );
    }
}
