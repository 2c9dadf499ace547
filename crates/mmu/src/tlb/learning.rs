//! Replacement policies of a first-level TLB that are not LRU.
//!
//! The hart hits entries in their fast copies without a call; it leaves the time of the last hit in each. So a policy learns what was used when its
//! set is next changed: the ways that were used since are touched in the order of their last use. That is as good as every hit for a policy
//! whose state an earlier hit of the same way does not change, and no other is accepted
//! ([`PolicyFacts::refused_at_l1`](crate::PolicyFacts::refused_at_l1)).

use crate::config::TlbArray;
use crate::replacement::ByArray;
use crate::tlb::way::Way;

/// The policies of all arrays, and up to when they know the uses.
#[derive(Debug)]
pub(super) struct Learning {
    policies: ByArray,
    /// By the first group of each set: the time of the latest use that its policy knows of.
    known: Box<[u64]>,
    /// Uses of a set that its policy does not know yet; empty between calls.
    unknown: Vec<(u64, Way)>,
}

impl Learning {
    /// Policies for arrays of this many groups together; `None` where each of them is LRU, which the stamps themselves are.
    pub(super) fn new(arrays: &[TlbArray], groups: usize) -> Option<Box<Self>> {
        if arrays.iter().all(|array| array.replacement.is_lru()) {
            return None;
        }
        let policies = ByArray::new(arrays.iter().map(|array| (array.shape(), array.replacement)));
        Some(Box::new(Self { policies, known: vec![0; groups].into(), unknown: Vec::new() }))
    }

    /// Tells a set's policy what was used; `last_use` gives the time of each way's last use.
    fn learn(&mut self, set: usize, last_use: impl Fn(usize) -> u64) {
        let ways = (0..self.policies.ways(set)).map(|way| Way::new(set, way));
        let known = self.known[set];
        self.unknown.extend(ways.map(|way| (last_use(way.slot), way)).filter(|&(time, _)| time > known));
        self.unknown.sort_unstable_by_key(|&(time, _)| time);
        for (time, way) in self.unknown.drain(..) {
            self.known[set] = time;
            self.policies.touch(way);
        }
    }

    /// The slot where a page is inserted at the time `now`: that of an `empty` way, or of a victim.
    pub(super) fn insert(&mut self, set: usize, empty: Option<Way>, now: u64, last_use: impl Fn(usize) -> u64) -> Way {
        self.learn(set, last_use);
        let way = empty.unwrap_or_else(|| self.policies.victim(set));
        self.policies.insert(way);
        self.known[set] = now;
        way
    }

    /// A fence removes the page in a way.
    pub(super) fn invalidate(&mut self, way: &Way, last_use: impl Fn(usize) -> u64) {
        self.learn(way.set, last_use);
        self.policies.invalidate(way);
    }

    /// Tells the policies of all sets what was used, before times are numbered again.
    pub(super) fn learn_all(&mut self, last_use: impl Fn(usize) -> u64) {
        self.policies.sets().for_each(|set| self.learn(set, &last_use));
    }

    /// Times are numbered again, and `latest` is the greatest of them: all uses are known.
    pub(super) fn renumbered(&mut self, latest: u64) {
        self.known.fill(latest);
    }
}
