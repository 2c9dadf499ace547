//! Counters by key, in the order in which the keys came.
//!
//! A program that misses everywhere has many cells, and each miss is of another one. So a cell is small: it counts how often each of a few
//! [increments](super::increments) occurred.
//!
//! Nothing depends on the order of the table.

use super::counters::{Counters, VARYING};
use super::fold::Folds;
use super::increments::Increments;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash, Hasher};

/// The key of a cell: the number of a site, and a page with what was done there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    pub(super) site: u32,
    pub(super) page: u64,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.page ^ u64::from(self.site) << 48 ^ u64::from(self.site) >> 16);
    }
}

/// How many increments a cell counts; it is as many as fit in a line of the host's caches.
const TALLIES: usize = 4;

/// How often an increment occurred.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    increment: u32,
    times: u32,
}

/// What was charged to a key, without what is in [`Cells::rest`].
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Cell {
    page: u64,
    site: u32,
    /// The number of its counters for whatever has no tally, from 1 on; 0 where there are none.
    rest: u32,
    /// The sums of the counters that differ from charge to charge.
    varying: [i64; VARYING.len()],
    /// Those that have occurred come first.
    tallies: [Tally; TALLIES],
}

const _: () = assert!(size_of::<Cell>() == 64);

impl Cell {
    fn new(Key { site, page }: Key) -> Self {
        Self { page, site, rest: 0, varying: [0; VARYING.len()], tallies: [Tally::default(); TALLIES] }
    }

    #[inline]
    const fn key(&self) -> Key {
        Key { site: self.site, page: self.page }
    }
}

/// Counters by key.
#[derive(Debug, Default)]
pub(super) struct Cells {
    folds: Folds,
    cells: HashTable<Cell>,
    /// In the order in which they came.
    keys: Vec<Key>,
    increments: Increments,
    /// Sums of what has no tally.
    rest: Vec<Counters>,
}

impl Cells {
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Adds one charge to a key that has been charged before. Returns whether it has.
    #[inline]
    pub(super) fn charge(&mut self, key: Key, charge: &Counters) -> bool {
        let found = self.cells.find_mut(self.folds.hash_one(key), |cell| cell.key() == key);
        match found {
            Some(cell) => add_charge(cell, &mut self.increments, &mut self.rest, charge),
            None => return false,
        }
        true
    }

    /// Adds one charge to a key.
    pub(super) fn charge_new(&mut self, key: Key, charge: &Counters) {
        let (cell, increments, rest) = self.cell(key);
        add_charge(cell, increments, rest, charge);
    }

    /// The cell of a key, which is zero at first, with what a charge needs beside.
    fn cell(&mut self, key: Key) -> (&mut Cell, &mut Increments, &mut Vec<Counters>) {
        let Self { folds, cells, keys, increments, rest } = self;
        let hash_of = |cell: &Cell| folds.hash_one(cell.key());
        let entry = cells.entry(folds.hash_one(key), |cell| cell.key() == key, hash_of);
        let entry = entry.or_insert_with(|| {
            keys.push(key);
            Cell::new(key)
        });
        (entry.into_mut(), increments, rest)
    }

    /// Adds what other charges add up to.
    pub(super) fn add(&mut self, key: Key, sum: &Counters) {
        let (cell, _, rest) = self.cell(key);
        add_rest(cell, rest, sum);
    }

    fn sum(&self, cell: &Cell) -> Counters {
        let mut sum = cell.rest.checked_sub(1).map_or_else(Counters::default, |rest| self.rest[rest as usize]);
        for tally in cell.tallies.iter().filter(|tally| tally.times > 0) {
            sum.add_times(tally.times.into(), self.increments.get(tally.increment));
        }
        for (counter, varying) in VARYING.into_iter().zip(cell.varying) {
            sum.set(counter as usize, sum.get(counter) + varying);
        }
        sum
    }

    /// Takes over all of `other`, which is empty then.
    pub(super) fn absorb(&mut self, other: &mut Self) {
        if self.cells.is_empty() {
            std::mem::swap(self, other);
            return;
        }
        other.iter().for_each(|(key, sum)| self.add(key, &sum));
        other.clear();
    }

    pub(super) fn clear(&mut self) {
        self.cells.clear();
        self.keys.clear();
        self.rest.clear();
    }

    /// Every key with its counters, in the order in which the keys came.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, Counters)> {
        let find = |key: &Key| self.cells.find(self.folds.hash_one(key), |cell| cell.key() == *key);
        self.keys.iter().filter_map(find).map(|cell| (cell.key(), self.sum(cell)))
    }
}

#[inline]
fn add_charge(cell: &mut Cell, increments: &mut Increments, rest: &mut Vec<Counters>, charge: &Counters) {
    let mut increment = *charge;
    for (sum, counter) in cell.varying.iter_mut().zip(VARYING) {
        *sum += charge.get(counter);
        increment.set(counter as usize, 0);
    }
    if let Some(number) = increments.number(&increment) {
        let free_or_same = |tally: &&mut Tally| tally.times == 0 || tally.increment == number;
        if let Some(tally) = cell.tallies.iter_mut().find(free_or_same)
            && let Some(times) = tally.times.checked_add(1)
        {
            *tally = Tally { increment: number, times };
            return;
        }
    }
    add_rest(cell, rest, &increment);
}

fn add_rest(cell: &mut Cell, rest: &mut Vec<Counters>, sum: &Counters) {
    if cell.rest == 0 {
        rest.push(Counters::default());
        cell.rest = rest.len() as u32;
    }
    rest[cell.rest as usize - 1].add(sum);
}

#[cfg(test)]
mod tests {
    use super::super::counters::Counter;
    use super::*;

    fn key(site: u32, page: u64) -> Key {
        Key { site, page }
    }

    fn counters(values: &[(Counter, i64)]) -> Counters {
        let mut counters = Counters::default();
        values.iter().for_each(|&(counter, value)| counters.set(counter as usize, value));
        counters
    }

    #[test]
    fn cells_are_found_again_and_absorbed_once() {
        let (mut one, mut other) = (Cells::default(), Cells::default());
        for page in 0..1000 {
            one.charge_new(key(1, page << 12), &counters(&[(Counter::L1dMisses, 1)]));
            other.charge_new(key((page % 2) as u32, page << 12), &counters(&[(Counter::L1dMisses, 10)]));
        }
        one.absorb(&mut other);
        assert_eq!((one.len(), other.len()), (1500, 0));
        let sum: i64 = one.iter().map(|(_, counters)| counters.get(Counter::L1dMisses)).sum();
        assert_eq!(sum, 11_000);
        assert!(
            !one.charge(key(0, 1 << 12), &Counters::default()) && one.charge(key(0, 2 << 12), &Counters::default())
        );
    }

    #[test]
    fn charges_that_have_no_tally_are_added_up_too() {
        let mut cells = Cells::default();
        let mut expected = [Counters::default(), Counters::default()];
        for time in 0..10_000_i64 {
            // More kinds than a cell counts, and than have numbers; times that are negative.
            let charge = counters(&[
                (Counter::GuestRefs, time % 9),
                (Counter::HypervisorCycles, if time % 3 == 0 { time } else { 7 }),
                (Counter::WalkCycles, time % 31),
                (Counter::CoreTicks, 100 - time),
            ]);
            let site = (time % 2) as u32;
            if !cells.charge(key(site, 0), &charge) {
                cells.charge_new(key(site, 0), &charge);
            }
            expected[site as usize].add(&charge);
        }
        let sums: Vec<Counters> = cells.iter().map(|(_, sum)| sum).collect();
        assert_eq!(sums, expected);
        // A sum that is taken over is no charge.
        let mut all = Cells::default();
        all.charge_new(key(1, 0), &Counters::default());
        all.absorb(&mut cells);
        assert_eq!(all.iter().map(|(_, sum)| sum).collect::<Vec<_>>(), [expected[1], expected[0]]);
    }

    #[test]
    fn a_tally_that_is_full_is_not_counted_past_its_end() {
        let mut cells = Cells::default();
        let charge = counters(&[(Counter::Walks, 1)]);
        cells.charge_new(key(0, 0), &charge);
        cells.cell(key(0, 0)).0.tallies[0].times = u32::MAX;
        assert!(cells.charge(key(0, 0), &charge));
        assert_eq!(cells.iter().next().unwrap().1.get(Counter::Walks), i64::from(u32::MAX) + 1);
    }
}
