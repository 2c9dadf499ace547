//! Hints: a guess of where in the host the next bytes are, for each page of a guest, so that the data of an access that missed come while the MMU is still at work.
//!
//! Nothing here is simulated, and nothing that is simulated depends on it. A miss takes hundreds of the host's instructions, at whose end it is
//! known where the byte lies, and only then would a processor begin to fetch it. Most guests' memory is contiguous over long stretches, as an
//! allocator gives out its pages in order: there a page is as far from its place in the host as its neighbours are from theirs, which takes so little
//! memory to know that the host's caches hold it. Elsewhere a page that was translated before is mostly where it was. The line is prefetched at once,
//! and comes while the miss is worked out; where the guess is wrong, a line was fetched for nothing.
//!
//! The last entry that a walk reads, the leaf of whichever dimension, is guessed in the same way: entries of successive pages are neighbours.

use crate::raw::prefetch;
use types::{Gva, PageSize};

/// Base pages that a guess can be had of at a time, a power of two: 256 MiB of them.
const PAGES: usize = 1 << 16;

/// Bits of a page's number that its place among the guesses does not tell: 45 of 57 bits, less 16.
const TAG_BITS: u32 = 29;

/// Stretches whose distance is known at a time, a power of two: 512 MiB of them.
const STRETCHES: usize = 1 << 13;

/// log2 of a stretch's bytes: 64 KiB.
const STRETCH_SHIFT: u32 = 16;

/// log2 of the bytes that the entries of a table of leaves translate.
const TABLE_SHIFT: u32 = 21;

/// Tables of leaves whose places are known at a time, a power of two.
const TABLES: usize = 1 << 10;

/// In a distance, which is a multiple of a page: the two latest pages of the stretch were equally far from their places.
const STEADY: u64 = 1;

/// The guesses for pages and for the leaves of their tables.
#[derive(Debug)]
pub struct Hints {
    /// The host's page above, the tag below; zero where there is none. A page takes up host memory once something is written there.
    pages: Box<[u64]>,
    /// How far in the host the pages of a stretch are from their addresses in the guest. A stretch may be another's: then the guess is wrong.
    distances: Box<[u64; STRETCHES]>,
    /// Where in the host the leaf of the guest's address 0 would be, had it been in the same table.
    entries: Box<[u64; TABLES]>,
}

impl Default for Hints {
    fn default() -> Self {
        Self {
            pages: vec![0; PAGES].into_boxed_slice(),
            distances: Box::new([0; STRETCHES]),
            entries: Box::new([0; TABLES]),
        }
    }
}

impl Hints {
    /// An access to `gva` has missed: asks the host for the line that it goes to if the guess about its page is right. Returns the guess.
    #[inline(always)]
    pub fn expect(&self, gva: Gva) -> Option<usize> {
        prefetch(self.expected_entry(gva));
        let distance = self.distances[stretch(gva)];
        let guess = if distance & STEADY != 0 {
            gva.0.wrapping_add(distance & !STEADY) as usize
        } else {
            self.known_page(gva)? | gva.offset(PageSize::Size4K) as usize
        };
        prefetch(guess);
        Some(guess)
    }

    /// The byte at `gva` is at `host`.
    #[inline(always)]
    pub fn correct(&mut self, gva: Gva, host: *const u8) {
        let distance = (host.addr() as u64).wrapping_sub(gva.0);
        let known = &mut self.distances[stretch(gva)];
        if *known != distance | STEADY {
            *known = if *known == distance { distance | STEADY } else { distance };
            self.learn_page(gva, host);
        }
    }

    /// The last entry that the walk for `gva` has read is at `host`.
    #[inline(always)]
    pub fn correct_entry(&mut self, gva: Gva, host: *const u8) {
        let (known, origin) = (&mut self.entries[table(gva)], (host.addr() as u64).wrapping_sub(entry(gva)));
        if *known != origin {
            *known = origin;
        }
    }

    /// Where the last entry of a walk is, if its table is where that of the latest walk near `gva` was.
    #[inline(always)]
    fn expected_entry(&self, gva: Gva) -> usize {
        self.entries[table(gva)].wrapping_add(entry(gva)) as usize
    }

    /// Where the page was when it was looked at last.
    fn known_page(&self, gva: Gva) -> Option<usize> {
        let (slot, tag) = place(gva);
        let known = self.pages[slot];
        (known as u32 & ((1 << TAG_BITS) - 1) == tag && known != 0).then_some(((known >> TAG_BITS) << 12) as usize)
    }

    fn learn_page(&mut self, gva: Gva, host: *const u8) {
        let (slot, tag) = place(gva);
        self.pages[slot] = (host.addr() as u64 >> 12) << TAG_BITS | u64::from(tag);
    }
}

/// Where the distance of the address's stretch is.
#[inline(always)]
const fn stretch(gva: Gva) -> usize {
    // The bits above tell programs and kernels apart.
    let number = gva.0 >> STRETCH_SHIFT;
    (number ^ number >> STRETCHES.ilog2()) as usize & (STRETCHES - 1)
}

/// Where the place of the address's table is.
#[inline(always)]
const fn table(gva: Gva) -> usize {
    let number = gva.0 >> TABLE_SHIFT;
    (number ^ number >> TABLES.ilog2()) as usize & (TABLES - 1)
}

/// How far the address's leaf is from that of address 0, in bytes.
#[inline(always)]
const fn entry(gva: Gva) -> u64 {
    gva.0 >> 12 << 3
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

    fn at(address: usize) -> *const u8 {
        std::ptr::without_provenance(address)
    }

    /// Teaches that the page of `gva` is at `host`, as a miss does.
    fn teach(hints: &mut Hints, gva: Gva, host: usize) {
        hints.expect(gva);
        hints.correct(gva, at(host));
    }

    #[test]
    fn a_page_is_known_until_another_takes_its_place() {
        let mut hints = Hints::default();
        let (first, same_place) = (Gva(0x5008), Gva(0x5000 + (PAGES as u64) * 4096));
        assert_eq!(hints.expect(first), None);
        teach(&mut hints, first, 0x7fff_ffff_f008);
        assert_eq!([first, Gva(0x5ff8)].map(|gva| hints.expect(gva)), [Some(0x7fff_ffff_f008), Some(0x7fff_ffff_fff8)]);
        assert_eq!([Gva(0x6000), same_place].map(|gva| hints.expect(gva)), [None; 2]);
        teach(&mut hints, same_place, 0x1000);
        assert_eq!([same_place, first].map(|gva| hints.expect(gva)), [Some(0x1000), None]);
    }

    #[test]
    fn a_wrong_guess_is_corrected() {
        let mut hints = Hints::default();
        for host in [0x1008, 0x2008, 0x2008] {
            teach(&mut hints, Gva(8), host);
            assert_eq!(hints.expect(Gva(8)), Some(host));
        }
    }

    #[test]
    fn addresses_of_all_lengths_have_a_place() {
        let mut hints = Hints::default();
        for gva in [0, 0xfff, (1 << 38) - 1, u64::MAX, 1 << 63, !0 << 56].map(Gva) {
            let host = 0x7fff_ffff_f000 | gva.0 as usize & 0xfff;
            teach(&mut hints, gva, host);
            assert_eq!(hints.expect(gva), Some(host));
        }
    }

    #[test]
    fn two_pages_tell_where_the_others_of_their_stretch_are() {
        let mut hints = Hints::default();
        teach(&mut hints, Gva(0x1000), 0x7000_1000);
        assert_eq!(hints.expect(Gva(0x2000)), None);
        teach(&mut hints, Gva(0x2000), 0x7000_2000);
        assert_eq!(hints.expect(Gva(0xf010)), Some(0x7000_f010));
        assert_eq!(hints.expect(Gva(1 << STRETCH_SHIFT)), None);
    }

    #[test]
    fn a_stretch_in_pieces_is_known_page_by_page() {
        let mut hints = Hints::default();
        for (gva, host) in [(0x1000, 0x9000), (0x2000, 0x5000), (0x3000, 0x1000)] {
            teach(&mut hints, Gva(gva), host);
        }
        assert_eq!([0x1000, 0x2000, 0x3000].map(|gva| hints.expect(Gva(gva))), [0x9000, 0x5000, 0x1000].map(Some));
    }

    #[test]
    fn one_entry_tells_where_the_others_of_its_table_are() {
        let mut hints = Hints::default();
        hints.correct_entry(Gva(0x20_5123), at(0x7000_0028));
        assert_eq!(
            [0x20_0000, 0x20_5fff, 0x3f_f000].map(|gva| hints.expected_entry(Gva(gva))),
            [0x7000_0000, 0x7000_0028, 0x7000_0ff8]
        );
        hints.correct_entry(Gva(0x20_0000), at(0x5000));
        assert_eq!(hints.expected_entry(Gva(0x20_5123)), 0x5028);
    }
}
