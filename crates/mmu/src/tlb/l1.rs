//! A first-level TLB: exact LRU by the stamps of its windows.
//!
//! An entry has a line here (its translation), and a fast copy in each view's window. A copy is *armed* when it was
//! used in that view since the entry was filled and since the views were last disarmed; it answers nothing before. The
//! time of an entry's last use is the latest stamp of its armed copies, or the one kept when they were disarmed.

use super::Translation;
use crate::config::TlbArray;
use crate::context::{Query, View};
use crate::directory::{Directory, Group, Miss};
use crate::raw::lanes::{self, LANES, Words};
use crate::raw::{Arming, L1Entry, Windows};
use types::{Access, Gva};

/// An access, as a first-level TLB is asked for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made<'q> {
    pub(crate) gva: Gva,
    pub(crate) access: Access,
    pub(crate) query: &'q Query,
    /// Its time.
    pub(crate) stamp: u64,
}

/// A first-level TLB, of loads and stores or of fetches.
#[derive(Debug)]
pub(crate) struct L1 {
    directory: Directory<Translation, Uses>,
    windows: Windows,
}

/// When the entries of a group were used.
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
        let directory = Directory::new(arrays, Uses::unused);
        Self { windows: Windows::new(views, directory.slots()), directory }
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

    /// Number of sites.
    pub(crate) fn slots(&self) -> usize {
        self.directory.slots()
    }

    /// The first entry, in the order of lookup, that answers.
    #[inline(always)]
    pub(crate) fn find(&self, gva: Gva, query: &Query) -> Result<usize, Miss> {
        Ok(self.directory.find(gva.0, |entry| entry.answers(query))?.slot)
    }

    /// Keeps the piece of a translation that the level takes, in the place of the same page or of the least recently
    /// used one, and arms its copy in the view of the query. `miss` is how the address was not found just before. Returns what is kept,
    /// and where.
    #[inline(always)]
    pub(crate) fn fill(&mut self, made: Made<'_>, miss: Miss, translation: &Translation) -> (usize, Translation) {
        let Self { directory, windows } = self;
        let (gva, view) = (made.gva, made.query.view);
        let place = *directory.home(translation.size).expect("an L1 takes 4K pages: the configuration was checked");
        let slot = match directory.same(&place, gva.0, miss, |other| other.space == translation.space) {
            Some(found) => found.slot,
            None => oldest(directory.set(&place, gva.0), windows, view),
        };
        // The copy in this view is overwritten when the slot is armed.
        let (_, uses, lane) = directory.entry(slot);
        if uses.armed(lane) & !view.bit() != 0 {
            disarm(windows, slot, uses, lane);
        }
        let kept = translation.piece(gva, place.size);
        directory.put(slot, &place, gva.0, &kept);
        self.arm_as(slot, &kept, made);
        (slot, kept)
    }

    /// Records a use of an entry that was found, and returns the translation.
    #[inline(always)]
    pub(crate) fn touch(&mut self, slot: usize, made: Made<'_>) -> Translation {
        let entry = *self.directory.entry(slot).0;
        // Mostly it was only not the predicted one.
        if !self.windows.touch(made.query.view, slot, made.gva, made.access, made.stamp) {
            self.arm_as(slot, &entry, made);
        }
        entry
    }

    /// Records a use of an entry, which is `entry`, and arms its copy in the view of the query.
    #[inline(always)]
    fn arm_as(&mut self, slot: usize, entry: &Translation, made: Made<'_>) {
        let Made { gva, access, query, stamp } = made;
        let (_, uses, lane) = self.directory.entry(slot);
        if entry.host == 0 {
            // Not memory: each access comes this way.
            disarm(&mut self.windows, slot, uses, lane);
            uses.last[lane] = stamp;
            return;
        }
        let size = entry.size.min(query.largest);
        let Translation { host, rights, .. } = entry.piece(gva, size);
        let (read, write) = match access {
            Access::Execute => (true, false),
            Access::Read | Access::Write => (rights.meet(query.load), rights.meet(query.store)),
        };
        uses.arm(lane, query.view);
        self.windows.arm(query.view, slot, Arming { gva, size, host, read, write }, stamp);
    }

    /// Disarms every entry in every view: what the views were armed for has changed.
    pub(crate) fn disarm_all(&mut self) {
        for (first, uses, _) in self.directory.iter_mut() {
            if uses.armed != 0 {
                (0..LANES).for_each(|lane| disarm(&mut self.windows, first + lane, uses, lane));
            }
        }
    }

    /// Renumbers the times of last use from 1 on, in their order, and returns the greatest.
    pub(crate) fn renumber(&mut self) -> u64 {
        self.disarm_all();
        let mut times: Vec<&mut u64> = self.directory.iter_mut().flat_map(|(_, uses, _)| &mut uses.last).collect();
        // Empty slots and padding keep theirs, which are no times.
        times.retain(|time| (1..NEVER_REPLACED).contains(*time));
        times.sort_unstable();
        let (mut before, mut rank) = (0, 0);
        for time in times {
            rank += u64::from(*time != before);
            before = core::mem::replace(time, rank);
        }
        rank
    }

    /// What it holds: the first byte of each page, and its translation.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (Gva, &Translation)> {
        self.directory.pages().map(|(page, entry)| (Gva(page), entry))
    }

    /// Drops the entries that `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(&Translation) -> bool) {
        let Self { directory, windows } = self;
        directory.remove(drops, |directory, slot| empty(windows, directory, slot));
    }

    /// Drops the entries for pages of `gva` that `drops` names.
    pub(crate) fn remove_page(&mut self, gva: Gva, drops: impl Fn(&Translation) -> bool) {
        let Self { directory, windows } = self;
        directory.remove_page(gva.0, drops, |directory, slot| empty(windows, directory, slot));
    }
}

/// The slot of a set whose last use is longest ago.
#[inline(always)]
fn oldest((first, set): (usize, &[Group<Translation, Uses>]), windows: &Windows, view: View) -> usize {
    if let [group] = set {
        return first + oldest_of_group(windows, first, &group.uses, view).1;
    }
    oldest_of_groups(windows, first, set, view)
}

#[inline(never)]
fn oldest_of_groups(windows: &Windows, first: usize, set: &[Group<Translation, Uses>], view: View) -> usize {
    let (mut oldest, mut earliest) = (first, u64::MAX);
    for (number, group) in set.iter().enumerate() {
        let first = first + number * LANES;
        let (time, lane) = oldest_of_group(windows, first, &group.uses, view);
        if time < earliest {
            (earliest, oldest) = (time, first + lane);
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

fn last_use(windows: &Windows, slot: usize, uses: &Uses, lane: usize) -> u64 {
    View::of_bits(uses.armed(lane)).map(|view| windows.stamp(view, slot)).fold(uses.last[lane], u64::max)
}

/// Makes an entry answer nothing in any view; it keeps its time.
#[inline(never)]
fn disarm(windows: &mut Windows, slot: usize, uses: &mut Uses, lane: usize) {
    uses.last[lane] = last_use(windows, slot, uses, lane);
    View::of_bits(uses.disarm(lane)).for_each(|view| windows.disarm(view, slot));
}

/// Makes an entry that is empty now answer nothing, and the first to be replaced.
fn empty(windows: &mut Windows, directory: &mut Directory<Translation, Uses>, slot: usize) {
    let (_, uses, lane) = directory.entry(slot);
    disarm(windows, slot, uses, lane);
    uses.last[lane] = 0;
}
