//! The tag side of set-associative arrays: which slot holds a page.

use crate::config::TlbArray;
use crate::raw::lanes::{self, LANES, Words};
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

    /// The page's first byte.
    const fn page(self) -> u64 {
        self.0 >> self.excess() >> 1 << (self.excess() as u32 + PageSize::Size4K.shift())
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

/// In which gibibytes pages of one size lie, a bit for several of them: an address in none of these needs no search.
#[derive(Clone, Copy, Debug)]
struct Regions(u64);

impl Regions {
    const NONE: Self = Self(0);
    const SHIFT: u32 = 30;

    /// The bit of an address: the topmost six of a product that depends on all of its bits (Fibonacci hashing).
    #[inline(always)]
    const fn bit(address: u64) -> u32 {
        ((address >> Self::SHIFT).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u32
    }

    #[inline(always)]
    const fn may_hold(self, address: u64) -> bool {
        self.0 >> Self::bit(address) & 1 != 0
    }

    /// Adds the page of 2^`shift` bytes that holds `address`.
    #[inline(always)]
    const fn include(&mut self, address: u64, shift: u32) {
        self.0 |= if shift > Self::SHIFT { u64::MAX } else { 1 << Self::bit(address) };
    }
}

/// Why nothing was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Miss {
    /// The page is nowhere: a second search, whatever it accepts, would find nothing either.
    Absent,
    /// It is there, but was not accepted.
    Refused,
}

impl Miss {
    #[inline(always)]
    const fn of(refused: bool) -> Self {
        if refused { Self::Refused } else { Self::Absent }
    }
}

/// Four slots of one set.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Group<P, U> {
    keys: Words,
    /// What is known of the slots' use; kept when a slot is emptied or filled.
    pub(crate) uses: U,
    payloads: [P; LANES],
}

/// Groups of a set that are compared before the first match is looked at: which one it is cannot be predicted, so there
/// is no branch in between. A larger set is searched part by part.
const AT_ONCE: usize = u64::BITS as usize / LANES;

/// Which slots of at most [`AT_ONCE`] groups hold the page: a bit each.
#[inline(always)]
fn matches<P, U>(set: &[Group<P, U>], key: Key) -> u64 {
    /// The usual numbers, without a loop.
    #[inline(always)]
    fn of<const N: usize, P, U>(set: &[Group<P, U>], key: Key) -> u64 {
        lanes::matching::<N>(core::array::from_fn(|number| &set[number].keys), key.0)
    }
    match set.len() {
        1 => of::<1, P, U>(set, key),
        2 => of::<2, P, U>(set, key),
        3 => of::<3, P, U>(set, key),
        4 => of::<4, P, U>(set, key),
        8 => of::<8, P, U>(set, key),
        _ => (set.iter().enumerate())
            .fold(0, |mask, (number, group)| mask | lanes::matching([&group.keys], key.0) << (number * LANES)),
    }
}

/// Where a page was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    /// First slot of its set.
    pub(crate) first: usize,
    pub(crate) slot: usize,
}

/// The first slot of a set that holds a page which `accept` takes.
#[inline(always)]
fn find_in<P, U>(set: &[Group<P, U>], key: Key, accept: impl Fn(&P) -> bool) -> Result<usize, Miss> {
    if set.len() > AT_ONCE {
        return find_in_parts(set, key, accept);
    }
    let all = matches(set, key);
    let mut mask = all;
    while mask != 0 {
        let slot = mask.trailing_zeros() as usize;
        if accept(&set[slot / LANES].payloads[slot % LANES]) {
            return Ok(slot);
        }
        mask &= mask - 1;
    }
    Err(Miss::of(all != 0))
}

#[inline(never)]
fn find_in_parts<P, U>(set: &[Group<P, U>], key: Key, accept: impl Fn(&P) -> bool) -> Result<usize, Miss> {
    let mut refused = false;
    for (number, part) in set.chunks(AT_ONCE).enumerate() {
        let all = matches(part, key);
        refused |= all != 0;
        for slot in (0..part.len() * LANES).filter(|slot| all >> slot & 1 != 0) {
            if accept(&part[slot / LANES].payloads[slot % LANES]) {
                return Ok(number * AT_ONCE * LANES + slot);
            }
        }
    }
    Err(Miss::of(refused))
}

/// The slots of a level: several arrays, each set-associative, with a payload `P` per slot and a record of use `U` per
/// group.
///
/// A set takes whole groups; the slots beyond its ways stay empty. A slot's number is that of its group × 4 + its lane.
#[derive(Clone, Debug)]
pub(crate) struct Directory<P, U> {
    /// In the order of lookup: the arrays as listed, in each the sizes ascending.
    places: Vec<Place>,
    /// Those places, in the same order, that hold something: a size that nobody has is not looked up.
    active: Vec<Place>,
    /// By page size, where those that are kept lie, or lay since there were none: a kernel's large pages are far from its programs' small
    /// ones.
    regions: [Regions; PageSize::ALL.len()],
    /// By how many bits a size exceeds 4K: slots that hold a page of it; and last, those that hold none.
    live: [u32; 65],
    /// By page size: the place in which a page is kept.
    homes: [Option<Place>; PageSize::ALL.len()],
    groups: Box<[Group<P, U>]>,
}

impl<P: Copy + Default, U: Copy> Directory<P, U> {
    /// Empty arrays. The configuration was checked before. `unused` makes the record of a group of which so many slots
    /// are ways, and the others padding.
    pub(crate) fn new(arrays: &[TlbArray], unused: impl Fn(usize) -> U) -> Self {
        let mut places = Vec::new();
        let mut groups = Vec::new();
        for array in arrays {
            let base = groups.len() as u32;
            let (ways, mask) = (array.ways, u64::from(array.sets) - 1);
            let per_set = ways.div_ceil(LANES as u32);
            for _ in 0..array.sets {
                for group in 0..per_set {
                    let ways = (ways as usize - group as usize * LANES).min(LANES);
                    groups.push(Group {
                        keys: [Key::NONE.0; LANES],
                        uses: unused(ways),
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
        let regions = [Regions::NONE; PageSize::ALL.len()];
        Self { places, active, regions, live, homes, groups: groups.into_boxed_slice() }
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

    /// A slot's payload and what is known of its group's use, with the slot's lane in it.
    #[inline(always)]
    pub(crate) fn entry(&mut self, slot: usize) -> (&P, &mut U, usize) {
        let (group, lane) = (&mut self.groups[slot / LANES], slot % LANES);
        (&group.payloads[lane], &mut group.uses, lane)
    }

    /// What is known of a group's use.
    #[inline(always)]
    pub(crate) fn uses(&self, group: usize) -> &U {
        &self.groups[group].uses
    }

    /// The same, to change it.
    #[inline(always)]
    pub(crate) fn uses_mut(&mut self, group: usize) -> &mut U {
        &mut self.groups[group].uses
    }

    /// The first slot of the set of `address`.
    #[inline(always)]
    pub(crate) fn first(&self, place: &Place, address: u64) -> usize {
        place.set(address).start * LANES
    }

    /// The set of `address`: the number of its first slot, and its groups.
    #[inline(always)]
    pub(crate) fn set(&self, place: &Place, address: u64) -> (usize, &[Group<P, U>]) {
        let set = place.set(address);
        (set.start * LANES, &self.groups[set])
    }

    #[inline(always)]
    fn find_at(&self, place: &Place, address: u64, accept: impl Fn(&P) -> bool) -> Result<Found, Miss> {
        let (first, set) = self.set(place, address);
        find_in(set, Key::new(address, place.shift), accept).map(|slot| Found { first, slot: first + slot })
    }

    /// Whether a search for `address` would look at `slot` before any slot of another size, and take it.
    #[inline(always)]
    pub(crate) fn holds(&self, slot: usize, address: u64, accept: impl Fn(&P) -> bool) -> bool {
        let (Some(place), Some(group)) = (self.active.first(), self.groups.get(slot / LANES)) else { return false };
        let lane = slot % LANES;
        group.keys[lane] == Key::new(address, place.shift).0 && accept(&group.payloads[lane])
    }

    /// Whether a slot holds no page.
    #[inline(always)]
    pub(crate) fn is_empty(&self, slot: usize) -> bool {
        self.groups[slot / LANES].keys[slot % LANES] == Key::NONE.0
    }

    /// The first slot of a set that holds no page; there is one. (Padding comes last.)
    #[cold]
    #[inline(never)]
    pub(crate) fn first_empty(&self, place: &Place, address: u64) -> usize {
        let (first, set) = self.set(place, address);
        let mut keys = set.iter().flat_map(|group| group.keys);
        first + keys.position(|key| key == Key::NONE.0).expect("the set has an empty slot")
    }

    /// The first slot, in the order of lookup, that holds a page of `address` which `accept` takes.
    #[inline(always)]
    pub(crate) fn find(&self, address: u64, accept: impl Fn(&P) -> bool) -> Result<Found, Miss> {
        let mut refused = false;
        for place in &self.active {
            if !self.regions[place.size as usize].may_hold(address) {
                continue;
            }
            match self.find_at(place, address, &accept) {
                Ok(found) => return Ok(found),
                Err(miss) => refused |= miss == Miss::Refused,
            }
        }
        Err(Miss::of(refused))
    }

    /// The slot that already holds a page, of the payloads that `same` takes. `miss` is how the address was not found
    /// just before.
    #[inline(always)]
    pub(crate) fn same(&self, place: &Place, address: u64, miss: Miss, same: impl Fn(&P) -> bool) -> Option<Found> {
        match miss {
            Miss::Absent => None,
            Miss::Refused => self.find_at(place, address, same).ok(),
        }
    }

    /// Puts a page into a slot of its set.
    #[inline(always)]
    pub(crate) fn put(&mut self, slot: usize, place: &Place, address: u64, payload: &P) {
        let new = Key::new(address, place.shift);
        let (index, lane) = (slot / LANES, slot % LANES);
        let group = &mut self.groups[index];
        group.payloads[lane] = *payload;
        let old = Key(core::mem::replace(&mut group.keys[lane], new.0));
        if old.excess() != new.excess() {
            self.count(old, new);
        }
        self.regions[place.size as usize].include(address, place.shift);
    }

    #[inline(never)]
    fn count(&mut self, old: Key, new: Key) {
        let Self { places, active, live, regions, .. } = self;
        live[old.excess()] -= 1;
        live[new.excess()] += 1;
        if live[old.excess()] == 0 || live[new.excess()] == 1 {
            let held = |place: &&Place| live[Key::new(0, place.shift).excess()] > 0;
            active.clear();
            active.extend(places.iter().filter(held));
            for place in places.iter().filter(|place| !held(place)) {
                regions[place.size as usize] = Regions::NONE;
            }
        }
    }

    /// Empties every slot whose payload `drops` names, and reports it.
    pub(crate) fn remove(&mut self, drops: impl Fn(&P) -> bool, mut removed: impl FnMut(&mut Self, usize)) {
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
        mut removed: impl FnMut(&mut Self, usize),
    ) {
        while let Ok(Found { slot, .. }) = self.find(address, &drops) {
            self.empty(slot, &mut removed);
        }
    }

    fn empty(&mut self, slot: usize, removed: &mut impl FnMut(&mut Self, usize)) {
        let (index, lane) = (slot / LANES, slot % LANES);
        let old = Key(core::mem::replace(&mut self.groups[index].keys[lane], Key::NONE.0));
        self.count(old, Key::NONE);
        removed(self, slot);
    }

    /// Every page that is held: its first byte, and its payload.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (u64, &P)> {
        let slots = self.groups.iter().flat_map(|group| group.keys.iter().zip(&group.payloads));
        slots.filter(|(key, _)| **key != Key::NONE.0).map(|(&key, payload)| (Key(key).page(), payload))
    }

    /// Every group: the number of its first slot, its use, and the payloads of the slots that hold a page, by lane.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut U, [Option<&P>; LANES])> {
        self.groups.iter_mut().enumerate().map(|(index, group)| {
            let Group { keys, uses, payloads } = group;
            let held = core::array::from_fn(|lane| (keys[lane] != Key::NONE.0).then_some(&payloads[lane]));
            (index * LANES, uses, held)
        })
    }
}
