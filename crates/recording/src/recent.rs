//! The pages that were used last, and how the next one is encoded by them.
//!
//! A program goes back and forth between a few pages: its stack, a table, what it copies from and to. A page that is one of the latest is encoded as its
//! place among them.

use crate::varint::{unzigzag, zigzag};

/// How many pages are remembered.
const PLACES: usize = 8;
/// What is added to a difference that is a code of its own.
const BIAS: i64 = 36;
/// The codes of differences.
const NEAR: core::ops::Range<i64> = PLACES as i64..64;
/// The code of a page that needs a number beside it.
const FAR: u8 = 0;
/// Bits of a page's number.
pub(crate) const PAGE_BITS: u32 = 52;

/// The latest pages of a side, the last one first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recent {
    pages: [u64; PLACES],
}

impl Recent {
    /// The page is used next: its code, of six bits, and the number beside it if there has to be one.
    #[inline]
    pub(crate) fn encode(&mut self, page: u64) -> (u8, Option<u64>) {
        let difference = page.wrapping_sub(self.pages[0]).cast_signed();
        let place = self.pages.iter().position(|&other| other == page);
        self.put(place.unwrap_or(PLACES - 1), page);
        let near = difference.wrapping_add(BIAS);
        match place {
            Some(place @ 1..) => (place as u8, None),
            Some(0) | None if NEAR.contains(&near) => (near as u8, None),
            Some(0) | None => (FAR, Some(zigzag(difference))),
        }
    }

    /// The page of a code. `far` has the number beside it.
    #[inline]
    pub(crate) fn decode(&mut self, code: u8, far: impl FnOnce() -> Option<u64>) -> Option<u64> {
        let near = i64::from(code);
        if code != FAR && !NEAR.contains(&near) {
            let page = self.pages[usize::from(code) % PLACES];
            self.put(usize::from(code) % PLACES, page);
            return Some(page);
        }
        let difference = if code == FAR { unzigzag(far()?) } else { near - BIAS };
        let page = self.pages[0].wrapping_add_signed(difference) & ((1 << PAGE_BITS) - 1);
        let place = self.pages.iter().position(|&other| other == page);
        self.put(place.unwrap_or(PLACES - 1), page);
        Some(page)
    }

    /// Puts a page first, in place of the one at `place`.
    #[inline]
    fn put(&mut self, place: usize, page: u64) {
        let mut above = page;
        for page in &mut self.pages[..=place] {
            above = core::mem::replace(page, above);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(pages: &[u64]) -> Vec<(u8, Option<u64>)> {
        let mut recent = Recent::default();
        pages.iter().map(|&page| recent.encode(page)).collect()
    }

    proptest! {
        #[test]
        fn pages_read_back(pages in proptest::collection::vec(
            prop_oneof![0..20_u64, 1000..1100_u64, 0..1_u64 << PAGE_BITS],
            0..300,
        )) {
            let mut recent = Recent::default();
            for (page, (code, far)) in pages.iter().zip(encoded(&pages)) {
                prop_assert!(code < 64);
                prop_assert_eq!(recent.decode(code, || far), Some(*page));
            }
        }
    }

    #[test]
    fn a_page_that_was_used_lately_needs_no_number() {
        let far = (1 << 40, 1 << 50);
        let codes = encoded(&[far.0, far.1, far.0, far.0, far.0 + 1, far.1]);
        let numbers: Vec<bool> = codes.iter().map(|(_, far)| far.is_some()).collect();
        assert_eq!(numbers, [true, true, false, false, false, false]);
        assert_eq!((codes[2].0, codes[3].0, codes[4].0, codes[5].0), (1, BIAS as u8, BIAS as u8 + 1, 2));
    }

    #[test]
    fn a_number_that_is_missing_is_no_page() {
        assert_eq!(Recent::default().decode(FAR, || None), None);
    }
}
