//! A first-level TLB: exact LRU by the stamps of its windows.
//!
//! An entry has a line here (its translation), and a fast copy in each view's window. A copy is *armed* when it was used
//! in that view since the entry was filled and since the views were last disarmed; it answers nothing before. The time of
//! an entry's last use is the latest stamp of its armed copies, or the one kept when they were disarmed.

use super::Translation;
use super::window::{Arming, L1Entry, Stores, Windows};
use crate::config::TlbArray;
use crate::context::{Query, View};
use crate::directory::Directory;
use crate::lanes::{LANES, Miss};
use crate::memory::TableMemory;
use core::ops::Range;
use types::{Access, Gva, Hpa, PageSize};

/// A first-level TLB, of loads and stores or of fetches.
#[derive(Debug)]
pub(crate) struct L1 {
    directory: Directory<Translation>,
    windows: Windows,
}

impl L1 {
    /// An empty TLB with that many views. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray], views: usize) -> Self {
        let directory = Directory::new(arrays);
        Self { windows: Windows::new(views, directory.slots(), |slot| directory.is_way(slot)), directory }
    }

    /// The fast copies of a view.
    #[inline(always)]
    pub(crate) fn window(&self, view: View) -> *mut L1Entry {
        self.windows.window(view as usize)
    }

    /// Number of sites.
    pub(crate) fn slots(&self) -> usize {
        self.windows.slots()
    }

    /// What a slot holds.
    #[inline(always)]
    pub(crate) fn translation(&self, slot: usize) -> &Translation {
        self.directory.payload(slot)
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
        let place = self.directory.home(translation.size).expect("an L1 takes 4K pages: the configuration was checked");
        let piece = translation.piece(gva, place.size);
        let view = query.view as usize;
        let same = |other: &Translation| other.space == piece.space;
        let oldest = |set: Range<usize>| self.windows.oldest(set.start * LANES..set.end * LANES, view);
        let slot = self.directory.choose(&place, gva.0, miss, same, oldest);
        self.windows.replace(slot, view);
        self.directory.put(slot, &place, gva.0, piece);
        slot
    }

    /// Records a use of an entry, and arms its copy in the view of the query.
    #[inline(always)]
    pub(crate) fn arm(
        &mut self,
        slot: usize,
        gva: Gva,
        access: Access,
        query: &Query,
        memory: &impl TableMemory,
        stamp: u64,
    ) {
        let whole = self.directory.payload(slot);
        if whole.host == 0 {
            // Not memory: each access comes this way.
            self.windows.retire(slot, stamp);
            return;
        }
        let size = whole.size.min(query.largest);
        let Translation { host, rights, .. } = whole.piece(gva, size);
        let (read, write) = match access {
            Access::Execute => (true, Stores::Miss),
            Access::Read | Access::Write if !rights.meet(query.store) => (rights.meet(query.load), Stores::Miss),
            Access::Read | Access::Write => (rights.meet(query.load), stores(whole, size, gva, memory)),
        };
        self.windows.arm(query.view as usize, slot, Arming { gva, size, host, read, write }, stamp);
    }

    /// Disarms every entry in every view: what the views were armed for has changed.
    pub(crate) fn disarm_all(&mut self) {
        self.windows.disarm_all();
    }

    /// Disarms the stores of every entry for a page that holds the byte at `hpa`.
    pub(crate) fn disarm_writes(&mut self, hpa: Hpa) {
        for (slot, entry) in self.directory.iter() {
            if entry.hpa == hpa.page(entry.size) {
                self.windows.disarm_writes(slot);
            }
        }
    }

    /// Drops the entries that `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(&Translation) -> bool) {
        self.directory.remove(drops, |slot| self.windows.empty(slot));
    }

    /// Drops the entries for pages of `gva` that `drops` names.
    pub(crate) fn remove_page(&mut self, gva: Gva, drops: impl Fn(&Translation) -> bool) {
        self.directory.remove_page(gva.0, drops, |slot| self.windows.empty(slot));
    }
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
