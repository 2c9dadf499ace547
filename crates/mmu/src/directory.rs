//! The tag side of set-associative arrays: which slot holds a page.

use crate::config::TlbArray;
use crate::lanes::{self, LANES};
use core::ops::Range;
use types::PageSize;

/// A page of some size, in one word: its number, a one, and a zero for each bit by which it exceeds 4K.
/// No page has the key zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key(u64);

impl Key {
    const NONE: Self = Self(0);

    /// The page of `size` that holds `address`.
    #[inline(always)]
    const fn new(address: u64, size: PageSize) -> Self {
        Self(((address >> size.shift() << 1) | 1) << (size.shift() - 12))
    }

    /// By how many bits the page's size exceeds 4K; 64 for no page.
    #[inline(always)]
    const fn excess(self) -> usize {
        self.0.trailing_zeros() as usize
    }
}

/// Where pages of one size are kept.
#[derive(Clone, Copy, Debug)]
struct Place {
    size: PageSize,
    /// First slot of the array.
    base: usize,
    /// Sets − 1.
    mask: u64,
    /// Slots from set to set: the ways, padded to whole groups.
    stride: usize,
    ways: usize,
}

impl Place {
    /// First slot of the set of `address`.
    #[inline(always)]
    fn set(&self, address: u64) -> usize {
        self.base + ((address >> self.size.shift()) & self.mask) as usize * self.stride
    }
}

/// The slots of a level: several arrays, each set-associative, with a payload of `P` per slot.
///
/// A set takes whole groups of [`LANES`] slots; those beyond its ways stay empty.
#[derive(Debug)]
pub(crate) struct Directory<P> {
    /// In the order of lookup: the arrays as listed, in each the sizes ascending.
    places: Vec<Place>,
    /// Those places, in the same order, that hold something: a size that nobody has is not looked up.
    active: Vec<Place>,
    /// By how many bits a size exceeds 4K: slots that hold a page of it. The last one counts empty slots, and means nothing.
    live: [u32; 65],
    /// By page size: the place in which a page is kept.
    fits: [Option<Place>; PageSize::ALL.len()],
    keys: Box<[[u64; LANES]]>,
    payloads: Box<[P]>,
}

impl<P: Copy + Default> Directory<P> {
    /// Empty arrays. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray]) -> Self {
        let mut places = Vec::new();
        let mut slots = 0;
        for array in arrays {
            let ways = array.ways as usize;
            let stride = ways.next_multiple_of(LANES);
            let mut sizes = array.sizes.clone();
            sizes.sort_unstable();
            let mask = u64::from(array.sets) - 1;
            places.extend(sizes.into_iter().map(|size| Place { size, base: slots, mask, stride, ways }));
            slots += array.sets as usize * stride;
        }
        let mut fits = [None; PageSize::ALL.len()];
        let mut largest = None;
        for size in PageSize::ALL {
            largest = places.iter().find(|place| place.size == size).copied().or(largest);
            fits[size as usize] = largest;
        }
        Self {
            active: Vec::with_capacity(places.len()),
            places,
            live: [0; 65],
            fits,
            keys: vec![[Key::NONE.0; LANES]; slots / LANES].into_boxed_slice(),
            payloads: vec![P::default(); slots].into_boxed_slice(),
        }
    }

    /// Slots, the padding among them.
    pub(crate) fn slots(&self) -> usize {
        self.payloads.len()
    }

    /// Whether a slot belongs to a way, and not to the padding.
    pub(crate) fn is_way(&self, slot: usize) -> bool {
        let place = self.places.iter().rev().find(|place| place.base <= slot);
        place.is_some_and(|place| (slot - place.base) % place.stride < place.ways)
    }

    /// The largest size not above `size` that an array takes.
    #[inline(always)]
    pub(crate) fn fit(&self, size: PageSize) -> Option<PageSize> {
        self.fits[size as usize].map(|place| place.size)
    }

    /// The payload of a slot.
    #[inline(always)]
    pub(crate) fn payload(&self, slot: usize) -> &P {
        &self.payloads[slot]
    }

    #[inline(always)]
    fn find_in(&self, place: &Place, address: u64, accept: impl Fn(&P) -> bool) -> Option<usize> {
        let first = place.set(address);
        let set = &self.keys[first / LANES..(first + place.stride) / LANES];
        let key = Key::new(address, place.size);
        lanes::find(set, key.0, |way| accept(&self.payloads[first + way])).map(|way| first + way)
    }

    /// The first slot, in the order of lookup, that holds a page of `address` which `accept` takes.
    #[inline(always)]
    pub(crate) fn find(&self, address: u64, accept: impl Fn(&P) -> bool) -> Option<usize> {
        self.active.iter().find_map(|place| self.find_in(place, address, &accept))
    }

    /// Where a page is to be kept: the slot that already holds it (of the payloads that `same` takes), else the one that
    /// `oldest` chooses of its set, padding included. `size` is one that `fit` returned.
    #[inline(always)]
    pub(crate) fn place(
        &self,
        address: u64,
        size: PageSize,
        same: impl Fn(&P) -> bool,
        oldest: impl FnOnce(Range<usize>) -> usize,
    ) -> usize {
        let place = self.fits[size as usize].as_ref().expect("`fit` returns sizes that an array takes");
        let first = place.set(address);
        self.find_in(place, address, same).unwrap_or_else(|| oldest(first..first + place.stride))
    }

    /// Puts a page into a slot that `place` returned.
    #[inline(always)]
    pub(crate) fn put(&mut self, slot: usize, address: u64, size: PageSize, payload: P) {
        self.set_key(slot, Key::new(address, size));
        self.payloads[slot] = payload;
    }

    #[inline(always)]
    fn set_key(&mut self, slot: usize, new: Key) {
        let key = &mut self.keys[slot / LANES][slot % LANES];
        let old = Key(*key);
        *key = new.0;
        if old.excess() != new.excess() {
            self.live[old.excess()] = self.live[old.excess()].wrapping_sub(1);
            self.live[new.excess()] = self.live[new.excess()].wrapping_add(1);
            if self.live[old.excess()] == 0 || self.live[new.excess()] == 1 {
                self.choose_active();
            }
        }
    }

    #[cold]
    fn choose_active(&mut self) {
        let Self { places, active, live, .. } = self;
        active.clear();
        active.extend(places.iter().filter(|place| live[Key::new(0, place.size).excess()] > 0));
    }

    /// Empties every slot whose payload `drops` names, and reports it.
    pub(crate) fn remove(&mut self, drops: impl Fn(&P) -> bool, mut removed: impl FnMut(usize)) {
        if self.active.is_empty() {
            return;
        }
        for slot in 0..self.payloads.len() {
            if self.keys[slot / LANES][slot % LANES] != Key::NONE.0 && drops(&self.payloads[slot]) {
                self.set_key(slot, Key::NONE);
                removed(slot);
            }
        }
    }

    /// Empties every slot that holds a page of `address` and whose payload `drops` names, and reports it.
    pub(crate) fn remove_page(&mut self, address: u64, drops: impl Fn(&P) -> bool, mut removed: impl FnMut(usize)) {
        while let Some(slot) = self.find(address, &drops) {
            self.set_key(slot, Key::NONE);
            removed(slot);
        }
    }

    /// The payloads that are in use, with their slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &P)> {
        let used = self.keys.as_flattened().iter().enumerate().filter(|&(_, &key)| key != Key::NONE.0);
        used.map(|(slot, _)| (slot, &self.payloads[slot]))
    }
}
