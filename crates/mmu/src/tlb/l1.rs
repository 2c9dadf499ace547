//! A first-level TLB: exact LRU by the stamps of its fast copies, or another policy that learns from them (`learning.rs`).
//!
//! An entry has a line here (its translation), and a fast copy in each view's view. A copy is *valid* when it was
//! used in that view since the entry was filled and since the views were last invalidated; it answers nothing before. The
//! time of an entry's last use is the latest stamp of its valid copies, or the one kept when they were invalidated.

use super::learning::Learning;
use super::{Page, Translation};
use crate::config::TlbArray;
use crate::context::{Query, View};
use crate::raw::lanes::{self, LANES, Words};
use crate::raw::{Answers, FastCopies, L1Entry};
use crate::space::Space;
use crate::tlb::tag_array::{BasePage, Miss, TagArray};
use crate::tlb::way::Way;
use types::{Access, Gva, PageSize};

/// An access, as a lookup in a first-level TLB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'q> {
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
    tag_array: TagArray<Translation>,
    /// By slot / [`LANES`].
    uses: Box<[Uses]>,
    copies: FastCopies,
    /// Policies that are not LRU.
    learning: Option<Box<Learning>>,
}

/// When the entries of a group of slots were used.
#[derive(Clone, Copy, Debug)]
struct Uses {
    /// Time of the last use before the latest invalidation. An empty slot has 0, and is taken first; padding has the
    /// latest time there is, and is never replaced.
    last: Words,
    /// Views in which the fast copy is valid, one bit each, a byte for each entry: their stamps count as well. (One word, because the whole
    /// of it is read soon after a byte of it changes.)
    valid: u32,
}

/// The time that padding has.
const NEVER_REPLACED: u64 = i64::MAX.cast_unsigned();

impl Uses {
    fn unused(ways: usize) -> Self {
        Self { last: core::array::from_fn(|lane| if lane < ways { 0 } else { NEVER_REPLACED }), valid: 0 }
    }

    /// Whether every entry is valid in that view, and in no other.
    #[inline(always)]
    fn all_valid_in(&self, view: View) -> bool {
        self.valid == u32::from_le_bytes([view.bit(); LANES])
    }

    /// Views in which an entry is valid.
    #[inline(always)]
    fn valid(&self, lane: usize) -> u8 {
        (self.valid >> (8 * lane)) as u8
    }

    #[inline(always)]
    fn validate(&mut self, lane: usize, view: View) {
        self.valid |= u32::from(view.bit()) << (8 * lane);
    }

    /// Forgets that an entry is valid; the views in which it was.
    fn invalidate(&mut self, lane: usize) -> u8 {
        let views = self.valid(lane);
        self.valid &= !(0xff << (8 * lane));
        views
    }
}

impl L1 {
    /// An empty TLB with that many views. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray], views: usize) -> Self {
        let mut tag_array = TagArray::new(arrays);
        tag_array.base_in_group_or_nowhere();
        let groups = |array: &TlbArray| {
            let ways = array.ways as usize;
            let set = (0..ways).step_by(LANES).map(move |first| Uses::unused(ways - first));
            core::iter::repeat_n(set, array.sets as usize).flatten()
        };
        let uses: Box<[Uses]> = arrays.iter().flat_map(groups).collect();
        let learning = Learning::new(arrays, uses.len());
        if learning.is_some() {
            // The fast path replaces by the stamps.
            tag_array.base_nowhere();
        }
        Self { uses, learning, copies: FastCopies::new(views, tag_array.slots()), tag_array }
    }

    /// The fast copies of a view.
    #[inline(always)]
    pub(crate) fn view(&self, view: View) -> *mut L1Entry {
        self.copies.view(view)
    }

    /// Stores to the page of 4 KiB at `host` are no longer plain, in any view.
    pub(crate) fn forbid_plain_stores(&mut self, host: *const u8) {
        self.copies.forbid_plain_stores(host);
    }

    /// What a fetch reads, if the entry at `slot` answers in that view.
    #[inline(always)]
    pub(crate) fn execute_hit(&mut self, view: View, slot: u16, gva: Gva, stamp: u64) -> Option<*mut u8> {
        self.copies.execute_hit(view, slot, gva, stamp)
    }

    /// What is kept in a slot.
    #[inline(always)]
    pub(crate) fn entry(&self, slot: usize) -> &Translation {
        self.tag_array.payload(slot)
    }

    /// Number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.tag_array.slots()
    }

    /// The first entry, in the order of lookup, that answers.
    #[inline(always)]
    pub(crate) fn find(&self, gva: Gva, query: &Query) -> Result<usize, Miss> {
        Ok(self.tag_array.find(gva.0, |entry| entry.answers(query)).way()?.slot)
    }

    /// The entry of a page of one space, whatever it permits.
    pub(crate) fn find_in_space(&self, gva: Gva, space: Space) -> Result<usize, Miss> {
        Ok(self.tag_array.find(gva.0, |entry| entry.space() == space).way()?.slot)
    }

    /// Whether in a region there are base pages and nothing else, in sets of one group.
    #[inline(always)]
    pub(crate) fn has_base_alone(&self, region: usize) -> bool {
        self.tag_array.has_base_alone(region)
    }

    /// As [`Self::find`], for a page of such a region, at a [probe](TagArray::probe_base_in_group).
    #[inline(always)]
    pub(crate) fn probe_base(&self, page: BasePage, query: &Query) -> Result<(usize, &Translation), Miss> {
        let (way, entry) = self.tag_array.probe_base_in_group(page, |entry| entry.answers(query))?;
        Ok((way.slot, entry))
    }

    /// As [`Self::fill`], of a base page of such a region that is memory, and absent. (The same steps, without those for what is rare.)
    /// Returns where it is kept. `FETCH` says whether the access is a fetch.
    #[inline(always)]
    pub(crate) fn fill_base<const FETCH: bool>(
        &mut self,
        page: BasePage,
        request: Request<'_>,
        translation: &Translation,
    ) -> usize {
        let Request { gva, access, query, stamp } = request;
        let set = self.tag_array.base_group(page);
        if !self.uses[set].all_valid_in(query.view) {
            return self.fill_rarely((gva, access), query, stamp, translation.words());
        }
        let mut group = self.copies.group(query.view, set);
        let (_, lane) = lanes::least_gathered(group.stamps());
        group.validate(lane, answers(translation, PageSize::Size4K, request, FETCH), stamp);
        self.tag_array.put_base_in_group(set, lane, page, translation)
    }

    /// The access comes in parts for the same reason as the [words](Translation::words).
    #[inline(never)]
    fn fill_rarely(&mut self, (gva, access): (Gva, Access), query: &Query, stamp: u64, translation: [u64; 4]) -> usize {
        let request = Request { gva, access, query, stamp };
        self.fill(request, Miss::ABSENT, &Translation::of_words(translation)).slot
    }

    /// Keeps the piece of a translation that the level takes, in the place of the same page, in an empty slot or in that of the
    /// page that the policy chooses, and arms its copy in the view of the query. `miss` is how the address was not found just before.
    #[inline(always)]
    pub(crate) fn fill(&mut self, request: Request<'_>, miss: Miss, translation: &Translation) -> Filled {
        let Self { tag_array, uses, copies, learning } = self;
        let (gva, view) = (request.gva, request.query.view);
        let place = *tag_array.home(translation.size()).expect("an L1 takes 4K pages: the configuration was checked");
        let space = translation.space();
        let (way, evicted) = match tag_array.same(translation.size(), gva.0, miss, |other| other.space() == space) {
            Some(way) => (way, None),
            None => {
                let set = place.set(gva.0);
                let way = match learning {
                    None => Way::new(set, oldest(&uses[set..][..place.groups()], set * LANES, copies, view)),
                    Some(learning) => {
                        let empty = tag_array.find_empty(set, place.ways as usize);
                        learning.insert(set, empty, request.stamp, |slot| last_use_of(copies, uses, slot))
                    }
                };
                let occupant = tag_array.occupant(way.slot);
                (way, occupant.map(|(page, translation)| Page { first: Gva(page), translation }))
            }
        };
        let slot = way.slot;
        // The copy in this view is overwritten when the slot is valid.
        let (uses, lane) = (&mut uses[slot / LANES], slot % LANES);
        if uses.valid(lane) & !view.bit() != 0 {
            invalidate(copies, slot, uses, lane);
        }
        let kept = translation.piece(gva, place.size);
        tag_array.put(way, place, gva.0, &kept);
        validate(copies, uses, slot, &kept, request);
        Filled { slot, kept, evicted }
    }

    /// Records a use of an entry that was found, and returns the translation.
    #[inline(always)]
    pub(crate) fn touch(&mut self, slot: usize, request: Request<'_>) -> Translation {
        let entry = *self.tag_array.payload(slot);
        // Mostly it was only not the predicted one.
        if !self.copies.touch(request.query.view, slot, request.gva, request.access, request.stamp) {
            validate(&mut self.copies, &mut self.uses[slot / LANES], slot, &entry, request);
        }
        entry
    }

    /// Invalidates every entry in every view: what the views were valid for has changed.
    pub(crate) fn invalidate_views(&mut self) {
        for (group, uses) in self.uses.iter_mut().enumerate() {
            if uses.valid != 0 {
                (0..LANES).for_each(|lane| invalidate(&mut self.copies, group * LANES + lane, uses, lane));
            }
        }
    }

    /// Renumbers the times of last use from 1 on, in their order, and returns the greatest.
    pub(crate) fn renumber(&mut self) -> u64 {
        self.invalidate_views();
        if let Some(learning) = &mut self.learning {
            learning.learn_all(|slot| last_use_of(&self.copies, &self.uses, slot));
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
        self.tag_array.pages().map(|(page, entry)| (Gva(page), entry))
    }

    /// The pages that it holds, from the least to the most recently used one, each with its translation.
    pub(crate) fn pages_by_age(&self) -> Vec<(Gva, Translation)> {
        let last = |slot| last_use_of(&self.copies, &self.uses, slot);
        let mut pages: Vec<_> =
            self.tag_array.held().map(|(way, page, entry)| (last(way.slot), Gva(page), *entry)).collect();
        pages.sort_by_key(|&(time, ..)| time);
        pages.into_iter().map(|(_, page, entry)| (page, entry)).collect()
    }

    /// Drops the entries that `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(&Translation) -> bool) {
        let Self { tag_array, uses, copies, learning } = self;
        tag_array.remove(drops, |way| empty(copies, uses, learning.as_deref_mut(), way));
    }

    /// Drops the entries for pages of `gva` that `drops` names.
    pub(crate) fn remove_page(&mut self, gva: Gva, drops: impl Fn(&Translation) -> bool) {
        let Self { tag_array, uses, copies, learning } = self;
        tag_array.remove_page(gva.0, drops, |way| empty(copies, uses, learning.as_deref_mut(), way));
    }
}

/// Records a use of an entry, which is `entry`, and makes its copy in the view of the query valid.
#[inline(always)]
fn validate(copies: &mut FastCopies, uses: &mut Uses, slot: usize, entry: &Translation, request: Request<'_>) {
    if entry.host == 0 || entry.size() > request.query.largest {
        let Request { gva, access, query, stamp } = request;
        return PartialUse { slot, entry: entry.words(), access, stamp }.validate(copies, uses, gva, query);
    }
    validate_whole(copies, uses, slot, entry, request);
}

/// A use of an entry that is valid in part or not at all: it is not memory, or too large for the mode. (It is a structure of its
/// own, made on this path alone, so that on the others its fields stay in registers.)
struct PartialUse {
    slot: usize,
    entry: [u64; 4],
    access: Access,
    stamp: u64,
}

impl PartialUse {
    /// Records the use, and makes the piece of the page that is not too large valid. An entry that is not memory has no valid copy.
    #[cold]
    #[inline(never)]
    fn validate(self, copies: &mut FastCopies, uses: &mut Uses, gva: Gva, query: &Query) {
        let Self { slot, entry, access, stamp } = self;
        let entry = Translation::of_words(entry);
        if entry.host == 0 {
            // Each access comes this way.
            invalidate(copies, slot, uses, slot % LANES);
            uses.last[slot % LANES] = stamp;
        } else {
            let request = Request { gva, access, query, stamp };
            validate_whole(copies, uses, slot, &entry.piece(gva, query.largest), request);
        }
    }
}

#[inline(always)]
fn validate_whole(copies: &mut FastCopies, uses: &mut Uses, slot: usize, entry: &Translation, request: Request<'_>) {
    uses.validate(slot % LANES, request.query.view);
    validate_copy(copies, slot, entry, request);
}

/// Makes the fast copy of an entry in the view of the query answer what the entry permits.
#[inline(always)]
fn validate_copy(copies: &mut FastCopies, slot: usize, entry: &Translation, request: Request<'_>) {
    copies.validate(
        request.query.view,
        slot,
        answers(entry, entry.size(), request, request.access == Access::Execute),
        request.stamp,
    );
}

/// What an entry, whose page is of that size, is to answer in the view of the query.
#[inline(always)]
fn answers(entry: &Translation, size: PageSize, request: Request<'_>, fetch: bool) -> Answers {
    let Request { gva, query, .. } = request;
    let (host, rights) = (entry.host, entry.rights());
    let (read, write) = if fetch { (true, false) } else { (rights.meet(query.load), rights.meet(query.store)) };
    Answers { gva, size, host, read, write }
}

/// The way of a set, which begins at the slot `first`, whose last use is longest ago.
#[inline(always)]
fn oldest(set: &[Uses], first: usize, copies: &FastCopies, view: View) -> usize {
    if let [group] = set {
        return oldest_of_group(copies, first, group, view).1;
    }
    oldest_of_groups(set, first, copies, view)
}

#[inline(never)]
fn oldest_of_groups(set: &[Uses], first: usize, copies: &FastCopies, view: View) -> usize {
    let (mut oldest, mut earliest) = (0, u64::MAX);
    for (number, group) in set.iter().enumerate() {
        let (time, lane) = oldest_of_group(copies, first + number * LANES, group, view);
        if time < earliest {
            (earliest, oldest) = (time, number * LANES + lane);
        }
    }
    oldest
}

/// The last use of a group's entries that is longest ago, and its lane.
#[inline(always)]
fn oldest_of_group(copies: &FastCopies, first: usize, uses: &Uses, view: View) -> (u64, usize) {
    // Most are valid in the current view alone.
    let times = if uses.all_valid_in(view) { copies.stamps(view, first) } else { last_uses(copies, first, uses) };
    lanes::least_gathered(times)
}

/// Times of the last uses of the entries of a group.
#[inline(never)]
fn last_uses(copies: &FastCopies, first: usize, uses: &Uses) -> Words {
    core::array::from_fn(|lane| last_use(copies, first + lane, uses, lane))
}

/// Time of the last use of an entry.
fn last_use(copies: &FastCopies, slot: usize, uses: &Uses, lane: usize) -> u64 {
    View::of_bits(uses.valid(lane)).map(|view| copies.stamp(view, slot)).fold(uses.last[lane], u64::max)
}

/// Time of the last use of the entry in any slot.
fn last_use_of(copies: &FastCopies, uses: &[Uses], slot: usize) -> u64 {
    last_use(copies, slot, &uses[slot / LANES], slot % LANES)
}

/// Makes an entry answer nothing in any view; it keeps its time.
#[inline(never)]
fn invalidate(copies: &mut FastCopies, slot: usize, uses: &mut Uses, lane: usize) {
    uses.last[lane] = last_use(copies, slot, uses, lane);
    View::of_bits(uses.invalidate(lane)).for_each(|view| copies.invalidate(view, slot));
}

/// Makes an entry that is empty now answer nothing, and the first to be replaced.
fn empty(copies: &mut FastCopies, uses: &mut [Uses], learning: Option<&mut Learning>, way: &Way) {
    if let Some(learning) = learning {
        learning.invalidate(way, |slot| last_use_of(copies, uses, slot));
    }
    let slot = way.slot;
    let (uses, lane) = (&mut uses[slot / LANES], slot % LANES);
    invalidate(copies, slot, uses, lane);
    uses.last[lane] = 0;
}
