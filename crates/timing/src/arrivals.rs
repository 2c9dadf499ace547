//! What is under way: lines that were asked for, or pages whose walks have begun. Caches and TLBs have them at once; who uses them waits.

use crate::ticks::Ticks;

/// Keys of what is under way, and when each arrives. Times before the latest dispatch do not matter any more, and what has arrived is dropped where
/// the search comes by: so the list is as long as what is outstanding, and a search through it in order is fast.
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
    pub(crate) fn find(&mut self, now: Ticks, matches: impl Fn(K) -> bool) -> Option<Ticks> {
        if self.latest <= now {
            self.list.clear();
            return None;
        }
        let (mut at, mut found) = (0, None);
        while let Some(&(key, arrives)) = self.list.get(at) {
            if arrives <= now {
                self.list.swap_remove(at);
                continue;
            }
            if matches(key) {
                found = found.max(Some(arrives));
            }
            at += 1;
        }
        found
    }

    /// `key` is under way, and arrives then, whatever was known of it before.
    pub(crate) fn expect(&mut self, key: K, arrives: Ticks) {
        self.latest = self.latest.max(arrives);
        match self.list.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = arrives,
            None => self.list.push((key, arrives)),
        }
    }

    /// Becomes a copy of another list, without an allocation where there is room.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.list.clone_from(&other.list);
        self.latest = other.latest;
    }

    /// When all of it has arrived.
    pub(crate) fn latest(&self) -> Ticks {
        self.latest
    }
}
