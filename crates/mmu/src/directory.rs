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
    /// Sets − 1.
    mask: u64,
    /// First group of the array.
    base: u32,
    /// Groups of a set: the ways, rounded up.
    groups: u32,
    /// log2 of the size.
    shift: u32,
    pub(crate) size: PageSize,
}

impl Place {
    /// Groups of the set of `address`.
    #[inline(always)]
    fn set(&self, address: u64) -> Range<usize> {
        let first = self.base as usize + ((address >> self.shift) & self.mask) as usize * self.groups as usize;
        first..first + self.groups as usize
    }
}

/// Four slots of one set.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Group<P, U> {
    keys: [u64; LANES],
    /// What is known of each slot's use; kept when the slot is emptied or filled.
    pub(crate) uses: [U; LANES],
    payloads: [P; LANES],
}

/// The slots of a level: several arrays, each set-associative, with a payload `P` and a record of use `U` per slot.
///
/// A set takes whole groups; the slots beyond its ways stay empty. A slot's number is that of its group × 4 + its lane.
#[derive(Debug)]
pub(crate) struct Directory<P, U> {
    /// In the order of lookup: the arrays as listed, in each the sizes ascending.
    places: Vec<Place>,
    /// Those places, in the same order, that hold something: a size that nobody has is not looked up.
    active: Vec<Place>,
    /// By how many bits a size exceeds 4K: slots that hold a page of it; and last, those that hold none.
    live: [u32; 65],
    /// By page size: the place in which a page is kept.
    homes: [Option<Place>; PageSize::ALL.len()],
    groups: Box<[Group<P, U>]>,
}

impl<P: Copy + Default, U: Copy> Directory<P, U> {
    /// Empty arrays. The configuration was checked before. `way` is the use of a slot that was never used, `padding` that
    /// of one beyond the ways.
    pub(crate) fn new(arrays: &[TlbArray], way: U, padding: U) -> Self {
        let mut places = Vec::new();
        let mut groups = Vec::new();
        for array in arrays {
            let base = groups.len() as u32;
            let (ways, mask) = (array.ways, u64::from(array.sets) - 1);
            let per_set = ways.div_ceil(LANES as u32);
            for _ in 0..array.sets {
                for group in 0..per_set {
                    let use_of = |lane| if group * LANES as u32 + lane as u32 >= ways { padding } else { way };
                    groups.push(Group {
                        keys: [Key::NONE.0; LANES],
                        uses: core::array::from_fn(use_of),
                        payloads: [P::default(); LANES],
                    });
                }
            }
            let mut sizes = array.sizes.clone();
            sizes.sort_unstable();
            let place = |size: PageSize| Place { mask, base, groups: per_set, shift: size.shift(), size };
            places.extend(sizes.into_iter().map(place));
        }
        let mut homes = [None; PageSize::ALL.len()];
        let mut largest = None;
        for size in PageSize::ALL {
            largest = places.iter().find(|place| place.size == size).copied().or(largest);
            homes[size as usize] = largest;
        }
        let mut live = [0; 65];
        live[Key::NONE.excess()] = (groups.len() * LANES) as u32;
        let active = Vec::with_capacity(places.len());
        Self { places, active, live, homes, groups: groups.into_boxed_slice() }
    }

    /// Slots, the padding among them.
    pub(crate) fn slots(&self) -> usize {
        self.groups.len() * LANES
    }

    /// Where a page of `size` is kept: at the largest size not above it that an array takes, if there is one.
    #[inline(always)]
    pub(crate) fn home(&self, size: PageSize) -> Option<&Place> {
        self.homes[size as usize].as_ref()
    }

    /// The payload of a slot.
    #[inline(always)]
    pub(crate) fn payload(&self, slot: usize) -> &P {
        &self.groups[slot / LANES].payloads[slot % LANES]
    }

    /// What is known of a slot's use.
    #[inline(always)]
    pub(crate) fn use_mut(&mut self, slot: usize) -> &mut U {
        &mut self.groups[slot / LANES].uses[slot % LANES]
    }

    #[inline(always)]
    fn find_in(&self, place: &Place, address: u64, accept: impl Fn(&P) -> bool) -> Result<usize, Miss> {
        let set = place.set(address);
        let key = Key::new(address, place.shift);
        let mut miss = Miss::Absent;
        let mut first = set.start * LANES;
        for group in &self.groups[set] {
            match lanes::find(&group.keys, key.0, |lane| accept(&group.payloads[lane])) {
                Ok(lane) => return Ok(first + lane),
                Err(other) => miss = miss.and(other),
            }
            first += LANES;
        }
        Err(miss)
    }

    /// The first slot, in the order of lookup, that holds a page of `address` which `accept` takes.
    #[inline(always)]
    pub(crate) fn find(&self, address: u64, accept: impl Fn(&P) -> bool) -> Result<usize, Miss> {
        let mut miss = Miss::Absent;
        for place in &self.active {
            match self.find_in(place, address, &accept) {
                Ok(slot) => return Ok(slot),
                Err(other) => miss = miss.and(other),
            }
        }
        Err(miss)
    }

    /// The slot that already holds a page, of the payloads that `same` takes. `miss` is how the address was not found just
    /// before.
    #[inline(always)]
    pub(crate) fn same(&self, place: &Place, address: u64, miss: Miss, same: impl Fn(&P) -> bool) -> Option<usize> {
        match miss {
            Miss::Absent => None,
            Miss::Refused => self.find_in(place, address, same).ok(),
        }
    }

    /// The slot to be replaced in the set of `address`: the one with the least of the times that `times` gives for a
    /// group, which is handed over with the number of its first slot.
    #[inline(always)]
    pub(crate) fn oldest(
        &self,
        place: &Place,
        address: u64,
        times: impl Fn(usize, &[U; LANES]) -> [u64; LANES],
    ) -> usize {
        let set = place.set(address);
        let mut first = set.start * LANES;
        let (mut oldest, mut least) = (first, u64::MAX);
        for group in &self.groups[set] {
            let (time, lane) = lanes::least(&times(first, &group.uses));
            if time < least {
                (least, oldest) = (time, first + lane);
            }
            first += LANES;
        }
        oldest
    }

    /// Puts a page into a slot of its set.
    #[inline(always)]
    pub(crate) fn put(&mut self, slot: usize, place: &Place, address: u64, payload: &P) {
        let group = &mut self.groups[slot / LANES];
        group.payloads[slot % LANES] = *payload;
        self.set_key(slot, Key::new(address, place.shift));
    }

    #[inline(always)]
    fn set_key(&mut self, slot: usize, new: Key) {
        let key = &mut self.groups[slot / LANES].keys[slot % LANES];
        let old = Key(*key);
        *key = new.0;
        if old.excess() != new.excess() {
            self.count(old, new);
        }
    }

    #[inline(never)]
    fn count(&mut self, old: Key, new: Key) {
        let Self { places, active, live, .. } = self;
        live[old.excess()] -= 1;
        live[new.excess()] += 1;
        if live[old.excess()] == 0 || live[new.excess()] == 1 {
            active.clear();
            active.extend(places.iter().filter(|place| live[Key::new(0, place.shift).excess()] > 0));
        }
    }

    /// Empties every slot whose payload `drops` names, and reports it.
    pub(crate) fn remove(&mut self, drops: impl Fn(&P) -> bool, mut removed: impl FnMut(usize, &mut U)) {
        if self.active.is_empty() {
            return;
        }
        for index in 0..self.groups.len() {
            for lane in 0..LANES {
                let group = &self.groups[index];
                if group.keys[lane] != Key::NONE.0 && drops(&group.payloads[lane]) {
                    self.empty(index * LANES + lane, &mut removed);
                }
            }
        }
    }

    /// Empties every slot that holds a page of `address` and whose payload `drops` names, and reports it.
    pub(crate) fn remove_page(
        &mut self,
        address: u64,
        drops: impl Fn(&P) -> bool,
        mut removed: impl FnMut(usize, &mut U),
    ) {
        while let Ok(slot) = self.find(address, &drops) {
            self.empty(slot, &mut removed);
        }
    }

    fn empty(&mut self, slot: usize, removed: &mut impl FnMut(usize, &mut U)) {
        self.set_key(slot, Key::NONE);
        removed(slot, self.use_mut(slot));
    }

    /// Every slot with its use, and its payload if it holds a page.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut U, Option<&P>)> {
        self.groups.iter_mut().enumerate().flat_map(|(index, group)| {
            let Group { keys, uses, payloads } = group;
            let lanes = keys.iter().zip(uses).zip(payloads.iter()).enumerate();
            lanes.map(move |(lane, ((&key, used), payload))| {
                (index * LANES + lane, used, (key != Key::NONE.0).then_some(payload))
            })
        })
    }
}
