//! Set-associative arrays with exact LRU replacement: the L2 TLB, the nested TLB and each level of a walk cache.

use crate::config::TlbArray;
use crate::directory::{Directory, Place};
use crate::lanes::Miss;
use types::PageSize;

/// Arrays whose slots are replaced in the order of their last use: a hit or a fill.
#[derive(Debug)]
pub(crate) struct Lru<P> {
    /// A use is a time. Times are unique, but an empty slot has 0, and is chosen first; and padding has the latest time
    /// there is, and is never chosen.
    directory: Directory<P, u64>,
    now: u64,
}

impl<P: Copy + Default> Lru<P> {
    /// Empty arrays. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray]) -> Self {
        Self { directory: Directory::new(arrays, 0, u64::MAX), now: 0 }
    }

    #[inline(always)]
    fn stamp(&mut self, slot: usize) {
        self.now += 1;
        *self.directory.use_mut(slot) = self.now;
    }

    /// The first page of `address` that `accept` takes; it is now the most recently used one of its set.
    #[inline(always)]
    pub(crate) fn touch(&mut self, address: u64, accept: impl Fn(&P) -> bool) -> Result<&P, Miss> {
        let slot = self.directory.find(address, accept)?;
        self.stamp(slot);
        Ok(self.directory.payload(slot))
    }

    /// Keeps a page of `size`, or the largest piece around `address` that an array takes, in the place of the same page
    /// (one whose payload `same` takes) or of the least recently used one. `piece` makes the payload for the size that is
    /// kept; `miss` is how the address was not found just before.
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
        let slot = self.slot_for(&place, address, miss, same);
        self.directory.put(slot, &place, address, &piece(place.size));
        self.stamp(slot);
    }

    #[inline(always)]
    fn slot_for(&self, place: &Place, address: u64, miss: Miss, same: impl Fn(&P) -> bool) -> usize {
        let same = self.directory.same(place, address, miss, same);
        same.unwrap_or_else(|| self.directory.oldest(place, address, |_, times| *times))
    }

    /// Drops the pages whose payload `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(&P) -> bool) {
        self.directory.remove(drops, |_, time| *time = 0);
    }

    /// Drops the pages of `address` whose payload `drops` names.
    pub(crate) fn remove_page(&mut self, address: u64, drops: impl Fn(&P) -> bool) {
        self.directory.remove_page(address, drops, |_, time| *time = 0);
    }
}
