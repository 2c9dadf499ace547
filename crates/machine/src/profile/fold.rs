//! The hash of profiles.
//!
//! A guest chooses its addresses, so the hash has a secret of the process.

use std::hash::{BuildHasher, Hasher, RandomState};

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
