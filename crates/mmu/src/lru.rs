//! Set-associative arrays with exact LRU replacement: the L2 TLB, the nested TLB and each level of a walk cache.
//!
//! Empty slots are the least recently used ones of their set; of several, the first in the set is taken.

use crate::config::TlbArray;
use crate::directory::{Directory, Miss, Way};
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

    /// The same where the arrays are one array of one size.
    #[inline(always)]
    pub(crate) fn find_in_only(&self, address: u64, accept: impl Fn(&P) -> bool) -> Result<(Way, &P), Miss> {
        let way = self.directory.find_in_only(address, accept).way()?;
        Ok((way, self.directory.payload(way.slot)))
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
        let way = match self.directory.same(place, address, miss, same) {
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
        let earliest = self.recency.earliest(set, ways);
        if self.directory.is_empty(earliest.slot) {
            let way = self.directory.first_empty(set, ways);
            self.recency.used(way);
            return way;
        }
        self.recency.earliest_used(earliest, ways);
        earliest
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
