//! Where the host will be asked next: a guess for each page of a guest, so that the data of an access that missed come while the MMU is still at work.
//!
//! Nothing here is simulated, and nothing that is simulated depends on it. A miss takes hundreds of the host's instructions, at whose end it is
//! known where the byte lies, and only then would a processor begin to fetch it. Of a page that was translated before, the place is known at the
//! beginning, and is mostly still right: the line is asked for then, and fetched while the miss is worked out. Where the guess is wrong, a line was
//! fetched for nothing.

use crate::raw::prefetch;
use types::{Gva, PageSize};

/// Base pages that a guess can be had of at a time, a power of two: 256 MiB of them.
const PAGES: usize = 1 << 16;

/// Bits of a page's number that its place among the guesses does not tell: 45 of 57 bits, less 16.
const TAG_BITS: u32 = 29;

/// See the module.
#[derive(Debug)]
pub struct Hints {
    /// The host's page above, the tag below; zero where there is none. A page takes up host memory once something is written there.
    pages: Box<[u64]>,
}

impl Default for Hints {
    fn default() -> Self {
        Self { pages: vec![0; PAGES].into_boxed_slice() }
    }
}

impl Hints {
    /// An access to `gva` has missed: asks the host for the line that it went to if its page is where it was. Returns the guess, to be
    /// [corrected](Self::correct).
    #[inline(always)]
    #[must_use]
    pub fn expect(&self, gva: Gva) -> Option<usize> {
        let (slot, tag) = place(gva);
        let known = self.pages[slot];
        if known as u32 & ((1 << TAG_BITS) - 1) != tag || known == 0 {
            return None;
        }
        let guess = ((known >> TAG_BITS) << 12) as usize | gva.offset(PageSize::Size4K) as usize;
        prefetch(guess);
        Some(guess)
    }

    /// The byte at `gva` is at `host`, of which `guess` was the guess.
    #[inline(always)]
    pub fn correct(&mut self, gva: Gva, guess: Option<usize>, host: *const u8) {
        if guess != Some(host.addr()) {
            let (slot, tag) = place(gva);
            self.pages[slot] = (host.addr() as u64 >> 12) << TAG_BITS | u64::from(tag);
        }
    }
}

/// Where the guess about a page is, and its tag.
#[inline(always)]
const fn place(gva: Gva) -> (usize, u32) {
    let page = gva.0 >> 12;
    (page as usize & (PAGES - 1), (page / PAGES as u64) as u32 & ((1 << TAG_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_known_until_another_takes_its_place() {
        let mut hints = Hints::default();
        let (first, same_place) = (Gva(0x5008), Gva(0x5000 + (PAGES as u64) * 4096));
        assert_eq!(hints.expect(first), None);
        hints.correct(first, None, std::ptr::without_provenance(0x7fff_ffff_f008));
        assert_eq!([first, Gva(0x5ff8)].map(|gva| hints.expect(gva)), [Some(0x7fff_ffff_f008), Some(0x7fff_ffff_fff8)]);
        assert_eq!([Gva(0x6000), same_place].map(|gva| hints.expect(gva)), [None; 2]);
        hints.correct(same_place, None, std::ptr::without_provenance(0x1000));
        assert_eq!([same_place, first].map(|gva| hints.expect(gva)), [Some(0x1000), None]);
    }

    #[test]
    fn a_wrong_guess_is_corrected() {
        let mut hints = Hints::default();
        for at in [0x1008, 0x2008, 0x2008] {
            let guess = hints.expect(Gva(8));
            hints.correct(Gva(8), guess, std::ptr::without_provenance(at));
            assert_eq!(hints.expect(Gva(8)), Some(at));
        }
    }

    #[test]
    fn addresses_of_all_lengths_have_a_place() {
        let mut hints = Hints::default();
        for gva in [0, 0xfff, (1 << 38) - 1, u64::MAX, 1 << 63, !0 << 56].map(Gva) {
            let host = 0x7fff_ffff_f000 | gva.0 as usize & 0xfff;
            hints.correct(gva, None, std::ptr::without_provenance(host));
            assert_eq!(hints.expect(gva), Some(host));
        }
    }
}
