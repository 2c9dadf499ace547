//! A first-level TLB: exact LRU by the stamps of its windows.
//!
//! An entry has a line here (its translation), and a fast copy in each view's window. A copy is *armed* when it was used
//! in that view since the entry was filled and since the views were last disarmed; it answers nothing before. The time of
//! an entry's last use is the latest stamp of its armed copies, or the one kept when they were disarmed.

use super::Translation;
use crate::config::TlbArray;
use crate::context::{Query, View};
use crate::directory::{Directory, Group, Miss};
use crate::memory::TableMemory;
use crate::raw::lanes::{LANES, least};
use crate::raw::{Arming, L1Entry, Stores, Windows};
use types::{Access, Gva, Hpa, PageSize};

/// A first-level TLB, of loads and stores or of fetches.
#[derive(Debug)]
pub(crate) struct L1 {
    directory: Directory<Translation, Use>,
    windows: Windows,
}

/// When an entry was used.
#[derive(Clone, Copy, Debug)]
struct Use {
    /// Time of the last use before the latest disarming. An empty slot has 0, and is chosen first; padding has the latest
    /// time there is, and is never chosen.
    last: u64,
    /// Views in which the fast copy is armed, one bit each: their stamps count as well.
    armed: u8,
}

impl L1 {
    /// An empty TLB with that many views. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray], views: usize) -> Self {
        let directory = Directory::new(arrays, Use { last: 0, armed: 0 }, Use { last: u64::MAX, armed: 0 });
        Self { windows: Windows::new(views, directory.slots()), directory }
    }

    /// The fast copies of a view.
    #[inline(always)]
    pub(crate) fn window(&self, view: View) -> *mut L1Entry {
        self.windows.window(view)
    }

    /// Number of sites.
    pub(crate) fn slots(&self) -> usize {
        self.directory.slots()
    }

    /// The first entry, in the order of lookup, that answers.
    #[inline(always)]
    pub(crate) fn find(&self, gva: Gva, query: &Query) -> Result<usize, Miss> {
        self.directory.find(gva.0, |entry| entry.answers(query))
    }

    /// Keeps the piece of a translation that the level takes, in the place of the same page or of the least recently
    /// used one. `miss` is how the address was not found just before. The caller arms the slot.
    #[inline(always)]
    pub(crate) fn fill(&mut self, gva: Gva, query: &Query, miss: Miss, translation: &Translation) -> usize {
        let Self { directory, windows } = self;
        let place = *directory.home(translation.size).expect("an L1 takes 4K pages: the configuration was checked");
        let view = query.view;
        let same = directory.same(&place, gva.0, miss, |other| other.space == translation.space);
        let slot = same.unwrap_or_else(|| oldest(directory.set(&place, gva.0), windows, view));
        // The copy in this view is overwritten when the slot is armed.
        let (_, used) = directory.entry(slot);
        if used.armed & !view.bit() != 0 {
            disarm(windows, slot, used);
        }
        directory.put(slot, &place, gva.0, &translation.piece(gva, place.size));
        slot
    }

    /// Records a use of an entry, arms its copy in the view of the query, and returns the translation.
    #[inline(always)]
    pub(crate) fn arm(
        &mut self,
        slot: usize,
        gva: Gva,
        access: Access,
        query: &Query,
        memory: &impl TableMemory,
        stamp: u64,
    ) -> &Translation {
        let (whole, used) = self.directory.entry(slot);
        if whole.host == 0 {
            // Not memory: each access comes this way.
            disarm(&mut self.windows, slot, used);
            used.last = stamp;
            return whole;
        }
        let size = whole.size.min(query.largest);
        let Translation { host, rights, .. } = whole.piece(gva, size);
        let (read, write) = match access {
            Access::Execute => (true, Stores::Miss),
            Access::Read | Access::Write if !rights.meet(query.store) => (rights.meet(query.load), Stores::Miss),
            Access::Read | Access::Write => (rights.meet(query.load), stores(whole, size, gva, memory)),
        };
        used.armed |= query.view.bit();
        self.windows.arm(query.view, slot, Arming { gva, size, host, read, write }, stamp);
        whole
    }

    /// Disarms every entry in every view: what the views were armed for has changed.
    pub(crate) fn disarm_all(&mut self) {
        for (slot, used, _) in self.directory.iter_mut() {
            if used.armed != 0 {
                disarm(&mut self.windows, slot, used);
            }
        }
    }

    /// Renumbers the times of last use from 1 on, in their order, and returns the greatest.
    pub(crate) fn renumber(&mut self) -> u64 {
        self.disarm_all();
        let mut used: Vec<&mut Use> = self.directory.iter_mut().map(|(_, used, _)| used).collect();
        // Empty slots and padding keep theirs, which are no times.
        used.retain(|used| used.last != 0 && used.last != u64::MAX);
        used.sort_unstable_by_key(|used| used.last);
        let (mut before, mut rank) = (0, 0);
        for used in used {
            rank += u64::from(used.last != before);
            before = std::mem::replace(&mut used.last, rank);
        }
        rank
    }

    /// Disarms the stores of every entry for a page that holds the byte at `hpa`.
    pub(crate) fn disarm_writes(&mut self, hpa: Hpa) {
        for (slot, used, entry) in self.directory.iter_mut() {
            if entry.is_some_and(|entry| entry.hpa == hpa.page(entry.size)) {
                View::of_bits(used.armed).for_each(|view| self.windows.disarm_writes(view, slot));
            }
        }
    }

    /// Drops the entries that `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(&Translation) -> bool) {
        self.directory.remove(drops, |slot, used| empty(&mut self.windows, slot, used));
    }

    /// Drops the entries for pages of `gva` that `drops` names.
    pub(crate) fn remove_page(&mut self, gva: Gva, drops: impl Fn(&Translation) -> bool) {
        self.directory.remove_page(gva.0, drops, |slot, used| empty(&mut self.windows, slot, used));
    }
}

/// The slot of a set whose last use is longest ago.
#[inline(always)]
fn oldest((first, set): (usize, &[Group<Translation, Use>]), windows: &Windows, view: View) -> usize {
    let (mut oldest, mut earliest) = (first, u64::MAX);
    for (number, group) in set.iter().enumerate() {
        let first = first + number * LANES;
        // Most are armed in the current view alone.
        let times = if group.uses.iter().fold(true, |all, used| all & (used.armed == view.bit())) {
            windows.stamps(view, first)
        } else {
            last_uses(windows, first, &group.uses)
        };
        let (time, lane) = least(&times);
        if time < earliest {
            (earliest, oldest) = (time, first + lane);
        }
    }
    oldest
}

#[inline(never)]
fn last_uses(windows: &Windows, first: usize, uses: &[Use; LANES]) -> [u64; LANES] {
    core::array::from_fn(|lane| last_use(windows, first + lane, uses[lane]))
}

/// Time of the last use of an entry.
fn last_use(windows: &Windows, slot: usize, used: Use) -> u64 {
    View::of_bits(used.armed).map(|view| windows.stamp(view, slot)).fold(used.last, u64::max)
}

/// Makes an entry answer nothing in any view; it keeps its time.
#[inline(never)]
fn disarm(windows: &mut Windows, slot: usize, used: &mut Use) {
    let armed = used.armed;
    *used = Use { last: last_use(windows, slot, *used), armed: 0 };
    View::of_bits(armed).for_each(|view| windows.disarm(view, slot));
}

/// Makes an entry that is empty now answer nothing, and the first to be replaced.
fn empty(windows: &mut Windows, slot: usize, used: &mut Use) {
    disarm(windows, slot, used);
    used.last = 0;
}

/// What the watching of pages leaves of the stores to a page, or to a piece of it around `gva`.
#[inline(always)]
fn stores(entry: &Translation, size: PageSize, gva: Gva, memory: &impl TableMemory) -> Stores {
    let is_watched = |size| memory.is_watched(entry.piece(gva, size).hpa, size);
    if !is_watched(size) {
        Stores::Hit
    } else if size != PageSize::Size4K && !is_watched(PageSize::Size4K) {
        Stores::HitIn4K
    } else {
        Stores::Miss
    }
}
