//! Set-associative arrays with exact LRU replacement: the L2 TLB, the nested TLB and each level of a walk cache.
//!
//! Empty slots are the least recently used ones of their set; of several, the first in the set is taken.

use crate::config::TlbArray;
use crate::directory::{BasePage, Directory, Miss, Way};
use crate::recency::Recency;
use types::PageSize;

/// Arrays whose slots are replaced in the order of their last use: a hit or a fill.
#[derive(Clone, Debug)]
pub(crate) struct Lru<P> {
    directory: Directory<P>,
    recency: Recency,
}

impl<P: Copy + Default> Lru<P> {
    /// Empty arrays. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray]) -> Self {
        Self { directory: Directory::new(arrays), recency: Recency::new(arrays) }
    }

    /// The first page of `address` that `accept` takes, and where it is; its use is not recorded yet.
    #[inline(always)]
    pub(crate) fn find(&self, address: u64, accept: impl Fn(&P) -> bool) -> Result<(Way, &P), Miss> {
        let way = self.directory.find(address, accept).way()?;
        Ok((way, self.directory.payload(way.slot)))
    }

    /// The same where the arrays are one set of pages of 2^`shift` bytes.
    #[inline(always)]
    pub(crate) fn find_in_only(
        &self,
        address: u64,
        shift: u32,
        accept: impl Fn(&P) -> bool,
    ) -> Result<(Way, &P), Miss> {
        self.directory.find_in_only(address, shift, accept)
    }

    /// See [`Directory::glance_in_only`].
    #[inline(always)]
    pub(crate) fn glance_in_only(
        &self,
        address: u64,
        shift: u32,
        accept: impl Fn(&P) -> bool,
    ) -> Result<(Way, &P), Miss> {
        self.directory.glance_in_only(address, shift, accept)
    }

    /// As [`Self::fill`], of a page that is absent, where the arrays are one set of so many ways of pages of 2^`shift` bytes.
    #[inline(always)]
    pub(crate) fn fill_in_only(&mut self, address: u64, shift: u32, ways: usize, payload: &P) -> Way {
        let way = self.replace(0, ways);
        self.directory.put_in_only(way, address, shift, payload);
        way
    }

    /// What is kept in a slot.
    #[inline(always)]
    pub(crate) fn payload(&self, slot: usize) -> &P {
        self.directory.payload(slot)
    }

    /// Whether in a region there are base pages and nothing else.
    #[inline(always)]
    pub(crate) fn has_base_alone(&self, region: usize) -> bool {
        self.directory.has_base_alone(region)
    }

    /// See [`Directory::glance_base`].
    #[inline(always)]
    pub(crate) fn glance_base(&self, page: BasePage, accept: impl Fn(&P) -> bool) -> Result<(Way, &P), Miss> {
        self.directory.glance_base(page, accept)
    }

    /// As [`Self::fill`], of a base page of such a region that is absent.
    #[inline(always)]
    pub(crate) fn fill_base(&mut self, page: BasePage, payload: &P) {
        let way = self.replace(self.directory.base_set(page), self.directory.base_ways());
        self.directory.put_base(way, page, payload);
    }

    /// What was found there is now the most recently used one of its set.
    #[inline(always)]
    pub(crate) fn used(&mut self, way: Way) {
        self.recency.used(way);
    }

    /// Keeps a page of `size`, or the largest piece around `address` that an array takes, in the place of the same page
    /// (one whose payload `same` takes) or of the least recently used one. `piece` makes the payload for the size that
    /// is kept; `miss` is how the address was not found just before.
    #[inline(always)]
    pub(crate) fn fill(
        &mut self,
        address: u64,
        size: PageSize,
        miss: Miss,
        piece: impl FnOnce(PageSize) -> P,
        same: impl Fn(&P) -> bool,
    ) {
        let Some(&place) = self.directory.home(size) else { return };
        let way = match self.directory.same(size, address, miss, same) {
            Some(way) => {
                self.recency.used(way);
                way
            }
            None => self.replace(place.set(address), place.ways as usize),
        };
        self.directory.put(way, place, address, &piece(place.size));
    }

    /// The way of a set that is replaced, which is now the most recently used one.
    #[inline(always)]
    fn replace(&mut self, set: usize, ways: usize) -> Way {
        let Self { directory, recency } = self;
        let (earliest, full) = recency.replace(set, ways, |way| !directory.is_empty(way.slot));
        if full {
            return earliest;
        }
        let way = directory.first_empty(set, ways);
        recency.used(way);
        way
    }

    /// What is held: the first byte of each page, and its payload, from the least to the most recently used way of the sets. Of ways of
    /// the same age, which are in different sets, the first in the arrays comes first.
    pub(crate) fn pages_by_age(&self) -> Vec<(u64, P)> {
        let mut pages: Vec<_> =
            self.directory.held().map(|(way, page, payload)| (self.recency.age(way), page, *payload)).collect();
        pages.sort_by_key(|&(age, ..)| core::cmp::Reverse(age));
        pages.into_iter().map(|(_, page, payload)| (page, payload)).collect()
    }

    /// Drops the pages whose payload `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(&P) -> bool) {
        let Self { directory, recency } = self;
        directory.remove(drops, |way| recency.emptied(way));
    }

    /// Drops the pages of `address` whose payload `drops` names.
    pub(crate) fn remove_page(&mut self, address: u64, drops: impl Fn(&P) -> bool) {
        let Self { directory, recency } = self;
        directory.remove_page(address, drops, |way| recency.emptied(way));
    }
}
