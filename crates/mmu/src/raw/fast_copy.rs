//! The fast copies of L1 entries, which the hart probes through a raw pointer.

use super::lanes::LANES;
use crate::context::View;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use types::{Access, Gva, PageSize, Width};

/// At how many places of a page an access can begin, by its width: 8, 4, 2 and 1 bytes. All are 0 where none may.
type Limits = [u64; 4];

/// The index of a width in [`Limits`].
const fn index(width: Width) -> usize {
    3 - width.bytes().trailing_zeros() as usize
}

/// One view's fast copy of an L1 entry.
///
/// A hit is one comparison: of the distance from the start of the page with the limit of the access's width. So a load or a plain store hits
/// if all of its bytes are in the page, aligned or not. (A mask and a tag, which tell of an aligned access, take two instructions more.)
#[derive(Debug)]
#[repr(C, align(128))]
pub struct L1Entry {
    /// The page's first address.
    base: u64,
    /// Where the byte there lies in this process.
    host: u64,
    /// Time of the latest hit.
    stamp: u64,
    /// Limits of loads, of stores, and of stores of which the hart need not know that they write to instructions: all 0, or as those of stores.
    loads: Limits,
    plain_stores: Limits,
    stores: Limits,
}

impl L1Entry {
    const INVALID: Self = Self { base: 0, host: 0, stamp: 0, loads: [0; 4], plain_stores: [0; 4], stores: [0; 4] };

    /// Where the fields lie, in bytes: first address, its byte, time, and the limits of loads, of stores and of plain stores. Each has 64 bits, and there are
    /// four limits, of accesses of 8, 4, 2 and 1 bytes. For code that makes the comparison of [`Self::read_hit`] and [`Self::write_hit`] itself.
    pub const OFFSETS: [usize; 6] = [
        core::mem::offset_of!(Self, base),
        core::mem::offset_of!(Self, host),
        core::mem::offset_of!(Self, stamp),
        core::mem::offset_of!(Self, loads),
        core::mem::offset_of!(Self, stores),
        core::mem::offset_of!(Self, plain_stores),
    ];

    /// The host's byte that a load of `width` at `gva` reads, if the entry at `slot` permits it and its page has all of the bytes;
    /// then `stamp` is the entry's time.
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
            let distance = gva.0.wrapping_sub((*entry).base);
            (distance < (*entry).loads[index(width)]).then(|| Self::hit(entry, distance, stamp))
        }
    }

    /// The host's byte that an aligned store (or atomic operation) of `width` at `gva` writes, if the entry at `slot` permits it; then `stamp` is the entry's time.
    /// So it writes to one page of 4 KiB.
    ///
    /// # Safety
    /// As for [`Self::read_hit`].
    #[inline(always)]
    #[must_use]
    pub unsafe fn write_hit(view: *mut Self, slot: u16, gva: Gva, width: Width, stamp: u64) -> Option<*mut u8> {
        // SAFETY: by the contract the view's allocation is alive and `slot` within it, and no reference to it exists.
        unsafe {
            let entry = view.add(slot as usize);
            let distance = gva.0.wrapping_sub((*entry).base);
            let hits = distance < (*entry).stores[index(width)] && gva.is_aligned(width.bytes());
            hits.then(|| Self::hit(entry, distance, stamp))
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
        // SAFETY: the same contract, on the view of fetches, whose loads are what may be executed.
        unsafe { Self::read_hit(view, slot, gva, Width::Half, stamp) }
    }

    /// Stores that hit the entry at `slot` are plain from now on, if it is of one page of 4 KiB and `is_plain` says so of its first byte in the host.
    ///
    /// # Safety
    /// As for [`Self::read_hit`].
    #[inline(always)]
    pub unsafe fn allow_plain_stores(view: *mut Self, slot: u16, is_plain: impl FnOnce(*const u8) -> bool) {
        // SAFETY: by the contract the view's allocation is alive and `slot` within it, and no reference to it exists.
        unsafe {
            let entry = view.add(slot as usize);
            let [.., bytes] = (*entry).stores;
            if bytes == PageSize::Size4K.bytes() && is_plain(ptr::with_exposed_provenance((*entry).host as usize)) {
                (*entry).plain_stores = (*entry).stores;
            }
        }
    }

    /// # Safety
    /// `entry` may be written to.
    #[inline(always)]
    unsafe fn hit(entry: *mut Self, distance: u64, stamp: u64) -> *mut u8 {
        // SAFETY: as the caller says.
        unsafe {
            (*entry).stamp = stamp;
            ptr::with_exposed_provenance_mut((*entry).host.wrapping_add(distance) as usize)
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
        let base = gva.0 & !(size.bytes() - 1);
        // Each lane by itself, so that the compiler makes vectors of them.
        let limits = |allowed: bool| [8, 4, 2, 1].map(|bytes| if allowed { size.bytes() - (bytes - 1) } else { 0 });
        L1Entry { base, host: host as u64, stamp, loads: limits(read), plain_stores: [0; 4], stores: limits(write) }
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

    /// Makes `stamp` the time of an entry, if it is valid in a view for that access to the byte at `gva`; whether it is.
    #[inline(always)]
    pub(crate) fn touch(&mut self, view: View, slot: usize, gva: Gva, access: Access, stamp: u64) -> bool {
        let entry = self.entries(view, slot, 1);
        // SAFETY: `entries` says so.
        unsafe {
            let [.., limit] = match access {
                Access::Read | Access::Execute => (*entry).loads,
                Access::Write => (*entry).stores,
            };
            let answers = gva.0.wrapping_sub((*entry).base) < limit;
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
            (*entry).loads = [0; 4];
            (*entry).plain_stores = [0; 4];
            (*entry).stores = [0; 4];
        }
    }

    /// Stores to the page of 4 KiB at `host` are no longer plain, in any view.
    pub(crate) fn forbid_plain_stores(&mut self, host: *const u8) {
        // SAFETY: the allocation is alive, and no other code uses the entries during a call.
        let all = unsafe { self.all.as_mut() };
        all.iter_mut().filter(|entry| entry.host == host as u64).for_each(|entry| entry.plain_stores = [0; 4]);
    }
}

impl Drop for FastCopies {
    fn drop(&mut self) {
        // SAFETY: this is the allocation that `new` gave up, and it is given back once.
        drop(unsafe { Box::from_raw(self.all.as_ptr()) });
    }
}
