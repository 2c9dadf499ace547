//! Which frames are free: one bit for each, with summaries above, so that the search for the next free frame takes one step for each level.
//!
//! A host whose frames are [placed](super::Placement) at random has nearly as many runs of free frames as free frames. A sorted map of runs is
//! then a large tree, and each frame that is taken splits a run: with 1 GiB in such an order, that was most of the time that a guest's pages took.

use core::ops::Range;
use types::PageSize;

/// Bits of a word.
const BITS: u64 = u64::BITS as u64;

/// The free frames among those with the numbers `base..base + frames`.
#[derive(Debug)]
pub(super) struct FreeFrames {
    base: u64,
    frames: u64,
    free: u64,
    /// In the first level, a bit is set unless that frame is free. In each level above, a bit is set if the word of that number below has no clear
    /// bit. The last level is one word. (Bits that are clear for what is free need no memory of the process until frames are taken.)
    levels: Vec<Vec<u64>>,
}

impl FreeFrames {
    /// The frames of the numbers `base..base + frames`, all free. There is at least one.
    pub(super) fn new(base: u64, frames: u64) -> Self {
        let mut levels = Vec::new();
        let mut bits = frames;
        loop {
            let words = bits.div_ceil(BITS);
            let mut level = vec![0; words as usize];
            // What is behind the end is never free.
            if let (Some(last), false) = (level.last_mut(), bits.is_multiple_of(BITS)) {
                *last = u64::MAX << (bits % BITS);
            }
            levels.push(level);
            bits = words;
            if words <= 1 {
                break Self { base, frames, free: frames, levels };
            }
        }
    }

    /// How many there are.
    pub(super) const fn count(&self) -> u64 {
        self.free
    }

    /// The lowest free frames that follow one another, so many, the first not below `least` and a multiple of `alignment`: its number.
    pub(super) fn fit(&self, least: u64, frames: u64, alignment: PageSize) -> Option<u64> {
        let step = alignment.bytes() / PageSize::Size4K.bytes();
        let mut from = least.saturating_sub(self.base);
        loop {
            let free = self.first_free(from)?;
            let first = (self.base + free).next_multiple_of(step) - self.base;
            let end = first.checked_add(frames).filter(|&end| end <= self.frames)?;
            match self.first_taken(first..end) {
                None => return Some(self.base + first),
                Some(taken) => from = taken + 1,
            }
        }
    }

    /// Whether all of `frames` frames from `first` on are free.
    pub(super) fn all_free(&self, first: u64, frames: u64) -> bool {
        self.first_taken(self.indices(first, frames)).is_none()
    }

    /// Whether any of `frames` frames from `first` on is free.
    pub(super) fn any_free(&self, first: u64, frames: u64) -> bool {
        let indices = self.indices(first, frames);
        self.first_free(indices.start).is_some_and(|free| free < indices.end)
    }

    /// The runs of free frames, each as long as can be, ascending.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<u64>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let start = self.first_free(from)?;
            let end = self.first_taken(start..self.frames).unwrap_or(self.frames);
            from = end;
            Some(self.base + start..self.base + end)
        })
    }

    /// Takes `frames` frames from `first` on, which are all free.
    pub(super) fn take(&mut self, first: u64, frames: u64) {
        self.free -= frames;
        for (word, mask) in words(self.indices(first, frames)) {
            debug_assert_eq!(self.levels[0][word] & mask, 0, "frames that are not free");
            self.set(word, mask);
        }
    }

    /// Adds `frames` frames from `first` on, none of which is free.
    pub(super) fn give(&mut self, first: u64, frames: u64) {
        self.free += frames;
        for (word, mask) in words(self.indices(first, frames)) {
            debug_assert_eq!(self.levels[0][word] & mask, mask, "frames that are free");
            self.clear(word, mask);
        }
    }

    /// Sets bits of a word of the first level, and that of each word above that has no other clear bit then.
    fn set(&mut self, mut word: usize, mut mask: u64) {
        for level in &mut self.levels {
            level[word] |= mask;
            if level[word] != u64::MAX {
                break;
            }
            (word, mask) = (word / BITS as usize, 1 << (word as u64 % BITS));
        }
    }

    /// Clears bits of a word of the first level, and that of each word above that had no clear bit before.
    fn clear(&mut self, mut word: usize, mut mask: u64) {
        for level in &mut self.levels {
            let before = level[word];
            level[word] &= !mask;
            if before != u64::MAX {
                break;
            }
            (word, mask) = (word / BITS as usize, 1 << (word as u64 % BITS));
        }
    }

    /// The lowest free frame from the index `from` on, as an index.
    fn first_free(&self, from: u64) -> Option<u64> {
        let mut at = from;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get((at / BITS) as usize)?;
            let clear = !word >> (at % BITS);
            if clear != 0 {
                let found = at + u64::from(clear.trailing_zeros());
                let below = self.levels[..height].iter().rev();
                return Some(
                    below.fold(found, |at, level| at * BITS + u64::from((!level[at as usize]).trailing_zeros())),
                );
            }
            at = at / BITS + 1;
        }
        None
    }

    /// The first index of `range` whose frame is not free.
    fn first_taken(&self, range: Range<u64>) -> Option<u64> {
        let level = &self.levels[0];
        let taken = words(range).map(|(word, mask)| (word, level[word] & mask)).find(|&(_, taken)| taken != 0);
        taken.map(|(word, taken)| word as u64 * BITS + u64::from(taken.trailing_zeros()))
    }

    const fn indices(&self, first: u64, frames: u64) -> Range<u64> {
        let start = first - self.base;
        start..start + frames
    }
}

/// The words of the first level that hold bits of `range`, with a mask of those.
fn words(range: Range<u64>) -> impl Iterator<Item = (usize, u64)> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        (at < range.end).then(|| {
            let (word, bit) = (at / BITS, at % BITS);
            let bits = (range.end - at).min(BITS - bit);
            at += bits;
            (word as usize, u64::MAX >> (BITS - bits) << bit)
        })
    })
}

#[cfg(test)]
mod tests;
