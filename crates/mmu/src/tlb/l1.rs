//! A first-level TLB: exact LRU by the stamps of its windows, or another policy that learns from them (`learning.rs`).
//!
//! An entry has a line here (its translation), and a fast copy in each view's window. A copy is *armed* when it was
//! used in that view since the entry was filled and since the views were last disarmed; it answers nothing before. The
//! time of an entry's last use is the latest stamp of its armed copies, or the one kept when they were disarmed.

use super::learning::Learning;
use super::{Page, Translation};
use crate::config::TlbArray;
use crate::context::{Query, View};
use crate::raw::lanes::{self, LANES, Words};
use crate::raw::{Arming, L1Entry, Windows};
use crate::tlb::directory::{BasePage, Directory, Miss};
use crate::tlb::way::Way;
use types::{Access, Gva, PageSize};

/// An access, as a first-level TLB is asked for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made<'q> {
    pub(crate) gva: Gva,
    pub(crate) access: Access,
    pub(crate) query: &'q Query,
    /// Its time.
    pub(crate) stamp: u64,
}

/// What a fill did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filled {
    /// Where the page is kept.
    pub(crate) slot: usize,
    pub(crate) kept: Translation,
    /// The page that gave way.
    pub(crate) evicted: Option<Page>,
}

/// A first-level TLB, of loads and stores or of fetches.
#[derive(Debug)]
pub(crate) struct L1 {
    directory: Directory<Translation>,
    /// By slot / [`LANES`].
    uses: Box<[Uses]>,
    windows: Windows,
    /// Policies that are not LRU.
    learning: Option<Box<Learning>>,
}

/// When the entries of a group of slots were used.
#[derive(Clone, Copy, Debug)]
struct Uses {
    /// Time of the last use before the latest disarming. An empty slot has 0, and is taken first; padding has the
    /// latest time there is, and is never replaced.
    last: Words,
    /// Views in which the fast copy is armed, one bit each, a byte for each entry: their stamps count as well. (One word, because the whole
    /// of it is read soon after a byte of it changes.)
    armed: u32,
}

/// The time that padding has.
const NEVER_REPLACED: u64 = i64::MAX.cast_unsigned();

impl Uses {
    fn unused(ways: usize) -> Self {
        Self { last: core::array::from_fn(|lane| if lane < ways { 0 } else { NEVER_REPLACED }), armed: 0 }
    }

    /// Whether every entry is armed in that view, and in no other.
    #[inline(always)]
    fn all_armed_in(&self, view: View) -> bool {
        self.armed == u32::from_le_bytes([view.bit(); LANES])
    }

    /// Views in which an entry is armed.
    #[inline(always)]
    fn armed(&self, lane: usize) -> u8 {
        (self.armed >> (8 * lane)) as u8
    }

    #[inline(always)]
    fn arm(&mut self, lane: usize, view: View) {
        self.armed |= u32::from(view.bit()) << (8 * lane);
    }

    /// Forgets that an entry is armed; the views in which it was.
    fn disarm(&mut self, lane: usize) -> u8 {
        let views = self.armed(lane);
        self.armed &= !(0xff << (8 * lane));
        views
    }
}

impl L1 {
    /// An empty TLB with that many views. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray], views: usize) -> Self {
        let mut directory = Directory::new(arrays);
        directory.base_in_group_or_nowhere();
        let groups = |array: &TlbArray| {
            let ways = array.ways as usize;
            let set = (0..ways).step_by(LANES).map(move |first| Uses::unused(ways - first));
            core::iter::repeat_n(set, array.sets as usize).flatten()
        };
        let uses: Box<[Uses]> = arrays.iter().flat_map(groups).collect();
        let learning = Learning::new(arrays, uses.len());
        if learning.is_some() {
            // The fast path replaces by the stamps.
            directory.base_nowhere();
        }
        Self { uses, learning, windows: Windows::new(views, directory.slots()), directory }
    }

    /// The fast copies of a view.
    #[inline(always)]
    pub(crate) fn window(&self, view: View) -> *mut L1Entry {
        self.windows.window(view)
    }

    /// What a fetch reads, if the entry at `site` answers in that view.
    #[inline(always)]
    pub(crate) fn execute_hit(&mut self, view: View, site: u16, gva: Gva, stamp: u64) -> Option<*mut u8> {
        self.windows.execute_hit(view, site, gva, stamp)
    }

    /// What is kept in a slot.
    #[inline(always)]
    pub(crate) fn entry(&self, slot: usize) -> &Translation {
        self.directory.payload(slot)
    }

    /// Number of sites.
    pub(crate) fn slots(&self) -> usize {
        self.directory.slots()
    }

    /// The first entry, in the order of lookup, that answers.
    #[inline(always)]
    pub(crate) fn find(&self, gva: Gva, query: &Query) -> Result<usize, Miss> {
        Ok(self.directory.find(gva.0, |entry| entry.answers(query)).way()?.slot)
    }

    /// Whether in a region there are base pages and nothing else, in sets of one group.
    #[inline(always)]
    pub(crate) fn has_base_alone(&self, region: usize) -> bool {
        self.directory.has_base_alone(region)
    }

    /// As [`Self::find`], for a page of such a region, at a [glance](Directory::glance_base).
    #[inline(always)]
    pub(crate) fn glance_base(&self, page: BasePage, query: &Query) -> Result<(usize, &Translation), Miss> {
        let (way, entry) = self.directory.glance_base_in_group(page, |entry| entry.answers(query))?;
        Ok((way.slot, entry))
    }

    /// As [`Self::fill`], of a base page of such a region that is memory, and absent. (The same steps, without those for what is rare.)
    /// Returns where it is kept. `FETCH` says whether the access is a fetch.
    #[inline(always)]
    pub(crate) fn fill_base<const FETCH: bool>(
        &mut self,
        page: BasePage,
        made: Made<'_>,
        translation: &Translation,
    ) -> usize {
        let Made { gva, access, query, stamp } = made;
        let set = self.directory.base_group(page);
        if !self.uses[set].all_armed_in(query.view) {
            return self.fill_rarely((gva, access), query, stamp, translation.words());
        }
        let mut group = self.windows.group(query.view, set);
        let (_, lane) = lanes::least_gathered(group.stamps());
        group.arm(lane, arming(translation, PageSize::Size4K, made, FETCH), stamp);
        self.directory.put_base_in_group(set, lane, page, translation)
    }

    /// The access comes in parts for the same reason as the [words](Translation::words).
    #[inline(never)]
    fn fill_rarely(&mut self, (gva, access): (Gva, Access), query: &Query, stamp: u64, translation: [u64; 4]) -> usize {
        let made = Made { gva, access, query, stamp };
        self.fill(made, Miss::ABSENT, &Translation::of_words(translation)).slot
    }

    /// Keeps the piece of a translation that the level takes, in the place of the same page, in an empty slot or in that of the
    /// page that the policy chooses, and arms its copy in the view of the query. `miss` is how the address was not found just before.
    #[inline(always)]
    pub(crate) fn fill(&mut self, made: Made<'_>, miss: Miss, translation: &Translation) -> Filled {
        let Self { directory, uses, windows, learning } = self;
        let (gva, view) = (made.gva, made.query.view);
        let place = *directory.home(translation.size()).expect("an L1 takes 4K pages: the configuration was checked");
        let space = translation.space();
        let (way, evicted) = match directory.same(translation.size(), gva.0, miss, |other| other.space() == space) {
            Some(way) => (way, None),
            None => {
                let set = place.set(gva.0);
                let way = match learning {
                    None => Way::new(set, oldest(&uses[set..][..place.groups()], set * LANES, windows, view)),
                    Some(learning) => {
                        let empty = directory.find_empty(set, place.ways as usize);
                        learning.insert(set, empty, made.stamp, |slot| last_use_of(windows, uses, slot))
                    }
                };
                let occupant = directory.occupant(way.slot);
                (way, occupant.map(|(page, translation)| Page { first: Gva(page), translation }))
            }
        };
        let slot = way.slot;
        // The copy in this view is overwritten when the slot is armed.
        let (uses, lane) = (&mut uses[slot / LANES], slot % LANES);
        if uses.armed(lane) & !view.bit() != 0 {
            disarm(windows, slot, uses, lane);
        }
        let kept = translation.piece(gva, place.size);
        directory.put(way, place, gva.0, &kept);
        arm(windows, uses, slot, &kept, made);
        Filled { slot, kept, evicted }
    }

    /// Records a use of an entry that was found, and returns the translation.
    #[inline(always)]
    pub(crate) fn touch(&mut self, slot: usize, made: Made<'_>) -> Translation {
        let entry = *self.directory.payload(slot);
        // Mostly it was only not the predicted one.
        if !self.windows.touch(made.query.view, slot, made.gva, made.access, made.stamp) {
            arm(&mut self.windows, &mut self.uses[slot / LANES], slot, &entry, made);
        }
        entry
    }

    /// Disarms every entry in every view: what the views were armed for has changed.
    pub(crate) fn disarm_all(&mut self) {
        for (group, uses) in self.uses.iter_mut().enumerate() {
            if uses.armed != 0 {
                (0..LANES).for_each(|lane| disarm(&mut self.windows, group * LANES + lane, uses, lane));
            }
        }
    }

    /// Renumbers the times of last use from 1 on, in their order, and returns the greatest.
    pub(crate) fn renumber(&mut self) -> u64 {
        self.disarm_all();
        if let Some(learning) = &mut self.learning {
            learning.learn_all(|slot| last_use_of(&self.windows, &self.uses, slot));
        }
        let mut times: Vec<&mut u64> = self.uses.iter_mut().flat_map(|uses| &mut uses.last).collect();
        // Empty slots and padding keep theirs, which are no times.
        times.retain(|time| (1..NEVER_REPLACED).contains(*time));
        times.sort_unstable();
        let (mut before, mut rank) = (0, 0);
        for time in times {
            rank += u64::from(*time != before);
            before = core::mem::replace(time, rank);
        }
        if let Some(learning) = &mut self.learning {
            learning.renumbered(rank);
        }
        rank
    }

    /// What it holds: the first byte of each page, and its translation.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (Gva, &Translation)> {
        self.directory.pages().map(|(page, entry)| (Gva(page), entry))
    }

    /// The same from the least to the most recently used page.
    pub(crate) fn pages_by_age(&self) -> Vec<(Gva, Translation)> {
        let last = |slot| last_use_of(&self.windows, &self.uses, slot);
        let mut pages: Vec<_> =
            self.directory.held().map(|(way, page, entry)| (last(way.slot), Gva(page), *entry)).collect();
        pages.sort_by_key(|&(time, ..)| time);
        pages.into_iter().map(|(_, page, entry)| (page, entry)).collect()
    }

    /// Drops the entries that `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(&Translation) -> bool) {
        let Self { directory, uses, windows, learning } = self;
        directory.remove(drops, |way| empty(windows, uses, learning.as_deref_mut(), way));
    }

    /// Drops the entries for pages of `gva` that `drops` names.
    pub(crate) fn remove_page(&mut self, gva: Gva, drops: impl Fn(&Translation) -> bool) {
        let Self { directory, uses, windows, learning } = self;
        directory.remove_page(gva.0, drops, |way| empty(windows, uses, learning.as_deref_mut(), way));
    }
}

/// Records a use of an entry, which is `entry`, and arms its copy in the view of the query.
#[inline(always)]
fn arm(windows: &mut Windows, uses: &mut Uses, slot: usize, entry: &Translation, made: Made<'_>) {
    if entry.host == 0 || entry.size() > made.query.largest {
        let Made { gva, access, query, stamp } = made;
        return PartialUse { slot, entry: entry.words(), access, stamp }.arm(windows, uses, gva, query);
    }
    arm_whole(windows, uses, slot, entry, made);
}

/// A use of an entry that is armed in part or not at all: it is not memory, or too large for the mode. (It is a structure of its
/// own, made on this path alone, so that on the others its fields stay in registers.)
struct PartialUse {
    slot: usize,
    entry: [u64; 4],
    access: Access,
    stamp: u64,
}

impl PartialUse {
    /// See [`arm`].
    #[cold]
    #[inline(never)]
    fn arm(self, windows: &mut Windows, uses: &mut Uses, gva: Gva, query: &Query) {
        let Self { slot, entry, access, stamp } = self;
        let entry = Translation::of_words(entry);
        if entry.host == 0 {
            // Each access comes this way.
            disarm(windows, slot, uses, slot % LANES);
            uses.last[slot % LANES] = stamp;
        } else {
            let made = Made { gva, access, query, stamp };
            arm_whole(windows, uses, slot, &entry.piece(gva, query.largest), made);
        }
    }
}

#[inline(always)]
fn arm_whole(windows: &mut Windows, uses: &mut Uses, slot: usize, entry: &Translation, made: Made<'_>) {
    uses.arm(slot % LANES, made.query.view);
    arm_copy(windows, slot, entry, made);
}

/// Makes the fast copy of an entry in the view of the query answer what the entry permits.
#[inline(always)]
fn arm_copy(windows: &mut Windows, slot: usize, entry: &Translation, made: Made<'_>) {
    windows.arm(made.query.view, slot, arming(entry, entry.size(), made, made.access == Access::Execute), made.stamp);
}

/// What an entry, whose page is of that size, is to answer in the view of the query.
#[inline(always)]
fn arming(entry: &Translation, size: PageSize, made: Made<'_>, fetch: bool) -> Arming {
    let Made { gva, query, .. } = made;
    let (host, rights) = (entry.host, entry.rights());
    let (read, write) = if fetch { (true, false) } else { (rights.meet(query.load), rights.meet(query.store)) };
    Arming { gva, size, host, read, write }
}

/// The way of a set, which begins at the slot `first`, whose last use is longest ago.
#[inline(always)]
fn oldest(set: &[Uses], first: usize, windows: &Windows, view: View) -> usize {
    if let [group] = set {
        return oldest_of_group(windows, first, group, view).1;
    }
    oldest_of_groups(set, first, windows, view)
}

#[inline(never)]
fn oldest_of_groups(set: &[Uses], first: usize, windows: &Windows, view: View) -> usize {
    let (mut oldest, mut earliest) = (0, u64::MAX);
    for (number, group) in set.iter().enumerate() {
        let (time, lane) = oldest_of_group(windows, first + number * LANES, group, view);
        if time < earliest {
            (earliest, oldest) = (time, number * LANES + lane);
        }
    }
    oldest
}

/// The last use of a group's entries that is longest ago, and its lane.
#[inline(always)]
fn oldest_of_group(windows: &Windows, first: usize, uses: &Uses, view: View) -> (u64, usize) {
    // Most are armed in the current view alone.
    let times = if uses.all_armed_in(view) { windows.stamps(view, first) } else { last_uses(windows, first, uses) };
    lanes::least_gathered(times)
}

/// Times of the last uses of the entries of a group.
#[inline(never)]
fn last_uses(windows: &Windows, first: usize, uses: &Uses) -> Words {
    core::array::from_fn(|lane| last_use(windows, first + lane, uses, lane))
}

/// Time of the last use of an entry.
fn last_use(windows: &Windows, slot: usize, uses: &Uses, lane: usize) -> u64 {
    View::of_bits(uses.armed(lane)).map(|view| windows.stamp(view, slot)).fold(uses.last[lane], u64::max)
}

/// The same of any slot.
fn last_use_of(windows: &Windows, uses: &[Uses], slot: usize) -> u64 {
    last_use(windows, slot, &uses[slot / LANES], slot % LANES)
}

/// Makes an entry answer nothing in any view; it keeps its time.
#[inline(never)]
fn disarm(windows: &mut Windows, slot: usize, uses: &mut Uses, lane: usize) {
    uses.last[lane] = last_use(windows, slot, uses, lane);
    View::of_bits(uses.disarm(lane)).for_each(|view| windows.disarm(view, slot));
}

/// Makes an entry that is empty now answer nothing, and the first to be replaced.
fn empty(windows: &mut Windows, uses: &mut [Uses], learning: Option<&mut Learning>, way: &Way) {
    if let Some(learning) = learning {
        learning.invalidate(way, |slot| last_use_of(windows, uses, slot));
    }
    let slot = way.slot;
    let (uses, lane) = (&mut uses[slot / LANES], slot % LANES);
    disarm(windows, slot, uses, lane);
    uses.last[lane] = 0;
}
