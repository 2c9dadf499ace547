//! Counters by key, in the order in which the keys came.
//!
//! A guest chooses its addresses, so the hash of a key has a secret of the process. Nothing depends on the order of the table.

use super::counters::Counters;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

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

/// A hash of one or several words: products with secrets, folded.
#[derive(Clone, Debug)]
pub(super) struct Fold {
    secrets: [u64; 2],
    state: u64,
}

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.state
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.state ^ word ^ self.secrets[0]) * u128::from(self.secrets[1]);
        self.state = (product as u64) ^ (product >> 64) as u64;
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }
}

/// Makes [`Fold`]s with one secret.
#[derive(Clone, Debug)]
pub(super) struct Folds([u64; 2]);

impl Default for Folds {
    fn default() -> Self {
        let random = RandomState::new();
        Self([random.hash_one(0), random.hash_one(1) | 1])
    }
}

impl BuildHasher for Folds {
    type Hasher = Fold;

    #[inline]
    fn build_hasher(&self) -> Fold {
        Fold { secrets: self.0, state: 0 }
    }
}

/// Counters by key.
#[derive(Debug, Default)]
pub(super) struct Cells {
    index: HashMap<Key, u32, Folds>,
    cells: Vec<(Key, Counters)>,
}

impl Cells {
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The counters of a key, if it has any.
    #[inline]
    pub(super) fn find(&mut self, key: Key) -> Option<&mut Counters> {
        let &at = self.index.get(&key)?;
        Some(&mut self.cells[at as usize].1)
    }

    /// The counters of a key, zero at first.
    pub(super) fn of(&mut self, key: Key) -> &mut Counters {
        let next = self.cells.len();
        let at = *self.index.entry(key).or_insert(next as u32) as usize;
        if at == next {
            self.cells.push((key, Counters::default()));
        }
        &mut self.cells[at].1
    }

    /// Takes over all of `other`, which is empty then.
    pub(super) fn absorb(&mut self, other: &mut Self) {
        if self.cells.is_empty() {
            std::mem::swap(self, other);
            return;
        }
        for (key, counters) in other.cells.drain(..) {
            self.of(key).add(&counters);
        }
        other.index.clear();
    }

    pub(super) fn clear(&mut self) {
        self.index.clear();
        self.cells.clear();
    }

    /// Every key with its counters, in the order in which the keys came.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Key, Counters)> {
        self.cells.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(site: u32, page: u64) -> Key {
        Key { site, page }
    }

    #[test]
    fn cells_are_found_again_and_absorbed_once() {
        let (mut one, mut other) = (Cells::default(), Cells::default());
        for page in 0..1000 {
            one.of(key(1, page << 12)).set(0, 1);
            other.of(key((page % 2) as u32, page << 12)).set(0, 10);
        }
        one.absorb(&mut other);
        assert_eq!((one.len(), other.len()), (1500, 0));
        let sum: i64 = one.iter().map(|(_, counters)| counters.iter().next().unwrap().1).sum();
        assert_eq!(sum, 11_000);
        assert!(one.find(key(0, 1 << 12)).is_none() && one.find(key(0, 2 << 12)).is_some());
    }
}
