//! The tag side of set-associative arrays: which slot holds a page.

use crate::config::TlbArray;
use core::ops::Range;
use types::PageSize;

/// A page of some size, in one word: its number, a one, and a zero for each bit by which it exceeds 4K.
/// No page has the key zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Key(u64);

impl Key {
    const NONE: Self = Self(0);

    /// The page of `size` that holds `address`.
    #[inline(always)]
    pub(crate) const fn new(address: u64, size: PageSize) -> Self {
        Self(((address >> size.shift() << 1) | 1) << (size.shift() - 12))
    }

    /// Whether two keys are of pages of one size; neither is `NONE`.
    #[inline(always)]
    const fn same_size(self, other: Self) -> bool {
        self.0.trailing_zeros() == other.0.trailing_zeros()
    }

    /// The page's size; `None` for no page.
    fn size(self) -> Option<PageSize> {
        PageSize::ALL.into_iter().find(|size| self.0.trailing_zeros() + 12 == size.shift())
    }
}

/// Keys are compared four at a time (one AVX2 comparison), so a set's ways are padded with keys that stay `NONE`.
const LANES: usize = 4;

/// Ways whose key is `key`, as a bit mask.
#[inline(always)]
fn matches(lanes: &[Key; LANES], key: Key) -> u32 {
    let mut mask = 0;
    for (lane, &other) in lanes.iter().enumerate() {
        mask |= u32::from(other == key) << lane;
    }
    mask
}

/// Where pages of one size are kept.
#[derive(Clone, Debug)]
struct Probe {
    size: PageSize,
    /// First slot of the array.
    base: usize,
    /// Sets − 1.
    mask: u64,
    ways: usize,
    /// Slots from set to set: the ways, padded.
    stride: usize,
    /// Slots that hold a page of this size; a size that nobody has is not looked up.
    live: u32,
}

impl Probe {
    #[inline(always)]
    fn first_slot(&self, address: u64) -> usize {
        self.base + ((address >> self.size.shift()) & self.mask) as usize * self.stride
    }
}

/// The slots of a level: several arrays, each set-associative, with a payload of `P` per slot.
#[derive(Debug)]
pub(crate) struct Directory<P> {
    /// In the order of lookup: the arrays as listed, in each the sizes ascending.
    probes: Vec<Probe>,
    /// Probes with a page of their size, one bit each: the others are not looked up.
    alive: u32,
    keys: Box<[Key]>,
    payloads: Box<[P]>,
    /// By page size: the size at which a page is kept.
    fits: [Option<PageSize>; PageSize::ALL.len()],
    /// By a size that is kept: its probe.
    probe_of: [u8; PageSize::ALL.len()],
}

impl<P: Copy + Default> Directory<P> {
    /// Empty arrays. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray]) -> Self {
        let mut probes = Vec::new();
        let mut slots = 0;
        for array in arrays {
            let ways = array.ways as usize;
            let stride = ways.next_multiple_of(LANES);
            let mut sizes = array.sizes.clone();
            sizes.sort_unstable();
            probes.extend(sizes.into_iter().map(|size| Probe {
                size,
                base: slots,
                mask: u64::from(array.sets) - 1,
                ways,
                stride,
                live: 0,
            }));
            slots += array.sets as usize * stride;
        }
        let mut fits = [None; PageSize::ALL.len()];
        let mut probe_of = [0; PageSize::ALL.len()];
        let mut largest = None;
        for size in PageSize::ALL {
            if let Some(index) = probes.iter().position(|probe| probe.size == size) {
                largest = Some(size);
                probe_of[size as usize] = index as u8;
            }
            fits[size as usize] = largest;
        }
        Self {
            probes,
            alive: 0,
            keys: vec![Key::NONE; slots].into_boxed_slice(),
            payloads: vec![P::default(); slots].into_boxed_slice(),
            fits,
            probe_of,
        }
    }

    /// Slots, the padding among them.
    pub(crate) fn slots(&self) -> usize {
        self.keys.len()
    }

    /// The largest size not above `size` that an array takes.
    #[inline(always)]
    pub(crate) fn fit(&self, size: PageSize) -> Option<PageSize> {
        self.fits[size as usize]
    }

    /// The payload of a slot.
    #[inline(always)]
    pub(crate) fn payload(&self, slot: usize) -> &P {
        &self.payloads[slot]
    }

    /// The first slot, in the order of lookup, that holds a page of `address` which `accept` takes.
    #[inline(always)]
    pub(crate) fn find(&self, address: u64, accept: impl Fn(&P) -> bool) -> Option<usize> {
        let mut alive = self.alive;
        while alive != 0 {
            let probe = &self.probes[alive.trailing_zeros() as usize];
            let first = probe.first_slot(address);
            if let Some(slot) = self.find_in(first, probe.stride, Key::new(address, probe.size), &accept) {
                return Some(slot);
            }
            alive &= alive - 1;
        }
        None
    }

    #[inline(always)]
    fn find_in(&self, first: usize, stride: usize, key: Key, accept: impl Fn(&P) -> bool) -> Option<usize> {
        let (lanes, _) = self.keys[first..first + stride].as_chunks::<LANES>();
        for (chunk, lanes) in lanes.iter().enumerate() {
            let mut mask = matches(lanes, key);
            while mask != 0 {
                let slot = first + chunk * LANES + mask.trailing_zeros() as usize;
                if accept(&self.payloads[slot]) {
                    return Some(slot);
                }
                mask &= mask - 1;
            }
        }
        None
    }

    /// Where a page is to be kept: the slot that already holds it (of the payloads that `same` takes), else the first
    /// empty one of its set, else the one that `oldest` chooses. `size` is one that `fit` returned.
    #[inline(always)]
    pub(crate) fn place(
        &self,
        address: u64,
        size: PageSize,
        same: impl Fn(&P) -> bool,
        oldest: impl FnOnce(Range<usize>) -> usize,
    ) -> usize {
        let probe = &self.probes[usize::from(self.probe_of[size as usize])];
        let first = probe.first_slot(address);
        let set = first..first + probe.ways;
        self.find_in(first, probe.stride, Key::new(address, size), same)
            .or_else(|| self.keys[set.clone()].iter().position(|&key| key == Key::NONE).map(|way| first + way))
            .unwrap_or_else(|| oldest(set))
    }

    /// Puts a page into a slot that `place` returned.
    #[inline(always)]
    pub(crate) fn put(&mut self, slot: usize, address: u64, size: PageSize, payload: P) {
        let old = self.keys[slot];
        let new = Key::new(address, size);
        if old == Key::NONE || !old.same_size(new) {
            self.count(old, -1);
            self.count(new, 1);
        }
        self.keys[slot] = new;
        self.payloads[slot] = payload;
    }

    #[cold]
    fn count(&mut self, key: Key, by: i32) {
        if let Some(size) = key.size() {
            let index = usize::from(self.probe_of[size as usize]);
            let probe = &mut self.probes[index];
            probe.live = probe.live.wrapping_add_signed(by);
            let bit = 1 << index;
            self.alive = if probe.live == 0 { self.alive & !bit } else { self.alive | bit };
        }
    }

    /// Empties every slot whose payload `drops` names, and reports it.
    pub(crate) fn remove(&mut self, drops: impl Fn(&P) -> bool, mut removed: impl FnMut(usize)) {
        if self.alive == 0 {
            return;
        }
        for slot in 0..self.keys.len() {
            if self.keys[slot] != Key::NONE && drops(&self.payloads[slot]) {
                self.clear(slot);
                removed(slot);
            }
        }
    }

    /// Empties every slot that holds a page of `address` and whose payload `drops` names, and reports it.
    pub(crate) fn remove_page(&mut self, address: u64, drops: impl Fn(&P) -> bool, mut removed: impl FnMut(usize)) {
        for index in 0..self.probes.len() {
            let probe = &self.probes[index];
            if probe.live == 0 {
                continue;
            }
            let key = Key::new(address, probe.size);
            let first = probe.first_slot(address);
            for slot in first..first + probe.ways {
                if self.keys[slot] == key && drops(&self.payloads[slot]) {
                    self.clear(slot);
                    removed(slot);
                }
            }
        }
    }

    fn clear(&mut self, slot: usize) {
        self.count(self.keys[slot], -1);
        self.keys[slot] = Key::NONE;
    }

    /// The payloads that are in use, with their slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &P)> {
        let used = self.keys.iter().enumerate().filter(|&(_, &key)| key != Key::NONE);
        used.map(|(slot, _)| (slot, &self.payloads[slot]))
    }
}
