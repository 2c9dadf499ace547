//! The tag side of set-associative arrays: which slot holds a page.

use crate::config::TlbArray;
use crate::lanes::{self, LANES, Miss};
use core::ops::Range;
use types::PageSize;

/// A page of some size, in one word: its number, a one, and a zero for each bit by which it exceeds 4K.
/// No page has the key zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key(u64);

impl Key {
    const NONE: Self = Self(0);

    /// The page of 2^`shift` bytes that holds `address`.
    #[inline(always)]
    const fn new(address: u64, shift: u32) -> Self {
        Self(((address >> shift << 1) | 1) << (shift - PageSize::Size4K.shift()))
    }

    /// By how many bits the page's size exceeds 4K; 64 for no page.
    #[inline(always)]
    const fn excess(self) -> usize {
        self.0.trailing_zeros() as usize
    }
}

/// Where pages of one size are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) size: PageSize,
    /// log2 of the size.
    shift: u32,
    /// Sets − 1.
    mask: u64,
    /// First group of the array.
    base: usize,
    /// Groups of a set: the ways, rounded up.
    groups: usize,
    ways: usize,
}

impl Place {
    /// First group of the set of `address`.
    #[inline(always)]
    fn set(&self, address: u64) -> usize {
        self.base + ((address >> self.shift) & self.mask) as usize * self.groups
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
    /// By how many bits a size exceeds 4K: slots that hold a page of it; and last, those that hold none.
    live: [u32; 65],
    /// By page size: the place in which a page is kept.
    homes: [Option<Place>; PageSize::ALL.len()],
    keys: Box<[[u64; LANES]]>,
    payloads: Box<[P]>,
}

impl<P: Copy + Default> Directory<P> {
    /// Empty arrays. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray]) -> Self {
        let mut places = Vec::new();
        let mut base = 0;
        for array in arrays {
            let ways = array.ways as usize;
            let groups = ways.div_ceil(LANES);
            let mask = u64::from(array.sets) - 1;
            let mut sizes = array.sizes.clone();
            sizes.sort_unstable();
            places.extend(sizes.into_iter().map(|size| Place { size, shift: size.shift(), mask, base, groups, ways }));
            base += array.sets as usize * groups;
        }
        let mut homes = [None; PageSize::ALL.len()];
        let mut largest = None;
        for size in PageSize::ALL {
            largest = places.iter().find(|place| place.size == size).copied().or(largest);
            homes[size as usize] = largest;
        }
        let mut live = [0; 65];
        live[Key::NONE.excess()] = (base * LANES) as u32;
        Self {
            active: Vec::with_capacity(places.len()),
            places,
            live,
            homes,
            keys: vec![[Key::NONE.0; LANES]; base].into_boxed_slice(),
            payloads: vec![P::default(); base * LANES].into_boxed_slice(),
        }
    }

    /// Slots, the padding among them.
    pub(crate) fn slots(&self) -> usize {
        self.payloads.len()
    }

    /// Whether a slot belongs to a way, and not to the padding.
    pub(crate) fn is_way(&self, slot: usize) -> bool {
        let place = self.places.iter().rev().find(|place| place.base * LANES <= slot);
        place.is_some_and(|place| (slot - place.base * LANES) % (place.groups * LANES) < place.ways)
    }

    /// Where a page of `size` is kept: at the largest size not above it that an array takes, if there is one.
    #[inline(always)]
    pub(crate) fn home(&self, size: PageSize) -> Option<Place> {
        self.homes[size as usize]
    }

    /// The payload of a slot.
    #[inline(always)]
    pub(crate) fn payload(&self, slot: usize) -> &P {
        &self.payloads[slot]
    }

    #[inline(always)]
    fn find_in(&self, place: &Place, address: u64, accept: impl Fn(&P) -> bool) -> Result<usize, Miss> {
        let first = place.set(address);
        let set = &self.keys[first..first + place.groups];
        let payloads = &self.payloads[first * LANES..][..set.len() * LANES];
        lanes::find(set, Key::new(address, place.shift).0, |way| accept(&payloads[way])).map(|way| first * LANES + way)
    }

    /// The first slot, in the order of lookup, that holds a page of `address` which `accept` takes.
    #[inline(always)]
    pub(crate) fn find(&self, address: u64, accept: impl Fn(&P) -> bool) -> Result<usize, Miss> {
        let mut miss = Miss::Absent;
        for place in &self.active {
            match self.find_in(place, address, &accept) {
                Ok(slot) => return Ok(slot),
                Err(Miss::Refused) => miss = Miss::Refused,
                Err(Miss::Absent) => {}
            }
        }
        Err(miss)
    }

    /// Which slot a page is to take: that which already holds it (of the payloads that `same` takes), else the one that
    /// `oldest` chooses of its set, which is given in groups. `miss` is how the address was not found just before.
    #[inline(always)]
    pub(crate) fn choose(
        &self,
        place: &Place,
        address: u64,
        miss: Miss,
        same: impl Fn(&P) -> bool,
        oldest: impl FnOnce(Range<usize>) -> usize,
    ) -> usize {
        if miss == Miss::Refused
            && let Ok(slot) = self.find_in(place, address, same)
        {
            return slot;
        }
        let first = place.set(address);
        oldest(first..first + place.groups)
    }

    /// Puts a page into a slot of its set.
    #[inline(always)]
    pub(crate) fn put(&mut self, slot: usize, place: &Place, address: u64, payload: P) {
        self.set_key(slot, Key::new(address, place.shift));
        self.payloads[slot] = payload;
    }

    #[inline(always)]
    fn set_key(&mut self, slot: usize, new: Key) {
        let key = &mut self.keys.as_flattened_mut()[slot];
        let old = Key(*key);
        *key = new.0;
        if old.excess() != new.excess() {
            self.count(old, new);
        }
    }

    #[inline(never)]
    fn count(&mut self, old: Key, new: Key) {
        self.live[old.excess()] -= 1;
        self.live[new.excess()] += 1;
        if self.live[old.excess()] == 0 || self.live[new.excess()] == 1 {
            self.choose_active();
        }
    }

    fn choose_active(&mut self) {
        let Self { places, active, live, .. } = self;
        active.clear();
        active.extend(places.iter().filter(|place| live[Key::new(0, place.shift).excess()] > 0));
    }

    /// Empties every slot whose payload `drops` names, and reports it.
    pub(crate) fn remove(&mut self, drops: impl Fn(&P) -> bool, mut removed: impl FnMut(usize)) {
        if self.active.is_empty() {
            return;
        }
        for slot in 0..self.payloads.len() {
            if self.keys.as_flattened()[slot] != Key::NONE.0 && drops(&self.payloads[slot]) {
                self.set_key(slot, Key::NONE);
                removed(slot);
            }
        }
    }

    /// Empties every slot that holds a page of `address` and whose payload `drops` names, and reports it.
    pub(crate) fn remove_page(&mut self, address: u64, drops: impl Fn(&P) -> bool, mut removed: impl FnMut(usize)) {
        while let Ok(slot) = self.find(address, &drops) {
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
