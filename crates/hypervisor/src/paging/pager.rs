//! What the hypervisor knows of pages that it may take away: where they lie, what the swap file has of them, which are in use by a device.

use super::core_map::{CoreMap, Page};
use super::counts::PagingCounts;
use super::swap::{PageBytes, Slot, Swap, SwapError};
use crate::table::{Leaf, LeafBits};
use memory::HostMemory;
use std::collections::{BTreeMap, BTreeSet};
use types::{Gpa, Hpa, PageSize};

const FRAME: u64 = PageSize::Size4K.bytes();

/// The pager of one host.
#[derive(Debug)]
pub struct Pager {
    pub(super) map: CoreMap,
    swap: Swap,
    /// Pages that the swap file has a copy of, whether they have a frame too or not.
    slots: BTreeMap<Page, Slot>,
    /// Numbers of frames that a device's request uses.
    pinned: BTreeSet<u64>,
    pub(super) counts: PagingCounts,
}

impl Pager {
    /// A pager for the host whose memory is `memory`, none of it a VM's yet.
    #[must_use]
    pub fn new(memory: &HostMemory, swap: Swap) -> Self {
        let map = CoreMap::new(memory);
        Self { map, swap, slots: BTreeMap::new(), pinned: BTreeSet::new(), counts: PagingCounts::default() }
    }

    /// What was done since this was last called.
    pub fn take_counts(&mut self) -> PagingCounts {
        core::mem::take(&mut self.counts)
    }

    /// The frames of `bytes` bytes at `start` are a device's until [`unpin`](Self::unpin).
    pub(crate) fn pin(&mut self, start: Hpa, bytes: u64) {
        self.pinned.extend(start.number()..=start.wrapping_add(bytes.max(1) - 1).number());
    }

    /// No device uses any frame.
    pub(crate) fn unpin(&mut self) {
        self.pinned.clear();
    }

    /// Whether a device uses the frame at `frame`.
    pub(super) fn is_pinned(&self, frame: Hpa) -> bool {
        self.pinned.contains(&frame.number())
    }

    /// A page of VM number `vm` has got its frame.
    pub(super) fn settled(&mut self, vm: usize, gpa: Gpa, leaf: &Leaf) {
        self.map.insert(leaf.page, Page::new(vm, gpa.page(leaf.size)));
    }

    /// The superpage of VM number `vm` that holds `gpa` and was `leaf` has been split into pages of `size`.
    pub(super) fn split(&mut self, vm: usize, gpa: Gpa, leaf: &Leaf, size: PageSize) {
        let start = gpa.page(leaf.size);
        for offset in (0..leaf.size.bytes()).step_by(size.bytes() as usize) {
            self.map.insert(leaf.page.wrapping_add(offset), Page::new(vm, start.wrapping_add(offset)));
        }
    }

    /// Where the swap file has a page that has no frame.
    pub(super) fn slot(&self, vm: usize, gpa: Gpa) -> Option<Slot> {
        self.slots.get(&Page::new(vm, gpa)).copied()
    }

    /// Reads a page from its slot; the file keeps its copy unless it is full, and says whether it does.
    pub(super) fn page_in(&mut self, vm: usize, gpa: Gpa, slot: Slot) -> Result<(PageBytes, bool), SwapError> {
        let bytes = self.swap.read(slot)?;
        self.counts.in_ += 1;
        let keeps = !self.swap.is_full();
        if !keeps {
            // The page whose frame this one gets may have no other slot to go to.
            self.forget(Page::new(vm, gpa));
        }
        Ok((bytes, keeps))
    }

    /// Sees to it that a base page can be brought back when it has lost its frame: writes it to the swap file, if need be.
    pub(super) fn save(&mut self, memory: &HostMemory, page: Page, leaf: &Leaf) -> Result<(), SwapError> {
        let slot = self.slots.get(&page).copied();
        if !leaf.bits.contains(LeafBits::DIRTY) {
            // It has not been written since it came from the swap file, or from the allocator, which hands out zeroes.
            match slot {
                Some(_) => self.counts.clean += 1,
                None => self.counts.zero += 1,
            }
            return Ok(());
        }
        let mut bytes: PageBytes = [0; FRAME as usize];
        memory.note_failure(memory.read_slice(leaf.page, &mut bytes), "a page on its way to the swap file");
        if bytes.iter().all(|&byte| byte == 0) {
            self.forget(page);
            self.counts.zero += 1;
            return Ok(());
        }
        self.slots.insert(page, self.swap.write(slot, &bytes)?);
        self.counts.out += 1;
        Ok(())
    }

    /// The swap file need not keep the page any more.
    pub(super) fn forget(&mut self, page: Page) {
        if let Some(slot) = self.slots.remove(&page) {
            self.swap.free(slot);
        }
    }

    /// The swap file need not keep any page of VM number `vm`.
    pub(super) fn forget_all(&mut self, vm: usize) {
        let (first, end) = (Page::new(vm, Gpa(0)), Page::new(vm + 1, Gpa(0)));
        let pages: Vec<Page> = self.slots.range(first..end).map(|(&page, _)| page).collect();
        pages.into_iter().for_each(|page| self.forget(page));
    }
}
