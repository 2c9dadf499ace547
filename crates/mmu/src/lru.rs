//! Set-associative arrays with exact LRU replacement: the L2 TLB, the nested TLB and each level of a walk cache.
//!
//! The slots of a set form a ring in the order of their last use. So the least recently used one is known without a
//! search, and a miss, which takes that one, turns the ring by a place: a fixed number of steps, whatever the ways.
//! Empty slots are the least recently used ones; of several, the first in the set is taken.

use crate::config::TlbArray;
use crate::directory::{Directory, Found, Miss, Place};
use crate::raw::lanes::LANES;
use types::PageSize;

/// The slots before and behind one in its set's ring.
#[derive(Clone, Copy, Debug, Default)]
struct Neighbours {
    /// The one used next after it; of the latest one, the earliest.
    later: u32,
    /// The one used last before it; of the earliest one, the latest.
    earlier: u32,
}

/// Arrays whose slots are replaced in the order of their last use: a hit or a fill.
#[derive(Clone, Debug)]
pub(crate) struct Lru<P> {
    directory: Directory<P, [Neighbours; LANES]>,
    /// The most recently used slot of each set, by its first slot / [`LANES`].
    latest: Box<[u32]>,
    /// First slot of the set to which a slot / [`LANES`] belongs.
    firsts: Box<[u32]>,
}

impl<P: Copy + Default> Lru<P> {
    /// Empty arrays. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray]) -> Self {
        let mut directory = Directory::new(arrays, |_| [Neighbours::default(); LANES]);
        let mut firsts = Vec::new();
        for array in arrays {
            let ways = array.ways as usize;
            for _ in 0..array.sets {
                let first = firsts.len() * LANES;
                for way in 0..ways {
                    let at = |way: usize| (first + way % ways) as u32;
                    let (_, ring, lane) = directory.entry(first + way);
                    ring[lane] = Neighbours { later: at(way + ways - 1), earlier: at(way + 1) };
                }
                firsts.extend(core::iter::repeat_n(first as u32, ways.div_ceil(LANES)));
            }
        }
        Self { directory, latest: firsts.clone().into(), firsts: firsts.into() }
    }

    /// The first page of `address` that `accept` takes; it is now the most recently used one of its set.
    #[inline(always)]
    pub(crate) fn touch(&mut self, address: u64, accept: impl Fn(&P) -> bool) -> Result<&P, Miss> {
        Ok(self.touch_and_tell(address, accept)?.1)
    }

    /// The same, with its slot.
    #[inline(always)]
    fn touch_and_tell(&mut self, address: u64, accept: impl Fn(&P) -> bool) -> Result<(usize, &P), Miss> {
        let Found { first, slot } = self.directory.find(address, accept)?;
        self.used(first, slot);
        Ok((slot, self.directory.entry(slot).0))
    }

    /// As [`Self::touch`], for pages of which at most one payload is accepted: then a page in the slot where the latest one was found
    /// needs no search, and `guess` is that slot.
    #[inline(always)]
    pub(crate) fn touch_guessed(
        &mut self,
        guess: &mut usize,
        address: u64,
        accept: impl Fn(&P) -> bool,
    ) -> Result<&P, Miss> {
        if self.directory.holds(*guess, address, &accept) {
            self.used(self.firsts[*guess / LANES] as usize, *guess);
        } else {
            *guess = self.touch_and_tell(address, accept)?.0;
        }
        Ok(self.directory.entry(*guess).0)
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
        let Found { first, slot } = self.slot_for(&place, address, miss, same);
        self.directory.put(slot, &place, address, &piece(place.size));
        self.used(first, slot);
    }

    #[inline(always)]
    fn slot_for(&self, place: &Place, address: u64, miss: Miss, same: impl Fn(&P) -> bool) -> Found {
        if let Some(found) = self.directory.same(place, address, miss, same) {
            return found;
        }
        let first = self.directory.first(place, address);
        let earliest = self.neighbours(self.latest[first / LANES] as usize).later as usize;
        let slot =
            if self.directory.is_empty(earliest) { self.directory.first_empty(place, address) } else { earliest };
        Found { first, slot }
    }

    /// Drops the pages whose payload `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(&P) -> bool) {
        let Self { directory, latest, firsts } = self;
        directory.remove(drops, |directory, slot| emptied(directory, latest, firsts, slot));
    }

    /// Drops the pages of `address` whose payload `drops` names.
    pub(crate) fn remove_page(&mut self, address: u64, drops: impl Fn(&P) -> bool) {
        let Self { directory, latest, firsts } = self;
        directory.remove_page(address, drops, |directory, slot| emptied(directory, latest, firsts, slot));
    }

    #[inline(always)]
    fn neighbours(&self, slot: usize) -> Neighbours {
        self.directory.uses(slot / LANES)[slot % LANES]
    }

    /// Makes a slot the most recently used one of the set that begins with `first`.
    #[inline(always)]
    fn used(&mut self, first: usize, slot: usize) {
        let latest = &mut self.latest[first / LANES];
        let before = core::mem::replace(latest, slot as u32) as usize;
        // Behind the latest one is the earliest: for that, the ring need only be turned.
        if before != slot && self.neighbours(before).later as usize != slot {
            insert(&mut self.directory, slot as u32, before as u32);
        }
    }
}

type Ring<P> = Directory<P, [Neighbours; LANES]>;

#[inline(always)]
fn neighbours<P: Copy + Default>(directory: &mut Ring<P>, slot: u32) -> &mut Neighbours {
    let slot = slot as usize;
    &mut directory.uses_mut(slot / LANES)[slot % LANES]
}

/// Takes a slot out of its ring, and puts it between the latest one and the earliest.
///
/// Each word is read and written alone: a read of two that were just written apart waits until both are in the cache.
#[inline(always)]
fn insert<P: Copy + Default>(directory: &mut Ring<P>, slot: u32, latest: u32) {
    let (later, earlier) = (neighbours(directory, slot).later, neighbours(directory, slot).earlier);
    neighbours(directory, later).earlier = earlier;
    neighbours(directory, earlier).later = later;
    let earliest = neighbours(directory, latest).later;
    neighbours(directory, slot).later = earliest;
    neighbours(directory, slot).earlier = latest;
    neighbours(directory, latest).later = slot;
    neighbours(directory, earliest).earlier = slot;
}

/// Makes a slot that is empty now the least recently used one of its set.
fn emptied<P: Copy + Default>(directory: &mut Ring<P>, latest: &mut [u32], firsts: &[u32], slot: usize) {
    let latest = &mut latest[firsts[slot / LANES] as usize / LANES];
    let slot = slot as u32;
    if slot == *latest {
        *latest = neighbours(directory, slot).earlier;
    } else if neighbours(directory, *latest).later != slot {
        insert(directory, slot, *latest);
    }
}
