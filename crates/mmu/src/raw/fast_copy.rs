//! The fast copies of L1 entries, which the hart probes through a raw pointer.

use super::lanes::LANES;
use crate::context::View;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use types::{Access, Gva, PageSize, Width};

/// One view's fast copy of an L1 entry.
///
/// A tag is the start of a page, or `NEVER`, whose bit 11 no masked address has. The mask keeps the page number and,
/// with the access's width, the bits that must be zero for it to be aligned: a hit is one comparison, and a misaligned
/// access never hits.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct L1Entry {
    read_tag: u64,
    write_tag: u64,
    mask: u64,
    /// Host pointer − guest virtual address.
    addend: u64,
    /// Time of the latest hit.
    stamp: u64,
}

impl L1Entry {
    /// A tag that no address hits.
    const NEVER: u64 = 1 << 11;

    const INVALID: Self = Self { read_tag: Self::NEVER, write_tag: Self::NEVER, mask: 0, addend: 0, stamp: 0 };

    /// Where the fields lie, in bytes: tag of loads, tag of stores, mask, addend, time. Each has 64 bits. For code that makes the
    /// comparison of [`Self::read_hit`] and [`Self::write_hit`] itself.
    pub const OFFSETS: [usize; 5] = [
        core::mem::offset_of!(Self, read_tag),
        core::mem::offset_of!(Self, write_tag),
        core::mem::offset_of!(Self, mask),
        core::mem::offset_of!(Self, addend),
        core::mem::offset_of!(Self, stamp),
    ];

    /// The host's byte that an aligned load of `width` at `gva` reads, if the entry at `slot` permits it; then `stamp`
    /// is the entry's time.
    ///
    /// # Safety
    /// `view` came from [`crate::Mmu::data_view`] of an MMU that is alive, and no other code uses that MMU at the same
    /// time. `slot` is a [`crate::Hit::slot`] of a load or store (or 0) from this MMU, or from one whose `l1d` is
    /// configured equally: it may be out of date, or of another view, but is below the number of entries.
    #[inline(always)]
    #[must_use]
    pub unsafe fn read_hit(view: *mut Self, slot: u16, gva: Gva, width: Width, stamp: u64) -> Option<*mut u8> {
        // SAFETY: by the contract the view's allocation is alive and `slot` within it, and no reference to it exists.
        unsafe {
            let entry = view.add(slot as usize);
            let hit = gva.0 & ((*entry).mask | (width.bytes() - 1)) == (*entry).read_tag;
            hit.then(|| Self::hit(entry, gva, stamp))
        }
    }

    /// The host's byte that an aligned store (or atomic operation) of `width` at `gva` writes, if the entry at `slot`
    /// permits it; then `stamp` is the entry's time.
    ///
    /// # Safety
    /// As for [`Self::read_hit`].
    #[inline(always)]
    #[must_use]
    pub unsafe fn write_hit(view: *mut Self, slot: u16, gva: Gva, width: Width, stamp: u64) -> Option<*mut u8> {
        // SAFETY: by the contract the view's allocation is alive and `slot` within it, and no reference to it exists.
        unsafe {
            let entry = view.add(slot as usize);
            let hit = gva.0 & ((*entry).mask | (width.bytes() - 1)) == (*entry).write_tag;
            hit.then(|| Self::hit(entry, gva, stamp))
        }
    }

    /// The host's byte that a fetch at `gva`, a multiple of 2, reads, if the entry at `slot` permits it; then `stamp`
    /// is the entry's time.
    ///
    /// # Safety
    /// As for [`Self::read_hit`], with [`crate::Mmu::fetch_view`], a slot of a fetch and `l1i`.
    #[inline(always)]
    #[must_use]
    pub unsafe fn execute_hit(view: *mut Self, slot: u16, gva: Gva, stamp: u64) -> Option<*mut u8> {
        // SAFETY: the same contract, on the view of fetches, whose read tag is what may be executed.
        unsafe { Self::read_hit(view, slot, gva, Width::Half, stamp) }
    }

    /// # Safety
    /// `entry` may be written to.
    #[inline(always)]
    unsafe fn hit(entry: *mut Self, gva: Gva, stamp: u64) -> *mut u8 {
        // SAFETY: as the caller says.
        unsafe {
            (*entry).stamp = stamp;
            ptr::with_exposed_provenance_mut(gva.0.wrapping_add((*entry).addend) as usize)
        }
    }
}

/// What an entry is to answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers {
    /// An address of the page.
    pub(crate) gva: Gva,
    /// The page's size.
    pub(crate) size: PageSize,
    /// Address in this process of the page's first byte.
    pub(crate) host: usize,
    /// Whether loads (or fetches) hit.
    pub(crate) read: bool,
    /// Whether stores hit.
    pub(crate) write: bool,
}

impl Answers {
    /// The entry that answers so.
    #[inline(always)]
    fn entry(self, stamp: u64) -> L1Entry {
        let Self { gva, size, host, read, write } = self;
        debug_assert!(read || !write, "what may be written may be read");
        let mask = !(size.bytes() - 1);
        let page = gva.0 & mask;
        let read_tag = if read { page } else { L1Entry::NEVER };
        let write_tag = if write { page } else { L1Entry::NEVER };
        let addend = (host as u64).wrapping_sub(page);
        L1Entry { read_tag, write_tag, mask, addend, stamp }
    }
}

/// The entries of [`LANES`] slots in one view.
pub(crate) struct Group<'w> {
    /// Of so many that are valid to read and write.
    first: *mut L1Entry,
    copies: PhantomData<&'w mut FastCopies>,
}

impl Group<'_> {
    /// Times of the latest hits.
    #[inline(always)]
    pub(crate) fn stamps(&self) -> [u64; LANES] {
        // SAFETY: each is one of the group.
        core::array::from_fn(|lane| unsafe { (*self.first.add(lane)).stamp })
    }

    /// As [`FastCopies::validate`], for the entry of a lane (modulo the lanes).
    #[inline(always)]
    pub(crate) fn validate(&mut self, lane: usize, answers: Answers, stamp: u64) {
        // SAFETY: it is one of the group.
        unsafe { self.first.add(lane % LANES).write(answers.entry(stamp)) }
    }
}

/// The fast copies of all entries of an L1, view by view. They never move.
#[derive(Debug)]
pub(crate) struct FastCopies {
    /// First entry of each view. Where there are fewer views, the last is used for the others.
    views: [NonNull<L1Entry>; View::OF_DATA],
    /// Entries of a view.
    slots: usize,
    /// Entries of all views.
    all: NonNull<[L1Entry]>,
}

// SAFETY: the entries are owned by this value alone, and hold integers. A view pointer that a user keeps is used
// under the contract of the hit functions.
unsafe impl Send for FastCopies {}

impl FastCopies {
    /// `views` × `slots` fast copies, all invalidated; there is at least one view.
    pub(crate) fn new(views: usize, slots: usize) -> Self {
        let all: Box<[L1Entry]> = (0..views * slots).map(|_| L1Entry::INVALID).collect();
        let all = NonNull::from(Box::leak(all));
        // SAFETY: the offset is within the allocation.
        let view = |view: usize| unsafe { all.cast::<L1Entry>().add(view.min(views - 1) * slots) };
        Self { views: core::array::from_fn(view), slots, all }
    }

    /// The first entry of a view.
    #[inline(always)]
    pub(crate) fn view(&self, view: View) -> *mut L1Entry {
        self.views[view as usize].as_ptr()
    }

    /// [`L1Entry::execute_hit`] with a slot that may be any number.
    #[inline(always)]
    pub(crate) fn execute_hit(&mut self, view: View, slot: u16, gva: Gva, stamp: u64) -> Option<*mut u8> {
        if usize::from(slot) >= self.slots {
            return None;
        }
        // SAFETY: the view is alive, the slot is one of it, and no other code uses the entries during a call.
        unsafe { L1Entry::execute_hit(self.view(view), slot, gva, stamp) }
    }

    /// `count` entries of a view from `slot` on: valid to read and write during a call of the MMU, when no other code
    /// does.
    #[inline(always)]
    fn entries(&self, view: View, slot: usize, count: usize) -> *mut L1Entry {
        assert!(slot + count <= self.slots);
        // SAFETY: the offset is within the view.
        unsafe { self.view(view).add(slot) }
    }

    /// Time of the latest hit of an entry in a view.
    #[inline(always)]
    pub(crate) fn stamp(&self, view: View, slot: usize) -> u64 {
        // SAFETY: `entries` says so.
        unsafe { (*self.entries(view, slot, 1)).stamp }
    }

    /// Times of the latest hits in a view of the entries from `slot` on.
    #[inline(always)]
    pub(crate) fn stamps<const N: usize>(&self, view: View, slot: usize) -> [u64; N] {
        let entries = self.entries(view, slot, N);
        // SAFETY: `entries` says so.
        core::array::from_fn(|index| unsafe { (*entries.add(index)).stamp })
    }

    /// The entries of a group of slots in a view.
    #[inline(always)]
    pub(crate) fn group(&mut self, view: View, group: usize) -> Group<'_> {
        Group { first: self.entries(view, group * LANES, LANES), copies: PhantomData }
    }

    /// Makes `stamp` the time of an entry, if it is valid in a view for that access to `gva`; whether it is. Alignment
    /// is no matter here.
    #[inline(always)]
    pub(crate) fn touch(&mut self, view: View, slot: usize, gva: Gva, access: Access, stamp: u64) -> bool {
        let entry = self.entries(view, slot, 1);
        // SAFETY: `entries` says so.
        unsafe {
            let (tag, mask) = match access {
                Access::Read | Access::Execute => ((*entry).read_tag, (*entry).mask),
                Access::Write => ((*entry).write_tag, (*entry).mask),
            };
            let answers = gva.0 & mask == tag;
            if answers {
                (*entry).stamp = stamp;
            }
            answers
        }
    }

    /// Makes an entry answer in a view as `answers` says, and `stamp` its time.
    #[inline(always)]
    pub(crate) fn validate(&mut self, view: View, slot: usize, answers: Answers, stamp: u64) {
        // SAFETY: `entries` says so.
        unsafe { self.entries(view, slot, 1).write(answers.entry(stamp)) }
    }

    /// Makes an entry answer nothing in a view; it keeps its time.
    pub(crate) fn invalidate(&mut self, view: View, slot: usize) {
        let entry = self.entries(view, slot, 1);
        // SAFETY: `entries` says so.
        unsafe {
            (*entry).read_tag = L1Entry::NEVER;
            (*entry).write_tag = L1Entry::NEVER;
        }
    }
}

impl Drop for FastCopies {
    fn drop(&mut self) {
        // SAFETY: this is the allocation that `new` gave up, and it is given back once.
        drop(unsafe { Box::from_raw(self.all.as_ptr()) });
    }
}
