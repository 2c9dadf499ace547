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
#[derive(Clone, Debug)]
struct Duel {
    /// Sets for each pair of leaders.
    apart: usize,
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
        Self { apart: (sets / LEADERS).max(2), counter: HALF, numbers: SplitMix64::from_seed(0) }
    }

    /// A set has missed: how its new page is inserted.
    fn missed(&mut self, set: usize) -> Insertion {
        match set % self.apart {
            0 => {
                self.counter = (self.counter + 1).min(MOST);
                Insertion::Long
            }
            1 => {
                self.counter = self.counter.saturating_sub(1);
                Insertion::MostlyDistant
            }
            _ if self.counter >= HALF => Insertion::MostlyDistant,
            _ => Insertion::Long,
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
