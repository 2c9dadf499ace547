//! Identifiers of pages and of pointers, and whether TLBs and page-walk caches may hold them.
//!
//! Something is *live* from when it was walked to until a fence removes it. A live translation that changes is what a pass cannot follow: some TLBs
//! have the old one, and some have not.

use crate::tables::POINTERS;
use core::hash::{BuildHasherDefault, Hasher};
use std::collections::HashMap;
use types::{Asid, PageSize, PagingMode, TranslationContext};

/// A number of an address space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Space(u16);

impl Space {
    /// Without translation.
    pub(crate) const BARE: Self = Self(0);
    /// Global mappings.
    pub(crate) const GLOBAL: Self = Self(1);
}

/// Multiplies each word that it is given.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Product(u64);

impl Hasher for Product {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// A map whose keys are numbers of the guest.
pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Product>>;

/// What is known of something that has an identifier.
#[derive(Clone, Copy, Debug)]
struct Named {
    space: Space,
    /// When it was walked to; 0 if a fence has removed it.
    since: u64,
    /// What was found: the entry of a page, or the table that a pointer leads to.
    content: u64,
}

/// Identifiers of one kind, from 1 on.
#[derive(Clone, Debug)]
struct Kind {
    identifiers: Map<(u64, u32, Space), u32>,
    named: Vec<Named>,
}

impl Kind {
    fn new() -> Self {
        // Number 0 is nothing.
        Self { identifiers: Map::default(), named: vec![Named { space: Space::BARE, since: 0, content: 0 }] }
    }

    fn find(&self, number: u64, of: u32, space: Space) -> Option<u32> {
        self.identifiers.get(&(number, of, space)).copied()
    }

    fn get(&mut self, number: u64, of: u32, space: Space) -> u32 {
        let Self { identifiers, named } = self;
        *identifiers.entry((number, of, space)).or_insert_with(|| {
            named.push(Named { space, since: 0, content: 0 });
            named.len() as u32 - 1
        })
    }
}

/// The identifiers of a guest.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Fences so far, and one.
    now: u64,
    spaces: Map<u16, Space>,
    /// By space: when the latest fence was that removed all of it.
    cleared: Vec<u64>,
    /// Sizes that live pages had, a bit each.
    sizes: u8,
    pages: Kind,
    /// By level − 1.
    pointers: [Kind; POINTERS],
}

impl Names {
    pub(crate) fn new() -> Self {
        Self {
            now: 1,
            spaces: Map::default(),
            cleared: vec![0; 2],
            sizes: 0,
            pages: Kind::new(),
            pointers: core::array::from_fn(|_| Kind::new()),
        }
    }

    /// The space of a context's own mappings.
    pub(crate) fn local(&mut self, context: &TranslationContext) -> Space {
        if context.mode == PagingMode::Bare {
            return Space::BARE;
        }
        let Self { spaces, cleared, .. } = self;
        *spaces.entry(context.asid.0).or_insert_with(|| {
            cleared.push(0);
            Space(cleared.len() as u16 - 1)
        })
    }

    /// The space of an identifier, if there is one of it.
    pub(crate) fn of_asid(&self, asid: Asid) -> Option<Space> {
        self.spaces.get(&asid.0).copied()
    }

    /// All spaces with translation.
    pub(crate) fn translated(&self) -> impl Iterator<Item = Space> + use<> {
        (1..self.cleared.len() as u16).map(Space)
    }

    fn is_live(&self, named: &Named) -> bool {
        named.since > self.cleared[named.space.0 as usize]
    }

    /// The identifier of the page of a size that holds an address.
    pub(crate) fn page(&mut self, gva: u64, size: PageSize, space: Space) -> u32 {
        self.pages.get(gva >> size.shift(), size as u32, space)
    }

    /// The same, if it has one.
    pub(crate) fn find_page(&self, gva: u64, size: PageSize, space: Space) -> Option<u32> {
        self.pages.find(gva >> size.shift(), size as u32, space)
    }

    /// The entry of a page that is live.
    pub(crate) fn live_entry(&self, page: u32) -> Option<u64> {
        let named = &self.pages.named[page as usize];
        self.is_live(named).then_some(named.content)
    }

    /// A page was walked to, whose size is that, and its entry.
    pub(crate) fn page_lives(&mut self, page: u32, size: PageSize, entry: u64) {
        self.sizes |= 1 << size as u8;
        let named = &mut self.pages.named[page as usize];
        (named.since, named.content) = (self.now, entry);
    }

    /// A fence has removed a page.
    pub(crate) fn page_ends(&mut self, page: u32) {
        self.pages.named[page as usize].since = 0;
    }

    /// Whether a page other than `except` is live that holds the address, in either of the spaces of a context.
    pub(crate) fn has_other(&self, gva: u64, local: Space, except: u32) -> bool {
        let sizes = PageSize::ALL.into_iter().filter(|&size| self.sizes & 1 << size as u8 != 0);
        let spaces: &[Space] = if local == Space::BARE { &[Space::BARE] } else { &[local, Space::GLOBAL] };
        sizes.into_iter().any(|size| {
            spaces.iter().any(|&space| {
                let page = self.find_page(gva, size, space);
                page.is_some_and(|page| page != except && self.live_entry(page).is_some())
            })
        })
    }

    /// A pointer of a level was read on the way to an address; its identifier, or nothing if another one may be cached in its place.
    pub(crate) fn pointer(&mut self, gva: u64, level: u32, (local, space): (Space, Space), table: u64) -> Option<u32> {
        let prefix = gva >> (12 + 9 * level);
        let other = if space == local { Space::GLOBAL } else { local };
        if self.is_cached(prefix, level, other) {
            return None;
        }
        let kind = &mut self.pointers[level as usize - 1];
        let pointer = kind.get(prefix, level, space);
        let named = &mut kind.named[pointer as usize];
        if named.since > self.cleared[space.0 as usize] && named.content != table {
            return None;
        }
        (named.since, named.content) = (self.now, table);
        Some(pointer)
    }

    fn is_cached(&self, prefix: u64, level: u32, space: Space) -> bool {
        let kind = &self.pointers[level as usize - 1];
        kind.find(prefix, level, space).is_some_and(|pointer| self.is_live(&kind.named[pointer as usize]))
    }

    /// Whether a pointer of a level may be cached for an address.
    pub(crate) fn has_pointer(&self, gva: u64, level: u32, local: Space) -> bool {
        let prefix = gva >> (12 + 9 * level);
        level > 0 && [local, Space::GLOBAL].into_iter().any(|space| self.is_cached(prefix, level, space))
    }

    /// A fence removes all of a space, or all that is translated.
    pub(crate) fn clear(&mut self, space: Option<Space>) {
        let now = self.now;
        match space {
            Some(space) => self.cleared[space.0 as usize] = now,
            None => self.cleared.iter_mut().skip(1).for_each(|cleared| *cleared = now),
        }
    }

    /// A fence was made.
    pub(crate) fn fenced(&mut self) {
        self.now += 1;
    }

    /// When something is walked to now.
    pub(crate) const fn now(&self) -> u64 {
        self.now
    }

    /// Whether what was walked to in a space, so long ago, is live.
    pub(crate) fn is_since(&self, space: Space, since: u64) -> bool {
        since > self.cleared[space.0 as usize]
    }

    /// The space of a page.
    pub(crate) fn space_of_page(&self, page: u32) -> Space {
        self.pages.named[page as usize].space
    }

    /// The space of a pointer of a level (− 1).
    pub(crate) fn space_of_pointer(&self, level: usize, pointer: u32) -> Space {
        self.pointers[level].named[pointer as usize].space
    }
}
