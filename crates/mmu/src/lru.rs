//! Set-associative arrays with exact LRU replacement: the L2 TLB, the nested TLB and each level of a walk cache.

use crate::config::TlbArray;
use crate::directory::{Directory, Miss, Place};
use crate::raw::lanes::{LANES, least};
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

    /// The first page of `address` that `accept` takes; it is now the most recently used one of its set.
    #[inline(always)]
    pub(crate) fn touch(&mut self, address: u64, accept: impl Fn(&P) -> bool) -> Result<&P, Miss> {
        let slot = self.directory.find(address, accept)?;
        let (payload, time) = self.directory.entry(slot);
        self.now += 1;
        *time = self.now;
        Ok(payload)
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
        self.now += 1;
        *self.directory.entry(slot).1 = self.now;
    }

    #[inline(always)]
    fn slot_for(&self, place: &Place, address: u64, miss: Miss, same: impl Fn(&P) -> bool) -> usize {
        if let Some(slot) = self.directory.same(place, address, miss, same) {
            return slot;
        }
        let (first, set) = self.directory.set(place, address);
        let (mut oldest, mut earliest) = (0, u64::MAX);
        for (number, group) in set.iter().enumerate() {
            let (time, lane) = least(&group.uses);
            if time < earliest {
                (earliest, oldest) = (time, number * LANES + lane);
            }
        }
        first + oldest
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
