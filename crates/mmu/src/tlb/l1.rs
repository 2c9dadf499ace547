//! A first-level TLB: exact LRU by the stamps of its windows.
//!
//! An entry has a line here (its translation), and a fast copy in each view's window. A copy is *armed* when it was
//! used in that view since the entry was filled and since the views were last disarmed; it answers nothing before. The time of an
//! entry's last use is the latest stamp of its armed copies, or the one kept here when they were disarmed.

use super::Translation;
use super::window::{Arming, L1Entry, Windows};
use crate::config::TlbArray;
use crate::context::{Query, View};
use crate::directory::Directory;
use crate::memory::TableMemory;
use types::{Access, Gva, Hpa, PageSize};

/// A first-level TLB, of loads and stores or of fetches.
#[derive(Debug)]
pub(crate) struct L1 {
    directory: Directory<Translation>,
    windows: Windows,
    views: usize,
    /// By slot: views in which the copy is armed, one bit each.
    armed: Box<[u8]>,
    /// By slot: time of the last use before the latest disarming; 0 for an empty one, which is chosen first. Padding has
    /// the latest time there is, and is never chosen.
    last: Box<[u64]>,
}

impl L1 {
    /// An empty TLB with that many views. The configuration was checked before.
    pub(crate) fn new(arrays: &[TlbArray], views: usize) -> Self {
        let directory = Directory::new(arrays);
        let slots = directory.slots();
        Self {
            windows: Windows::new(views, slots),
            views,
            armed: vec![0; slots].into_boxed_slice(),
            last: (0..slots).map(|slot| if directory.is_way(slot) { 0 } else { u64::MAX }).collect(),
            directory,
        }
    }

    /// The fast copies of a view.
    pub(crate) fn window(&self, view: View) -> *mut L1Entry {
        self.windows.window((view as usize).min(self.views - 1))
    }

    /// Number of sites.
    pub(crate) fn slots(&self) -> usize {
        self.directory.slots()
    }

    /// What a slot holds.
    #[inline(always)]
    pub(crate) fn translation(&self, slot: usize) -> &Translation {
        self.directory.payload(slot)
    }

    /// The first entry, in the order of lookup, that answers.
    #[inline(always)]
    pub(crate) fn find(&self, gva: Gva, query: &Query) -> Option<usize> {
        self.directory.find(gva.0, |entry| entry.answers(query))
    }

    /// Keeps the piece of a translation that the level takes, in the place of the same page or of the least recently
    /// used one. The caller arms it.
    #[inline(always)]
    pub(crate) fn fill(&mut self, gva: Gva, translation: &Translation) -> usize {
        let size = self.directory.fit(translation.size).expect("an L1 takes 4K pages: the configuration was checked");
        let piece = translation.piece(gva, size);
        let slot = self.directory.place(
            gva.0,
            size,
            |other| other.space == piece.space,
            |set| {
                let mut oldest = set.start;
                let mut least = u64::MAX;
                for slot in set {
                    let time = self.last_use(slot);
                    if time < least {
                        (least, oldest) = (time, slot);
                    }
                }
                oldest
            },
        );
        self.disarm(slot);
        self.directory.put(slot, gva.0, size, piece);
        slot
    }

    #[inline(always)]
    fn last_use(&self, slot: usize) -> u64 {
        self.windows.stamp(self.armed[slot], slot).max(self.last[slot])
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
        let mut entry = *self.directory.payload(slot);
        if entry.size > query.largest {
            entry = entry.piece(gva, query.largest);
        }
        if entry.host == 0 {
            // Not memory: each access comes this way.
            self.last[slot] = stamp;
            return;
        }
        let arming = match access {
            Access::Execute => Arming { gva, size: entry.size, host: entry.host, read: true, write: None },
            Access::Read | Access::Write => Arming {
                gva,
                size: entry.size,
                host: entry.host,
                read: entry.rights.meet(query.load),
                write: if entry.rights.meet(query.store) { unwatched(&entry, gva, memory) } else { None },
            },
        };
        self.armed[slot] |= 1 << query.view as u8;
        self.windows.arm(query.view as usize, slot, arming, stamp);
    }

    /// Disarms an entry in every view.
    #[inline(always)]
    fn disarm(&mut self, slot: usize) {
        self.last[slot] = self.last_use(slot);
        self.windows.disarm_views(core::mem::take(&mut self.armed[slot]), slot);
    }

    /// Disarms every entry in every view: what the views were armed for has changed.
    pub(crate) fn disarm_all(&mut self) {
        for slot in 0..self.armed.len() {
            if self.armed[slot] != 0 {
                self.disarm(slot);
            }
        }
    }

    /// Disarms the stores of every entry for a page that holds the byte at `hpa`.
    pub(crate) fn disarm_writes(&mut self, hpa: Hpa) {
        for (slot, entry) in self.directory.iter() {
            if entry.hpa == hpa.page(entry.size) {
                for view in 0..self.views {
                    self.windows.disarm_writes(view, slot);
                }
            }
        }
    }

    /// Drops the entries that `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(&Translation) -> bool) {
        let Self { directory, windows, armed, last, .. } = self;
        directory.remove(drops, |slot| empty(windows, armed, last, slot));
    }

    /// Drops the entries for pages of `gva` that `drops` names.
    pub(crate) fn remove_page(&mut self, gva: Gva, drops: impl Fn(&Translation) -> bool) {
        let Self { directory, windows, armed, last, .. } = self;
        directory.remove_page(gva.0, drops, |slot| empty(windows, armed, last, slot));
    }
}

/// Disarms a slot that holds nothing any more.
fn empty(windows: &mut Windows, armed: &mut [u8], last: &mut [u64], slot: usize) {
    windows.disarm_views(core::mem::take(&mut armed[slot]), slot);
    last[slot] = 0;
}

/// The largest piece around `gva` to which stores may hit: all of the page, or 4K, or nothing.
#[inline(always)]
fn unwatched(entry: &Translation, gva: Gva, memory: &impl TableMemory) -> Option<PageSize> {
    let base = PageSize::Size4K;
    if !memory.is_watched(entry.hpa, entry.size) {
        Some(entry.size)
    } else if entry.size != base && !memory.is_watched(entry.piece(gva, base).hpa, base) {
        Some(base)
    } else {
        None
    }
}
