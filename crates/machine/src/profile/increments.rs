//! What single charges amount to, each with a number.
//!
//! Most charges are alike: a miss that the L2 answers, a walk that reads so many entries. So a cell counts how often each occurred, and has no
//! counters of its own.

use super::counters::{COUNTERS, Counters};
use super::fold::Folds;
use std::collections::HashMap;

/// The most increments that have a number: a guest can make as many as it likes.
const MOST: usize = 1 << 12;

/// Increments that are found without the table.
const RECENT: usize = 64;

/// The increments that have occurred.
#[derive(Debug)]
pub(super) struct Increments {
    known: Vec<Counters>,
    numbers: HashMap<Counters, u32, Folds>,
    /// Numbers of increments that occurred lately, by the hash of their counters.
    recent: [u32; RECENT],
}

impl Default for Increments {
    fn default() -> Self {
        Self { known: Vec::new(), numbers: HashMap::default(), recent: [0; RECENT] }
    }
}

impl Increments {
    /// The number of an increment; `None` of one that there is no room for.
    #[inline]
    pub(super) fn number(&mut self, increment: &Counters) -> Option<u32> {
        let slot = slot(increment);
        let recent = self.recent[slot];
        match self.known.get(recent as usize) {
            Some(known) if known == increment => Some(recent),
            _ => self.find(increment, slot),
        }
    }

    #[cold]
    fn find(&mut self, increment: &Counters, slot: usize) -> Option<u32> {
        let next = self.known.len();
        let number = match self.numbers.get(increment) {
            Some(&number) => number,
            None if next < MOST => {
                self.known.push(*increment);
                self.numbers.insert(*increment, next as u32);
                next as u32
            }
            None => return None,
        };
        self.recent[slot] = number;
        Some(number)
    }

    /// The increment with a number.
    pub(super) fn get(&self, number: u32) -> &Counters {
        &self.known[number as usize]
    }
}

/// Where the number of an increment is remembered. The factors are odd, so counters that differ by one have slots of their own.
#[inline]
fn slot(increment: &Counters) -> usize {
    const FACTORS: [u64; COUNTERS] = {
        let mut factors = [0x9e37_79b9_7f4a_7c15_u64; COUNTERS];
        let mut at = 1;
        while at < COUNTERS {
            factors[at] = factors[at - 1].wrapping_mul(factors[0]);
            at += 1;
        }
        factors
    };
    let words = increment.words().iter().zip(FACTORS);
    let sum = words.fold(0_u64, |sum, (&word, factor)| sum.wrapping_add((word as u64).wrapping_mul(factor)));
    (sum >> (u64::BITS - RECENT.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn increment(counter: usize, value: i64) -> Counters {
        let mut counters = Counters::default();
        counters.set(counter, value);
        counters
    }

    #[test]
    fn an_increment_keeps_its_number() {
        let mut increments = Increments::default();
        for _ in 0..2 {
            for value in 0..MOST as i64 {
                let one = increment(value as usize % COUNTERS, value + 1);
                assert_eq!(increments.number(&one), Some(value as u32));
                assert_eq!(increments.get(value as u32), &one);
            }
            // There is no room for more.
            assert_eq!(increments.number(&increment(0, -1)), None);
        }
    }
}
