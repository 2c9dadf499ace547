//! Set-associative arrays with exact LRU replacement: the L2 TLB, the nested TLB and each level of a walk cache.

use crate::config::TlbArray;
use crate::directory::{Directory, Group, Miss, Place};
use crate::raw::lanes::{self, LANES, Words};
use types::PageSize;

/// Time of padding: the latest there is, so that it is never replaced.
const NEVER_REPLACED: u64 = i64::MAX.cast_unsigned();

/// Arrays whose slots are replaced in the order of their last use: a hit or a fill.
#[derive(Debug)]
pub(crate) struct Lru<P> {
    /// With the time of each slot's last use. Times are unique, but an empty slot has 0, and is taken first.
    directory: Directory<P, Words>,
    now: u64,
}

impl<P: Copy + Default> Lru<P> {
    /// Empty arrays. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray]) -> Self {
        let unused = |ways| core::array::from_fn(|lane| if lane < ways { 0 } else { NEVER_REPLACED });
        Self { directory: Directory::new(arrays, unused), now: 0 }
    }

    /// The first page of `address` that `accept` takes; it is now the most recently used one of its set.
    #[inline(always)]
    pub(crate) fn touch(&mut self, address: u64, accept: impl Fn(&P) -> bool) -> Result<&P, Miss> {
        let slot = self.directory.find(address, accept)?;
        let (payload, times, lane) = self.directory.entry(slot);
        self.now += 1;
        times[lane] = self.now;
        Ok(payload)
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
        let slot = self.slot_for(&place, address, miss, same);
        let (times, lane) = self.directory.put(slot, &place, address, &piece(place.size));
        self.now += 1;
        times[lane] = self.now;
    }

    #[inline(always)]
    fn slot_for(&self, place: &Place, address: u64, miss: Miss, same: impl Fn(&P) -> bool) -> usize {
        if let Some(slot) = self.directory.same(place, address, miss, same) {
            return slot;
        }
        let (first, set) = self.directory.set(place, address);
        first + oldest(set)
    }

    /// Drops the pages whose payload `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(&P) -> bool) {
        self.directory.remove(drops, |_, times, lane| times[lane] = 0);
    }

    /// Drops the pages of `address` whose payload `drops` names.
    pub(crate) fn remove_page(&mut self, address: u64, drops: impl Fn(&P) -> bool) {
        self.directory.remove_page(address, drops, |_, times, lane| times[lane] = 0);
    }
}

/// The slot of a set with the earliest time.
#[inline(always)]
fn oldest<P>(set: &[Group<P, Words>]) -> usize {
    /// The usual numbers of groups, without a loop.
    #[inline(always)]
    fn of<const N: usize, P>(set: &[Group<P, Words>]) -> usize {
        lanes::least::<N>(core::array::from_fn(|number| &set[number].uses)).1
    }
    match set.len() {
        1 => of::<1, P>(set),
        2 => of::<2, P>(set),
        3 => of::<3, P>(set),
        4 => of::<4, P>(set),
        8 => of::<8, P>(set),
        _ => {
            let groups = set.iter().enumerate().map(|(number, group)| (lanes::least([&group.uses]), number));
            let ((_, lane), number) = groups.min_by_key(|((time, _), _)| *time).unwrap_or_default();
            number * LANES + lane
        }
    }
}
