//! The TLBs: what they hold, L1 with its windows, L2.

pub(crate) mod directory;
mod l1;
mod learning;
pub(crate) mod set_associative;
pub(crate) mod way;

pub(crate) use l1::{Filled, L1, Made};

use crate::context::Query;
use crate::rights::Rights;
use crate::space::Space;
use crate::tlb::directory::Miss;
use crate::tlb::set_associative::SetAssociative;
use types::{Gpa, Gva, Hpa, PageSize};

/// A page's translation through both stages, as TLBs keep it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub(crate) struct Translation {
    /// Start of the host page.
    pub(crate) hpa: Hpa,
    /// Start of the guest physical page.
    pub(crate) gpa: Gpa,
    /// Address, in this process, of the host page's first byte; 0 where it is not memory.
    pub(crate) host: usize,
    pub(crate) space: Space,
    pub(crate) rights: Rights,
    pub(crate) size: PageSize,
}

/// A page in a TLB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// Its first byte.
    pub(crate) first: Gva,
    pub(crate) translation: Translation,
}

impl Translation {
    /// The piece of it that holds `gva`, of a `size` not above its own.
    #[inline(always)]
    pub(crate) fn piece(&self, gva: Gva, size: PageSize) -> Self {
        if size == self.size { *self } else { self.smaller_piece(gva, size) }
    }

    #[cold]
    #[inline(never)]
    fn smaller_piece(&self, gva: Gva, size: PageSize) -> Self {
        let skipped = gva.page(size).offset(self.size);
        Self {
            hpa: Hpa(self.hpa.0 + skipped),
            gpa: Gpa(self.gpa.0 + skipped),
            host: if self.host == 0 { 0 } else { self.host + skipped as usize },
            size,
            ..*self
        }
    }

    /// It in words: a function that is rarely called takes these, so that where it is not called the translation stays in registers. (Memory
    /// that is read in other pieces than it was just written in is read only when every earlier store is in the cache.)
    #[inline(always)]
    pub(crate) fn words(&self) -> [u64; 4] {
        let kind = u64::from(self.space.bits()) | u64::from(self.rights.bits()) << 32 | (self.size as u64) << 40;
        [self.hpa.0, self.gpa.0, self.host as u64, kind]
    }

    /// The translation of those words.
    pub(crate) fn of_words([hpa, gpa, host, kind]: [u64; 4]) -> Self {
        Self {
            hpa: Hpa(hpa),
            gpa: Gpa(gpa),
            host: host as usize,
            space: Space::of_bits(kind as u32),
            rights: Rights::of_bits((kind >> 32) as u8),
            size: PageSize::ALL[(kind >> 40) as usize],
        }
    }

    /// Whether it answers a query.
    #[inline(always)]
    pub(crate) fn answers(&self, query: &Query) -> bool {
        query.spaces.contain(self.space) & self.rights.meet(query.demand)
    }
}

/// The second-level TLB, of loads, stores and fetches.
pub(crate) type L2 = SetAssociative<Translation>;

impl L2 {
    /// Keeps a translation, at the size that the level takes. `miss` is how the address was not found just before. Returns the page that gave
    /// way.
    #[inline(always)]
    pub(crate) fn keep(&mut self, gva: Gva, miss: Miss, translation: &Translation) -> Option<Page> {
        let space = translation.space;
        let piece = |size| translation.piece(gva, size);
        let evicted = self.fill(gva.0, translation.size, miss, piece, |other| other.space == space);
        evicted.map(|(page, translation)| Page { first: Gva(page), translation })
    }
}
