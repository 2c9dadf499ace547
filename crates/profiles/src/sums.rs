//! What was charged, added up.

use super::attribution::{Attribution, Entry};
use machine::{Counter, Counters, Touched};
use serde_json::{Value, json};
use std::collections::HashMap;
use types::Access;

/// What was charged to a part of a profile.
#[derive(Clone, Debug)]
pub struct Sum<'a> {
    /// The part's name.
    pub name: &'a str,
    /// The number of the address space.
    pub space: usize,
    /// What was charged.
    pub counters: Counters,
}

/// What was charged to a part of a function, or of an object.
#[derive(Clone, Debug)]
pub struct PartialSum<'a, P> {
    /// The part: a line, or the address of a page.
    pub part: P,
    /// What was charged, with the name of what it is a part of.
    pub of: Sum<'a>,
}

impl Attribution {
    /// Functions, the costliest first.
    #[must_use]
    pub fn by_function(&self) -> Vec<Sum<'_>> {
        let sum = |((symbol, space), counters)| Sum { name: self.symbols.name(symbol), space, counters };
        self.sums(|entry| (entry.symbol, entry.space)).into_iter().map(sum).collect()
    }

    /// Lines of source code that are known, the costliest first, with their functions.
    #[must_use]
    pub fn by_line(&self) -> Vec<PartialSum<'_, &str>> {
        let sum = |((line, symbol, space), counters): ((Option<usize>, usize, usize), Counters)| {
            let of = Sum { name: self.symbols.name(symbol), space, counters };
            Some(PartialSum { part: self.lines.name(line?), of })
        };
        self.sums(|entry| (entry.line, entry.symbol, entry.space)).into_iter().filter_map(sum).collect()
    }

    /// Data, the costliest first.
    #[must_use]
    pub fn by_object(&self) -> Vec<Sum<'_>> {
        let sum = |(key, counters): (Option<(usize, usize)>, Counters)| {
            let (object, space) = key?;
            Some(Sum { name: self.objects.name(object), space, counters })
        };
        let sums = self.sums(|entry| page_of_data(entry).map(|_| (entry.object, entry.space)));
        sums.into_iter().filter_map(sum).collect()
    }

    /// Pages of data, the costliest first, with what they are of.
    #[must_use]
    pub fn by_page(&self) -> Vec<PartialSum<'_, u64>> {
        let sum = |(key, counters): (Option<(u64, usize, usize)>, Counters)| {
            let (part, object, space) = key?;
            Some(PartialSum { part, of: Sum { name: self.objects.name(object), space, counters } })
        };
        let sums = self.sums(|entry| page_of_data(entry).map(|page| (page, entry.object, entry.space)));
        sums.into_iter().filter_map(sum).collect()
    }

    /// The functions that cost most, at most `count` of them, as the control socket says them.
    #[must_use]
    pub fn costliest(&self, count: usize) -> Value {
        let function = |sum: &Sum<'_>| {
            json!({
                "function": sum.name,
                "process": self.spaces[sum.space].name,
                "cycles": self.weight(&sum.counters).max(0) / self.rates.ticks_per_cycle() as i64,
            })
        };
        self.by_function().iter().take(count).map(function).collect()
    }

    /// The page that has most of the L1's misses of loads and stores, by a key; of equals the first.
    pub(crate) fn most_missed<K: Eq + Copy + std::hash::Hash>(&self, key: impl Fn(&Entry) -> K) -> HashMap<K, u64> {
        let mut pages: HashMap<(K, u64), i64> = HashMap::new();
        for entry in &self.entries {
            if let Touched::Page(page, Access::Read | Access::Write) = entry.touched {
                *pages.entry((key(entry), page.0)).or_default() += entry.counters.get(Counter::L1dMisses);
            }
        }
        let mut most: HashMap<K, (i64, u64)> = HashMap::new();
        for ((key, page), misses) in pages.into_iter().filter(|(_, misses)| *misses > 0) {
            let best = most.entry(key).or_insert((misses, page));
            if (misses, std::cmp::Reverse(page)) > (best.0, std::cmp::Reverse(best.1)) {
                *best = (misses, page);
            }
        }
        most.into_iter().map(|(key, (_, page))| (key, page)).collect()
    }

    /// What was charged, added up by a key: the costliest first, and of equals the one with more misses of the L1s, and then by key.
    pub(crate) fn sums<K: Ord + Copy + std::hash::Hash>(&self, key: impl Fn(&Entry) -> K) -> Vec<(K, Counters)> {
        let mut sums: HashMap<K, Counters> = HashMap::new();
        for entry in &self.entries {
            sums.entry(key(entry)).or_default().add(&entry.counters);
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        let misses = |counters: &Counters| counters.get(Counter::L1dMisses) + counters.get(Counter::L1iMisses);
        sums.sort_by(|(one, first), (other, second)| {
            let by_cost = self.weight(second).cmp(&self.weight(first));
            by_cost.then(misses(second).cmp(&misses(first))).then(one.cmp(other))
        });
        sums
    }
}

/// The page that was loaded from or stored to.
fn page_of_data(entry: &Entry) -> Option<u64> {
    match entry.touched {
        Touched::Page(page, Access::Read | Access::Write) => Some(page.0),
        Touched::Page(_, Access::Execute) | Touched::Nothing | Touched::Others => None,
    }
}
