//! Set-associative arrays with exact LRU replacement: the L2 TLB, the nested TLB and each level of a walk cache.

use crate::config::TlbArray;
use crate::directory::{Directory, Place};
use crate::lanes::{self, LANES, Miss};
use core::ops::Range;
use types::PageSize;

/// Arrays whose slots are replaced in the order of their last use: a hit or a fill.
#[derive(Debug)]
pub(crate) struct Lru<P> {
    directory: Directory<P>,
    /// Time of each slot's last use. Times are unique; an empty slot has 0, and is chosen first. Padding has the latest
    /// time there is, and is never chosen.
    stamps: Box<[[i64; LANES]]>,
    now: i64,
}

impl<P: Copy + Default> Lru<P> {
    /// Empty arrays. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray]) -> Self {
        let directory = Directory::new(arrays);
        let stamp = |slot| if directory.is_way(slot) { 0 } else { i64::MAX };
        let group = |group| core::array::from_fn(|lane| stamp(group * LANES + lane));
        let stamps = (0..directory.slots() / LANES).map(group).collect();
        Self { directory, stamps, now: 0 }
    }

    #[inline(always)]
    fn stamp(&mut self, slot: usize) {
        self.now += 1;
        self.stamps.as_flattened_mut()[slot] = self.now;
    }

    /// Where a page of `size` is kept: at the largest size not above it that an array takes, if there is one.
    #[inline(always)]
    pub(crate) fn home(&self, size: PageSize) -> Option<Place> {
        self.directory.home(size)
    }

    /// The first page of `address` that `accept` takes; it is now the most recently used one of its set.
    #[inline(always)]
    pub(crate) fn touch(&mut self, address: u64, accept: impl Fn(&P) -> bool) -> Result<P, Miss> {
        let slot = self.directory.find(address, accept)?;
        self.stamp(slot);
        Ok(*self.directory.payload(slot))
    }

    /// Keeps a page, in the place of the same page (one whose payload `same` takes) or of the least recently used one.
    /// `miss` is how the address was not found just before.
    #[inline(always)]
    pub(crate) fn fill(&mut self, place: &Place, address: u64, miss: Miss, payload: P, same: impl Fn(&P) -> bool) {
        let stamps = &self.stamps;
        let oldest = |set: Range<usize>| set.start * LANES + lanes::least(&stamps[set]);
        let slot = self.directory.choose(place, address, miss, same, oldest);
        self.directory.put(slot, place, address, payload);
        self.stamp(slot);
    }

    /// Drops the pages whose payload `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(&P) -> bool) {
        let stamps = &mut self.stamps;
        self.directory.remove(drops, |slot| stamps.as_flattened_mut()[slot] = 0);
    }

    /// Drops the pages of `address` whose payload `drops` names.
    pub(crate) fn remove_page(&mut self, address: u64, drops: impl Fn(&P) -> bool) {
        let stamps = &mut self.stamps;
        self.directory.remove_page(address, drops, |slot| stamps.as_flattened_mut()[slot] = 0);
    }
}
