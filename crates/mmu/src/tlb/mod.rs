//! The TLBs: what they hold, L1 with its fast copies, L2.

mod l1;
mod learning;
pub(crate) mod set_associative;
pub(crate) mod tag_array;
pub(crate) mod way;

pub(crate) use l1::{Filled, L1, Request};

use crate::context::Query;
use crate::rights::Rights;
use crate::space::Space;
use crate::tlb::set_associative::SetAssociative;
use crate::tlb::tag_array::Miss;
use types::{Gpa, Gva, Hpa, PageSize};

/// A page's translation through both stages, as TLBs keep it. It is four words, each stored at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub(crate) struct Translation {
    /// Start of the host page.
    pub(crate) hpa: Hpa,
    /// Start of the guest physical page.
    pub(crate) gpa: Gpa,
    /// Address, in this process, of the host page's first byte; 0 where it is not memory.
    pub(crate) host: usize,
    attributes: Attributes,
}

/// The space, the rights and the size of a page, from the lowest bit up. They are one word because each store of a miss takes a place in the
/// host's store buffer, which is what limits how many misses overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Attributes(u64);

impl Attributes {
    const RIGHTS_SHIFT: u32 = u32::BITS;
    const SIZE_SHIFT: u32 = Self::RIGHTS_SHIFT + u8::BITS;

    #[inline(always)]
    const fn new(space: Space, rights: Rights, size: PageSize) -> Self {
        let (space, rights, size) = (space.bits() as u64, rights.bits() as u64, size as u64);
        Self(space | rights << Self::RIGHTS_SHIFT | size << Self::SIZE_SHIFT)
    }
}

/// A page in a TLB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// Its first byte.
    pub(crate) first: Gva,
    pub(crate) translation: Translation,
}

impl Translation {
    /// The translation of the page of `size` bytes that begins at `gpa`, and at `hpa` in the host.
    #[inline(always)]
    pub(crate) const fn new((gpa, hpa, host): (Gpa, Hpa, usize), space: Space, rights: Rights, size: PageSize) -> Self {
        Self { hpa, gpa, host, attributes: Attributes::new(space, rights, size) }
    }

    /// The address space that it is of.
    #[inline(always)]
    pub(crate) const fn space(&self) -> Space {
        Space::of_bits(self.attributes.0 as u32)
    }

    /// What it permits.
    #[inline(always)]
    pub(crate) const fn rights(&self) -> Rights {
        Rights::of_bits((self.attributes.0 >> Attributes::RIGHTS_SHIFT) as u8)
    }

    /// The page's size.
    #[inline(always)]
    pub(crate) const fn size(&self) -> PageSize {
        PageSize::of_index((self.attributes.0 >> Attributes::SIZE_SHIFT) as u8)
    }

    /// The piece of it that holds `gva`, of a `size` not above its own.
    #[inline(always)]
    pub(crate) fn piece(&self, gva: Gva, size: PageSize) -> Self {
        if size == self.size() { *self } else { self.smaller_piece(gva, size) }
    }

    #[cold]
    #[inline(never)]
    fn smaller_piece(&self, gva: Gva, size: PageSize) -> Self {
        let skipped = gva.page(size).offset(self.size());
        let host = if self.host == 0 { 0 } else { self.host + skipped as usize };
        let at = (Gpa(self.gpa.0 + skipped), Hpa(self.hpa.0 + skipped), host);
        Self::new(at, self.space(), self.rights(), size)
    }

    /// It in words: a function that is rarely called takes these, so that where it is not called the translation stays in registers. (Memory
    /// that is read in other pieces than it was just written in is read only when every earlier store is in the cache.)
    #[inline(always)]
    pub(crate) const fn words(&self) -> [u64; 4] {
        [self.hpa.0, self.gpa.0, self.host as u64, self.attributes.0]
    }

    /// The translation of those words.
    pub(crate) const fn of_words([hpa, gpa, host, attributes]: [u64; 4]) -> Self {
        Self { hpa: Hpa(hpa), gpa: Gpa(gpa), host: host as usize, attributes: Attributes(attributes) }
    }

    /// Whether it answers a query.
    #[inline(always)]
    pub(crate) fn answers(&self, query: &Query) -> bool {
        query.spaces.contain(self.space()) & self.rights().meet(query.required)
    }
}

/// The second-level TLB, of loads, stores and fetches.
pub(crate) type L2 = SetAssociative<Translation>;

impl L2 {
    /// Keeps a translation, at the size that the level takes. `miss` is how the address was not found just before. Returns the page that gave
    /// way.
    #[inline(always)]
    pub(crate) fn keep(&mut self, gva: Gva, miss: Miss, translation: &Translation) -> Option<Page> {
        let space = translation.space();
        let piece = |size| translation.piece(gva, size);
        let evicted = self.fill(gva.0, translation.size(), miss, piece, |other| other.space() == space);
        evicted.map(|(page, translation)| Page { first: Gva(page), translation })
    }
}
