//! A VM's working set: the pages of pageable sections that it maps, in the order in which they came.

use std::collections::BTreeMap;
use types::Gpa;

/// Pages by age, and how many there may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WorkingSet {
    quota: u64,
    by_age: BTreeMap<u64, Gpa>,
    ages: BTreeMap<Gpa, u64>,
}

impl WorkingSet {
    /// An empty one, for `quota` pages, at least one.
    pub(super) fn new(quota: u64) -> Self {
        Self { quota: quota.max(1), by_age: BTreeMap::new(), ages: BTreeMap::new() }
    }

    /// Whether another page would be one too many.
    pub(super) fn is_full(&self) -> bool {
        self.ages.len() as u64 >= self.quota
    }

    /// How many pages there are.
    pub(super) fn len(&self) -> u64 {
        self.ages.len() as u64
    }

    /// The page at `gpa` comes at the time `age`, which is later than all before.
    pub(super) fn insert(&mut self, gpa: Gpa, age: u64) {
        let before = self.ages.insert(gpa, age);
        debug_assert!(before.is_none(), "{gpa} is there already");
        self.by_age.insert(age, gpa);
    }

    /// The page at `gpa` leaves, if it is there.
    pub(super) fn remove(&mut self, gpa: Gpa) {
        if let Some(age) = self.ages.remove(&gpa) {
            self.by_age.remove(&age);
        }
    }

    /// The page that came first, and when.
    pub(super) fn oldest(&self) -> Option<(u64, Gpa)> {
        self.by_age.first_key_value().map(|(&age, &gpa)| (age, gpa))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_in_is_oldest_until_it_leaves() {
        let mut set = WorkingSet::new(2);
        set.insert(Gpa(0x2000), 1);
        assert!(!set.is_full());
        set.insert(Gpa(0x1000), 5);
        assert!(set.is_full());
        assert_eq!(set.oldest(), Some((1, Gpa(0x2000))));
        set.remove(Gpa(0x2000));
        set.remove(Gpa(0x9000));
        assert_eq!((set.oldest(), set.len()), (Some((5, Gpa(0x1000))), 1));
        assert!(!WorkingSet::new(0).is_full(), "one page is the least");
    }
}
