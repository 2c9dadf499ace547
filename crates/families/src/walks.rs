//! Walks of one system: its page-walk cache, and what its walks read.

use crate::tables::POINTERS;
use mmu::WalkCacheSizes;

/// No slot holds a pointer.
const NOWHERE: u16 = u16::MAX;

/// Where the walk of an address goes: the identifier of each pointer, by level − 1, and the levels.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path {
    pub(crate) pointers: [u32; POINTERS],
    /// Level of the root's entries; 0 without translation.
    pub(crate) root: u32,
    /// Level of the entry that is read last.
    pub(crate) last: u32,
    /// Whether there is no table to read.
    pub(crate) bare: bool,
}

/// The pointers of one level, with exact LRU.
#[derive(Clone, Debug)]
struct Level {
    /// By the pointer's identifier.
    slots: Vec<u16>,
    /// By slot: the pointer (0 of an empty slot), and when it was used last.
    owners: Vec<u32>,
    times: Vec<u64>,
    now: u64,
}

impl Level {
    fn new(entries: u32) -> Self {
        let entries = entries as usize;
        Self { slots: Vec::new(), owners: vec![0; entries], times: vec![0; entries], now: 0 }
    }

    /// Whether a pointer is there. It is the most recently used one then.
    #[inline(always)]
    fn hits(&mut self, pointer: u32) -> bool {
        match self.slots.get(pointer as usize) {
            Some(&slot) if slot != NOWHERE => {
                self.now += 1;
                self.times[slot as usize] = self.now;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Keeps a pointer that is not there.
    fn fill(&mut self, pointer: u32) {
        // Empty slots have the time 0.
        let Some((slot, _)) = self.times.iter().enumerate().min_by_key(|&(_, &time)| time) else { return };
        let before = core::mem::replace(&mut self.owners[slot], pointer);
        if before != 0 {
            self.slots[before as usize] = NOWHERE;
        }
        if self.slots.len() <= pointer as usize {
            self.slots.resize(pointer as usize + 1, NOWHERE);
        }
        self.slots[pointer as usize] = slot as u16;
        self.now += 1;
        self.times[slot] = self.now;
    }

    fn remove_where(&mut self, drops: impl Fn(u32) -> bool) {
        for (owner, time) in self.owners.iter_mut().zip(&mut self.times) {
            if *owner != 0 && drops(*owner) {
                self.slots[*owner as usize] = NOWHERE;
                (*owner, *time) = (0, 0);
            }
        }
    }
}

/// The walks of a system.
#[derive(Clone, Debug)]
pub(crate) struct Walks {
    levels: [Level; POINTERS],
    /// Entries of the guest's tables that were read.
    pub(crate) refs: u64,
    /// Walks that began below the root, by the level of the pointer − 1.
    pub(crate) hits: [u64; POINTERS],
    /// The most entries that one walk has read.
    pub(crate) max_refs: u64,
}

impl Walks {
    /// The most entries of a level.
    pub(crate) const MOST_ENTRIES: u32 = NOWHERE as u32;

    pub(crate) fn new(sizes: WalkCacheSizes) -> Self {
        Self { levels: sizes.0.map(Level::new), refs: 0, hits: [0; POINTERS], max_refs: 0 }
    }

    /// Makes a walk.
    #[inline(always)]
    pub(crate) fn walk(&mut self, path: &Path) {
        if path.bare {
            return;
        }
        if self.levels[0].hits(path.pointers[0]) {
            self.hits[0] += 1;
            self.refs += 1;
            self.max_refs = self.max_refs.max(1);
            return;
        }
        self.walk_from_above(path);
    }

    /// A walk that the lowest pointer is not cached for.
    #[inline(never)]
    fn walk_from_above(&mut self, path: &Path) {
        let cached =
            (2..=path.root).find(|&level| self.levels[level as usize - 1].hits(path.pointers[level as usize - 1]));
        let begins = match cached {
            Some(level) => {
                self.hits[level as usize - 1] += 1;
                level - 1
            }
            None => path.root,
        };
        for level in (path.last + 1..=begins).rev() {
            self.levels[level as usize - 1].fill(path.pointers[level as usize - 1]);
        }
        let refs = u64::from(begins - path.last + 1);
        self.refs += refs;
        self.max_refs = self.max_refs.max(refs);
    }

    /// Removes pointers of a level (− 1).
    pub(crate) fn remove_where(&mut self, drops: impl Fn(usize, u32) -> bool) {
        for (index, level) in self.levels.iter_mut().enumerate() {
            level.remove_where(|pointer| drops(index, pointer));
        }
    }
}
