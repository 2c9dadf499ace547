//! The tag side of set-associative arrays: which slot holds a page.
//!
//! A search compares short tags, eight at once, and looks at a slot only where its tag matches. Which arrays and sizes it looks at is known
//! beforehand from where in the address space pages of each size lie.

mod key;

pub(crate) use key::BasePage;

use crate::config::TlbArray;
use crate::raw::lanes::{self, LANES, MOST_GROUPS, Tags};
use crate::tlb::way::Way;
use key::{Base, Key};
use types::PageSize;

/// Where pages of one size are kept.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// Sets − 1.
    mask: u64,
    /// First group of the array.
    base: u32,
    /// Groups of a set: the ways, rounded up.
    groups: u32,
    /// Ways of a set.
    pub(crate) ways: u32,
    /// log2 of the size.
    shift: u32,
    /// Its own among [`TagArray::candidates`].
    bit: u8,
    pub(crate) size: PageSize,
}

impl Place {
    /// First group of the set of `address`.
    #[inline(always)]
    pub(crate) const fn set(&self, address: u64) -> usize {
        self.nth((address >> self.shift) & self.mask)
    }

    /// Groups of a set.
    #[inline(always)]
    pub(crate) const fn groups(&self) -> usize {
        self.groups as usize
    }

    /// First group of the set of that index in the array.
    #[inline(always)]
    const fn nth(&self, index: u64) -> usize {
        self.base as usize + index as usize * self.groups as usize
    }
}

/// How a search ended, in one word, because it passes through memory otherwise: the set's first group and the slot; or how it missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Outcome(i64);

impl Outcome {
    const ABSENT: Self = Self(-1);
    const REFUSED: Self = Self(-2);

    #[inline(always)]
    const fn found(way: Way) -> Self {
        Self((way.set << 32 | way.slot) as i64)
    }

    #[inline(always)]
    const fn missed(refused: bool) -> Self {
        if refused { Self::REFUSED } else { Self::ABSENT }
    }

    /// What was found, or how nothing was.
    #[inline(always)]
    pub(crate) const fn way(self) -> Result<Way, Miss> {
        if self.0 < 0 {
            return Err(Miss(self));
        }
        Ok(Way { set: (self.0 >> 32) as usize, slot: self.0 as u32 as usize })
    }
}

/// Bits of the gibibyte's number that choose a region.
const REGION_BITS: u32 = 6;
/// log2 of the bytes that are always in one region.
const REGION_SHIFT: u32 = 30;

/// The region of an address: the topmost bits of a product that depends on all of the gibibyte's number (Fibonacci hashing).
#[inline(always)]
pub(crate) const fn region(address: u64) -> usize {
    ((address >> REGION_SHIFT).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - REGION_BITS)) as usize
}

/// How nothing was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Miss(Outcome);

impl Miss {
    /// The page is nowhere: a second search, whatever it accepts, would find nothing either.
    pub(crate) const ABSENT: Self = Self(Outcome::ABSENT);
    /// It is there, but was not accepted.
    pub(crate) const REFUSED: Self = Self(Outcome::REFUSED);
}

/// A page and what is kept of it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Slot<P> {
    key: Key,
    payload: P,
}

/// Page sizes, and so places: a size is in one array of a level at most.
const SIZES: usize = PageSize::ALL.len();
const NO_PLACE: u8 = SIZES as u8;

/// The slots of a level: several arrays, each set-associative, with a payload `P` per slot.
///
/// A set takes whole groups of [`LANES`] slots; those beyond its ways stay empty. A slot's number is that of its group × 4 + its lane.
#[derive(Clone, Debug)]
pub(crate) struct TagArray<P> {
    /// By region: in which places something of it is kept, or was since they were last empty: a bit each. (A kernel's large pages are far
    /// from its programs' small ones, and a size without entries is not looked up.)
    candidates: [u8; 1 << REGION_BITS],
    /// In the order of lookup: the arrays as listed, in each the sizes ascending.
    places: [Place; SIZES],
    /// By page size: the place in which a page is kept, at the largest size not above it that an array takes; or [`NO_PLACE`].
    homes: [u8; SIZES],
    /// By how many bits a size exceeds 4K: slots that hold a page of it; and last, those that hold none.
    live: [u32; 65],
    base: Base,
    tags: Box<[Tags]>,
    slots: Box<[Slot<P>]>,
    /// One place of each array.
    arrays: Box<[Place]>,
}

impl<P: Copy + Default> TagArray<P> {
    /// Empty arrays. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray]) -> Self {
        let mut places = Vec::new();
        let mut firsts = Vec::new();
        let mut base = 0;
        for array in arrays {
            let groups = array.ways.div_ceil(LANES as u32);
            let place = |size: PageSize| Place {
                mask: u64::from(array.sets) - 1,
                base,
                groups,
                ways: array.ways,
                shift: size.shift(),
                bit: 0,
                size,
            };
            let mut sizes = array.sizes.clone();
            sizes.sort_unstable();
            firsts.push(place(sizes[0]));
            places.extend(sizes.into_iter().map(place));
            base += array.sets * groups;
        }
        places.iter_mut().enumerate().for_each(|(index, place)| place.bit = 1 << index);
        let mut homes = [NO_PLACE; SIZES];
        let mut largest = NO_PLACE;
        for size in PageSize::ALL {
            largest = places.iter().position(|place| place.size == size).map_or(largest, |index| index as u8);
            homes[size as usize] = largest;
        }
        let base_pages = places.iter().find(|place| place.size == PageSize::Size4K && place.groups() <= MOST_GROUPS);
        let base_of = |place: &Place| Base {
            mask: place.mask,
            first: place.base,
            groups: place.groups,
            ways: place.ways,
            alone: u16::from(place.bit),
        };
        let mut live = [0; 65];
        live[Key::NONE.excess()] = base * LANES as u32;
        Self {
            candidates: [0; 1 << REGION_BITS],
            places: core::array::from_fn(|index| places.get(index).copied().unwrap_or_default()),
            homes,
            live,
            base: base_pages.map_or(Base::NONE, base_of),
            tags: vec![Tags([0; LANES]); base as usize].into(),
            slots: vec![Slot { key: Key::NONE, payload: P::default() }; base as usize * LANES].into(),
            arrays: firsts.into(),
        }
    }

    /// Slots, the padding among them.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Where a page of `size` is kept: at the largest size not above it that an array takes, if there is one.
    #[inline(always)]
    pub(crate) fn home(&self, size: PageSize) -> Option<&Place> {
        self.places.get(usize::from(self.homes[size as usize]))
    }

    #[inline(always)]
    pub(crate) fn payload(&self, slot: usize) -> &P {
        &self.slots[slot].payload
    }

    /// Every page that is held: its first byte, and its payload.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (u64, &P)> {
        let held = self.slots.iter().filter(|slot| slot.key != Key::NONE);
        held.map(|slot| (slot.key.page(), &slot.payload))
    }

    /// Every way that holds a page, with the page's first byte and its payload: array by array, set by set.
    pub(crate) fn held(&self) -> impl Iterator<Item = (Way, u64, &P)> {
        let sets = self.arrays.iter().flat_map(|array| (0..=array.mask).map(move |index| (array, array.nth(index))));
        let ways = sets.flat_map(|(array, set)| (0..array.ways as usize).map(move |way| Way::new(set, way)));
        ways.filter(|way| !self.is_empty(way.slot)).map(|way| {
            let slot = &self.slots[way.slot];
            (way, slot.key.page(), &slot.payload)
        })
    }

    /// The page that a slot holds: its first byte, and its payload.
    #[inline(always)]
    pub(crate) fn occupant(&self, slot: usize) -> Option<(u64, P)> {
        let slot = &self.slots[slot];
        (slot.key != Key::NONE).then(|| (slot.key.page(), slot.payload))
    }

    /// Whether a slot holds no page.
    #[inline(always)]
    pub(crate) fn is_empty(&self, slot: usize) -> bool {
        self.slots[slot].key == Key::NONE
    }

    /// The first way of a set that holds no page; there is one.
    #[cold]
    #[inline(never)]
    pub(crate) fn first_empty(&self, set: usize, ways: usize) -> Way {
        self.find_empty(set, ways).expect("the set has an empty way")
    }

    /// The first way of a set that holds no page, if there is one.
    pub(crate) fn find_empty(&self, set: usize, ways: usize) -> Option<Way> {
        (0..ways).map(|way| Way::new(set, way)).find(|way| self.is_empty(way.slot))
    }

    /// The first slot of a set that holds the page which `accept` takes.
    #[inline(always)]
    fn find_at(&self, place: &Place, address: u64, accept: impl Fn(&P) -> bool) -> Outcome {
        let set = place.set(address);
        let key = Key::new(address, place.shift);
        let tags = &self.tags[set..][..place.groups as usize];
        if tags.len() > MOST_GROUPS {
            return self.find_in_parts(set, tags, key, accept);
        }
        match self.find_in(set, tags, key, accept) {
            Ok((way, _)) => Outcome::found(way),
            Err(miss) => miss.0,
        }
    }

    /// The first of the ways from `first` on whose tag matches, by `mask`, that holds the page which `accept` takes.
    #[cold]
    #[inline(never)]
    fn find_among(&self, mut mask: u32, set: usize, first: usize, key: Key, accept: impl Fn(&P) -> bool) -> Outcome {
        let mut refused = false;
        while mask != 0 {
            let way = Way::new(set, first + mask.trailing_zeros() as usize);
            let slot = &self.slots[way.slot];
            if slot.key == key {
                if accept(&slot.payload) {
                    return Outcome::found(way);
                }
                refused = true;
            }
            mask &= mask - 1;
        }
        Outcome::missed(refused)
    }

    #[cold]
    #[inline(never)]
    fn find_in_parts(&self, set: usize, tags: &[Tags], key: Key, accept: impl Fn(&P) -> bool) -> Outcome {
        let mut missed = Outcome::ABSENT;
        for (number, part) in tags.chunks(MOST_GROUPS).enumerate() {
            let mask = lanes::matching(part, key.tag());
            match self.find_among(mask, set, number * MOST_GROUPS * LANES, key, &accept) {
                Outcome::ABSENT => {}
                Outcome::REFUSED => missed = Outcome::REFUSED,
                found => return found,
            }
        }
        missed
    }

    /// The first slot, in the order of lookup, that holds a page of `address` which `accept` takes.
    #[inline(always)]
    pub(crate) fn find(&self, address: u64, accept: impl Fn(&P) -> bool) -> Outcome {
        let candidates = self.candidates[region(address)];
        if !candidates.is_power_of_two() {
            return self.find_in_several(candidates, address, accept);
        }
        self.find_at(&self.places[candidates.trailing_zeros() as usize % SIZES], address, accept)
    }

    #[inline(never)]
    fn find_in_several(&self, mut candidates: u8, address: u64, accept: impl Fn(&P) -> bool) -> Outcome {
        let mut missed = Outcome::ABSENT;
        while candidates != 0 {
            let place = &self.places[candidates.trailing_zeros() as usize % SIZES];
            match self.find_at(place, address, &accept) {
                Outcome::ABSENT => {}
                Outcome::REFUSED => missed = Outcome::REFUSED,
                found => return found,
            }
            candidates &= candidates - 1;
        }
        missed
    }

    /// The same where the arrays are one set of pages of 2^`shift` bytes.
    #[inline(always)]
    pub(crate) fn find_in_only(
        &self,
        address: u64,
        shift: u32,
        accept: impl Fn(&P) -> bool,
    ) -> Result<(Way, &P), Miss> {
        let key = Key::new(address, shift);
        if self.tags.len() > MOST_GROUPS {
            let way = self.find_in_parts(0, &self.tags, key, accept).way()?;
            return Ok((way, self.payload(way.slot)));
        }
        self.find_in(0, &self.tags, key, accept)
    }

    /// Whether in a region there are base pages and nothing else.
    #[inline(always)]
    pub(crate) fn has_base_alone(&self, region: usize) -> bool {
        u16::from(self.candidates[region]) == self.base.alone
    }

    /// Makes [`Self::has_base_alone`] false for ever if a set of base pages is more than one group.
    pub(crate) fn base_in_group_or_nowhere(&mut self) {
        if self.base.groups > 1 {
            self.base = Base::NONE;
        }
    }

    /// Makes [`Self::has_base_alone`] false for ever.
    pub(crate) fn base_nowhere(&mut self) {
        self.base = Base::NONE;
    }

    /// Ways of such a set.
    #[inline(always)]
    pub(crate) fn base_ways(&self) -> usize {
        self.base.ways as usize
    }

    /// The first group of the set of a base page.
    #[inline(always)]
    pub(crate) fn base_set(&self, page: BasePage) -> usize {
        self.base.set(page)
    }

    /// The same where a set is one group.
    #[inline(always)]
    pub(crate) fn base_group(&self, page: BasePage) -> usize {
        self.base.group(page)
    }

    /// As [`Self::find`], for a page of a region that has only base pages. It compares only the first slot whose tag matches:
    /// [`Miss::REFUSED`] means that the probe cannot decide and a full search is needed.
    #[inline(always)]
    pub(crate) fn probe_base(&self, page: BasePage, accept: impl Fn(&P) -> bool) -> Result<(Way, &P), Miss> {
        let set = self.base.set(page);
        self.probe_in(set, &self.tags[set..][..self.base.groups as usize], page.0, accept)
    }

    /// The same where a set is one group.
    #[inline(always)]
    pub(crate) fn probe_base_in_group(&self, page: BasePage, accept: impl Fn(&P) -> bool) -> Result<(Way, &P), Miss> {
        let set = self.base_group(page);
        self.probe_in(set, core::slice::from_ref(&self.tags[set]), page.0, accept)
    }

    /// As [`Self::find_in_only`], but compares only the first slot whose tag matches.
    #[inline(always)]
    pub(crate) fn probe_in_only(
        &self,
        address: u64,
        shift: u32,
        accept: impl Fn(&P) -> bool,
    ) -> Result<(Way, &P), Miss> {
        if self.tags.len() > MOST_GROUPS {
            return Err(Miss::REFUSED);
        }
        self.probe_in(0, &self.tags, Key::new(address, shift), accept)
    }

    #[inline(always)]
    fn probe_in(&self, set: usize, tags: &[Tags], key: Key, accept: impl Fn(&P) -> bool) -> Result<(Way, &P), Miss> {
        let mask = lanes::matching(tags, key.tag());
        if mask == 0 {
            return Err(Miss::ABSENT);
        }
        let way = Way::new(set, mask.trailing_zeros() as usize);
        let slot = &self.slots[way.slot];
        if slot.key == key && accept(&slot.payload) { Ok((way, &slot.payload)) } else { Err(Miss::REFUSED) }
    }

    #[inline(always)]
    fn find_in(&self, set: usize, tags: &[Tags], key: Key, accept: impl Fn(&P) -> bool) -> Result<(Way, &P), Miss> {
        match self.probe_in(set, tags, key, &accept) {
            Err(Miss::REFUSED) => {
                let way = self.find_among(lanes::matching(tags, key.tag()), set, 0, key, accept).way()?;
                Ok((way, self.payload(way.slot)))
            }
            outcome => outcome,
        }
    }

    /// As [`Self::put`], for a base page of such a region.
    #[inline(always)]
    pub(crate) fn put_base(&mut self, way: Way, page: BasePage, payload: &P) {
        self.replace(way, page.0, payload);
    }

    /// The same where a set is one group.
    #[inline(always)]
    pub(crate) fn put_base_in_group(&mut self, group: usize, lane: usize, page: BasePage, payload: &P) -> usize {
        self.tags[group].0[lane % LANES] = page.0.tag();
        let way = Way::new(group, lane % LANES);
        self.replace_slot(way, page.0, payload);
        way.slot
    }

    /// As [`Self::put`], where the arrays are one set of pages of 2^`shift` bytes.
    #[inline(always)]
    pub(crate) fn put_in_only(&mut self, way: Way, address: u64, shift: u32, payload: &P) {
        self.replace(way, Key::new(address, shift), payload);
    }

    /// Puts a page where its region and its size are known to be looked for.
    #[inline(always)]
    fn replace(&mut self, way: Way, new: Key, payload: &P) {
        self.tag(way, new);
        self.replace_slot(way, new, payload);
    }

    #[inline(always)]
    fn replace_slot(&mut self, way: Way, new: Key, payload: &P) {
        let slot = &mut self.slots[way.slot];
        let old = core::mem::replace(&mut slot.key, new);
        slot.payload = *payload;
        if old.excess() != new.excess() {
            self.count(old, new);
        }
    }

    /// The slot that already holds a page (one of `size`, or its piece that is kept), of the payloads that `same` takes. `miss` is how the address was not found
    /// just before.
    #[inline(always)]
    pub(crate) fn same(&self, size: PageSize, address: u64, miss: Miss, same: impl Fn(&P) -> bool) -> Option<Way> {
        if miss == Miss::ABSENT { None } else { self.find_again(size, address, same) }
    }

    #[cold]
    #[inline(never)]
    fn find_again(&self, size: PageSize, address: u64, same: impl Fn(&P) -> bool) -> Option<Way> {
        self.find_at(self.home(size)?, address, same).way().ok()
    }

    /// Puts a page into a slot of its set.
    #[inline(always)]
    pub(crate) fn put(&mut self, way: Way, place: Place, address: u64, payload: &P) {
        let new = Key::new(address, place.shift);
        let slot = &mut self.slots[way.slot];
        let old = core::mem::replace(&mut slot.key, new);
        slot.payload = *payload;
        self.tag(way, new);
        if old.excess() != new.excess() {
            self.count(old, new);
        }
        self.candidates[region(address)] |= place.bit;
        if place.shift > REGION_SHIFT {
            self.include_all(place.bit);
        }
    }

    #[cold]
    #[inline(never)]
    fn include_all(&mut self, bit: u8) {
        self.candidates.iter_mut().for_each(|candidates| *candidates |= bit);
    }

    #[inline(always)]
    fn tag(&mut self, way: Way, key: Key) {
        self.tags[way.slot / LANES].0[way.slot % LANES] = key.tag();
    }

    #[cold]
    #[inline(never)]
    fn count(&mut self, old: Key, new: Key) {
        self.live[old.excess()] -= 1;
        self.live[new.excess()] += 1;
        if old != Key::NONE && self.live[old.excess()] == 0 {
            let of_old = |place: &&Place| place.shift as usize == PageSize::Size4K.shift() as usize + old.excess();
            let bit = self.places.iter().find(of_old).map_or(0, |place| place.bit);
            self.candidates.iter_mut().for_each(|candidates| *candidates &= !bit);
        }
    }

    /// Empties every slot whose payload `drops` names, and reports it.
    pub(crate) fn remove(&mut self, drops: impl Fn(&P) -> bool, mut removed: impl FnMut(&Way)) {
        if self.live[Key::NONE.excess()] as usize == self.slots.len() {
            return;
        }
        for array in 0..self.arrays.len() {
            let array = self.arrays[array];
            for set in (0..=array.mask).map(|index| array.nth(index)) {
                for way in (0..array.ways as usize).map(|way| Way::new(set, way)) {
                    let slot = &self.slots[way.slot];
                    if slot.key != Key::NONE && drops(&slot.payload) {
                        self.empty(&way, &mut removed);
                    }
                }
            }
        }
    }

    /// Empties every slot that holds a page of `address` and whose payload `drops` names, and reports it.
    pub(crate) fn remove_page(&mut self, address: u64, drops: impl Fn(&P) -> bool, mut removed: impl FnMut(&Way)) {
        while let Ok(way) = self.find(address, &drops).way() {
            self.empty(&way, &mut removed);
        }
    }

    fn empty(&mut self, way: &Way, removed: &mut impl FnMut(&Way)) {
        let old = core::mem::replace(&mut self.slots[way.slot].key, Key::NONE);
        self.tag(*way, Key::NONE);
        self.count(old, Key::NONE);
        removed(way);
    }
}
