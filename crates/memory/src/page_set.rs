//! A set of a guest's pages, one bit each.

use types::PageSize;

const PAGE: u64 = PageSize::Size4K.bytes();

/// Pages of 4 KiB, by their offset from the start of the guest's memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PageSet {
    /// A bit for each page, up to the last that is in the set.
    words: Vec<u64>,
}

impl PageSet {
    /// Whether the page at `offset` is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, offset: u64) -> bool {
        let page = offset / PAGE;
        self.words.get((page / 64) as usize).is_some_and(|word| word >> (page % 64) & 1 != 0)
    }

    /// Whether a page of `from..to` is in the set.
    #[must_use]
    pub fn contains_any(&self, from: u64, to: u64) -> bool {
        (from..to).step_by(PAGE as usize).any(|offset| self.contains(offset))
    }

    /// Adds the pages of `from..to`, two multiples of 4 KiB.
    pub fn insert(&mut self, from: u64, to: u64) {
        let words = (to / PAGE).div_ceil(64) as usize;
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
        (from / PAGE..to / PAGE).for_each(|page| self.words[(page / 64) as usize] |= 1 << (page % 64));
    }

    /// Adds the pages of another set.
    pub fn add(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(word, more)| *word |= more);
    }

    /// The offset of each page, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let words = self.words.iter().zip(0..).filter(|&(&word, _)| word != 0);
        words.flat_map(|(&word, number)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| (number * 64 + bit) * PAGE)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_in_the_set_that_were_inserted() {
        let mut set = PageSet::default();
        assert_eq!(set.iter().count(), 0);
        set.insert(63 * PAGE, 65 * PAGE);
        set.insert(0x1000, 0x2000);
        assert_eq!(set.iter().collect::<Vec<_>>(), [PAGE, 63 * PAGE, 64 * PAGE]);
        assert!(set.contains(PAGE) && !set.contains(0) && !set.contains(1 << 40));
        assert!(set.contains_any(60 * PAGE, 64 * PAGE) && !set.contains_any(2 * PAGE, 63 * PAGE));
    }
}
