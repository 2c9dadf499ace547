//! The escape filter: pages inside a segment that paging translates nevertheless, because the segment leads to a faulty
//! frame (Gandhi et al. 2014, slide 25: "Bloom filter to store a few faulty pages").
//!
//! It is a Bloom filter in equal parts, one for each hash function. A page that was inserted is always found; one that was not is found now
//! and then, and is then translated by paging, which gives the same address. The hash functions are H3: the exclusive or of a fixed random
//! row for each bit that is set in the page number.
//!
//! A page larger than 4K escapes if any 4K page in it does. So that one lookup tells, a filter has the same number of bits again for each
//! page size that a segment translates at once.

use types::PageSize;

/// The sizes that have bits; larger pages are taken in pieces of these where any page escapes.
const SIZES: [PageSize; 6] =
    [PageSize::Size4K, PageSize::Size32K, PageSize::Size64K, PageSize::Size256K, PageSize::Size2M, PageSize::Size1G];

/// Bits of a page number.
const NUMBER_BITS: u32 = 52;

/// A set of pages that may answer yes for others, too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EscapeFilter {
    /// By size, `bits` each.
    words: Vec<u64>,
    /// By hash function, [`NUMBER_BITS`] each.
    rows: Vec<u64>,
    bits: u32,
    hashes: u32,
    empty: bool,
}

/// Why a filter cannot be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "an escape filter has a power of two of bits, 64 to 1048576, and 1, 2, 4 or 8 hash functions, not {bits} and {hashes}"
)]
pub struct EscapeFilterError {
    /// Bits that the configuration requests.
    pub bits: u32,
    /// Hash functions that the configuration requests.
    pub hashes: u32,
}

impl Default for EscapeFilter {
    /// 256 bits and four hash functions: assumed, as the slides give no numbers.
    fn default() -> Self {
        Self::build(256, 4)
    }
}

impl EscapeFilter {
    /// An empty filter of `bits` bits for each page size, in `hashes` parts.
    ///
    /// # Errors
    /// [`EscapeFilterError`].
    pub fn new(bits: u32, hashes: u32) -> Result<Self, EscapeFilterError> {
        Self::check(bits, hashes)?;
        Ok(Self::build(bits, hashes))
    }

    fn build(bits: u32, hashes: u32) -> Self {
        Self {
            words: vec![0; SIZES.len() * bits as usize / 64],
            rows: (0..u64::from(hashes * NUMBER_BITS)).map(row).collect(),
            bits,
            hashes,
            empty: true,
        }
    }

    /// Whether a filter of this size can be built.
    ///
    /// # Errors
    /// [`EscapeFilterError`].
    pub const fn check(bits: u32, hashes: u32) -> Result<(), EscapeFilterError> {
        let bits_fit = bits.is_power_of_two() && bits >= 64 && bits <= 1 << 20;
        if bits_fit && matches!(hashes, 1 | 2 | 4 | 8) { Ok(()) } else { Err(EscapeFilterError { bits, hashes }) }
    }

    /// Bits for each page size.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// The part of all other 4K pages that is found when this many are inserted: (1 − (1 − 1/part)^pages)^hashes, for bits in parts of one
    /// for each hash function.
    #[must_use]
    pub fn false_positives(&self, pages: usize) -> f64 {
        let part = f64::from(self.bits / self.hashes);
        let set = 1.0 - (1.0 - 1.0 / part).powf(pages as f64);
        set.powi(self.hashes as i32)
    }

    /// Whether no page was inserted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.empty
    }

    /// Inserts the 4K page of an address that a segment is asked for. It cannot be taken out again: a filter with fewer pages is a new one.
    pub fn insert(&mut self, address: u64) {
        self.empty = false;
        for (class, size) in SIZES.into_iter().enumerate() {
            for hash in 0..self.hashes {
                let (word, bit) = self.place(class, hash, address >> size.shift());
                self.words[word] |= bit;
            }
        }
    }

    /// Whether the page of `size` around an address may hold an inserted one; if not, it holds none.
    #[must_use]
    pub fn may_hold(&self, address: u64, size: PageSize) -> bool {
        if self.empty {
            return false;
        }
        let Some(class) = SIZES.into_iter().position(|other| other == size) else { return true };
        (0..self.hashes).all(|hash| {
            let (word, bit) = self.place(class, hash, address >> size.shift());
            self.words[word] & bit != 0
        })
    }

    /// Word and bit for a page number in the part of one hash function.
    fn place(&self, class: usize, hash: u32, number: u64) -> (usize, u64) {
        let rows = &self.rows[(hash * NUMBER_BITS) as usize..][..NUMBER_BITS as usize];
        let hashed =
            rows.iter().enumerate().filter(|(bit, _)| number >> bit & 1 != 0).fold(0, |sum, (_, row)| sum ^ row);
        let part = u64::from(self.bits / self.hashes);
        let at = class as u64 * u64::from(self.bits) + u64::from(hash) * part + hashed % part;
        ((at / 64) as usize, 1 << (at % 64))
    }
}

/// The random rows: SplitMix64 of their index, so that every machine has the same.
const fn row(index: u64) -> u64 {
    let z = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages spread over 96 GB, the memory of the paper's machine.
    fn pages(count: u64) -> impl Iterator<Item = u64> {
        (0..count).map(|index| (row(index ^ 0xffff) % (96 << 30)) & !0xfff)
    }

    #[test]
    fn what_was_inserted_is_found_at_every_size() {
        let mut filter = EscapeFilter::default();
        assert!(filter.is_empty() && !filter.may_hold(0, PageSize::Size4K));
        for page in pages(300) {
            filter.insert(page);
        }
        for page in pages(300) {
            for size in PageSize::ALL {
                assert!(filter.may_hold(page | 0xabc, size), "{page:#x} {size}");
            }
        }
    }

    #[test]
    fn few_others_are_found() {
        // (1 − (1 − 1/64)^n)^4 for n pages in four parts of 64 bits: 0.3 % and 0.9 of 1.
        for (inserted, least, most) in [(1, 0, 10), (16, 100, 500), (256, 90_000, 96_000)] {
            let mut filter = EscapeFilter::default();
            pages(inserted).for_each(|page| filter.insert(page));
            let found = (0..100_000_u64).filter(|page| filter.may_hold(page << 12, PageSize::Size4K)).count();
            assert!((least..=most).contains(&found), "{found} of 100000 with {inserted}");
            let expected = 100_000.0 * filter.false_positives(inserted as usize);
            assert!((least as f64..=most as f64).contains(&expected), "{expected} expected with {inserted}");
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        for (bits, hashes) in [(0, 4), (63, 4), (96, 4), (1 << 21, 4), (256, 0), (256, 3), (256, 16)] {
            assert_eq!(EscapeFilter::new(bits, hashes), Err(EscapeFilterError { bits, hashes }));
        }
        assert!(EscapeFilter::new(64, 8).is_ok() && EscapeFilter::new(1 << 20, 1).is_ok());
    }
}
