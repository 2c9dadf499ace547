//! Set-associative arrays with exact LRU replacement: the L2 TLB, the nested TLB and each level of a walk cache.

use crate::config::TlbArray;
use crate::directory::Directory;
use types::PageSize;

/// Arrays whose slots are replaced in the order of their last use: a hit or a fill.
#[derive(Debug)]
pub(crate) struct Lru<P> {
    directory: Directory<P>,
    /// Time of each slot's last use. Times are unique.
    stamps: Box<[u64]>,
    now: u64,
}

impl<P: Copy + Default> Lru<P> {
    /// Empty arrays. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray]) -> Self {
        let directory = Directory::new(arrays);
        let stamps = vec![0; directory.slots()].into_boxed_slice();
        Self { directory, stamps, now: 0 }
    }

    #[inline(always)]
    fn stamp(&mut self, slot: usize) {
        self.now += 1;
        self.stamps[slot] = self.now;
    }

    /// The largest size not above `size` that an array takes.
    #[inline(always)]
    pub(crate) fn fit(&self, size: PageSize) -> Option<PageSize> {
        self.directory.fit(size)
    }

    /// The first page of `address` that `accept` takes; it is now the most recently used one of its set.
    #[inline(always)]
    pub(crate) fn touch(&mut self, address: u64, accept: impl Fn(&P) -> bool) -> Option<P> {
        let slot = self.directory.find(address, accept)?;
        self.stamp(slot);
        Some(*self.directory.payload(slot))
    }

    /// Keeps a page, in the place of the same page (one whose payload `same` takes) or of the least recently used one.
    /// `size` is one that `fit` returned.
    #[inline(always)]
    pub(crate) fn fill(&mut self, address: u64, size: PageSize, payload: P, same: impl Fn(&P) -> bool) {
        let stamps = &self.stamps;
        let slot = self.directory.place(address, size, same, |set| {
            let first = set.start;
            let mut oldest = first;
            let mut least = u64::MAX;
            for (way, &stamp) in stamps[set].iter().enumerate() {
                if stamp < least {
                    (least, oldest) = (stamp, first + way);
                }
            }
            oldest
        });
        self.directory.put(slot, address, size, payload);
        self.stamp(slot);
    }

    /// Drops the pages whose payload `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(&P) -> bool) {
        self.directory.remove(drops, |_| {});
    }

    /// Drops the pages of `address` whose payload `drops` names.
    pub(crate) fn remove_page(&mut self, address: u64, drops: impl Fn(&P) -> bool) {
        self.directory.remove_page(address, drops, |_| {});
    }
}
