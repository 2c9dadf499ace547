//! When a walk records what it has used: as it goes, or once the step that it is a part of is complete.

use crate::space::Spaces;
use crate::walk_cache::{Low, Start, WalkCache};

/// What the entries of a walk are known by in its walk cache.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    pub(crate) spaces: Spaces,
    pub(crate) address: u64,
}

/// Where a walk is counted.
pub(crate) trait Counts {
    /// Counts a walk that begins below the root, with the non-leaf entry of `level` from the walk cache.
    fn count_skip(&mut self, level: u32);

    /// Counts entries that were read.
    fn count_references(&mut self, references: u64);

    /// Counts references that were made at once with an earlier one of their step.
    fn count_joint(&mut self, references: u64);
}

/// What the walk of one tree has used and found.
pub(crate) trait Journal {
    /// Nothing.
    const EMPTY: Self;

    /// Levels of pointers below the start of a walk that it has room for, where it begins at the root.
    const DEPTH: u64;

    /// The walk begins where the walk cache says.
    fn begin<C: Counts>(&mut self, counts: &mut C, cache: &mut WalkCache, key: Key, low: Low);

    /// An entry was read.
    fn reference<C: Counts>(&mut self, counts: &mut C);

    /// An entry of `level` leads to a further table.
    fn pointer(&mut self, cache: &mut WalkCache, key: Key, level: u64, next: &Start);

    /// Records what is not recorded yet.
    fn commit<C: Counts>(self, counts: &mut C, cache: &mut WalkCache);
}

/// The use of what the walk cache knew.
#[inline(always)]
fn take<C: Counts>(counts: &mut C, cache: &mut WalkCache, key: Key, low: &Low) {
    if low.level() != 0 {
        counts.count_skip(low.level());
    }
    cache.take(key.spaces, key.address, low);
}

/// Records at once.
pub(crate) struct Direct;

impl Journal for Direct {
    const EMPTY: Self = Self;
    const DEPTH: u64 = WalkCache::LOW_LEVELS;

    #[inline(always)]
    fn begin<C: Counts>(&mut self, counts: &mut C, cache: &mut WalkCache, key: Key, low: Low) {
        take(counts, cache, key, &low);
    }

    #[inline(always)]
    fn reference<C: Counts>(&mut self, counts: &mut C) {
        counts.count_references(1);
    }

    #[inline(always)]
    fn pointer(&mut self, cache: &mut WalkCache, key: Key, level: u64, next: &Start) {
        cache.fill(key.spaces, key.address, level as u32, next.table, next.global);
    }

    #[inline(always)]
    fn commit<C: Counts>(self, _: &mut C, _: &mut WalkCache) {}
}

/// Records on commit. There is room for the walk of the two lowest levels.
pub(crate) struct Deferred {
    /// What the walk cache knew.
    begun: Option<(Key, Low)>,
    references: u64,
    /// Where the entry of level 1 leads, if one was read.
    pointer: Start,
}

impl Journal for Deferred {
    const EMPTY: Self = Self { begun: None, references: 0, pointer: Start { level: 0, table: 0, global: false } };
    const DEPTH: u64 = 1;

    #[inline(always)]
    fn begin<C: Counts>(&mut self, _: &mut C, _: &mut WalkCache, key: Key, low: Low) {
        self.begun = Some((key, low));
    }

    #[inline(always)]
    fn reference<C: Counts>(&mut self, _: &mut C) {
        self.references += 1;
    }

    #[inline(always)]
    fn pointer(&mut self, _: &mut WalkCache, _: Key, _: u64, next: &Start) {
        self.pointer = *next;
    }

    #[inline(always)]
    fn commit<C: Counts>(self, counts: &mut C, cache: &mut WalkCache) {
        counts.count_references(self.references);
        let Some((key, low)) = self.begun else { return };
        take(counts, cache, key, &low);
        if low.level() == 2 {
            cache.fill(key.spaces, key.address, 1, self.pointer.table, self.pointer.global);
        }
    }
}
