//! Frames for guests: everything that filling a page may need, borrowed for the length of one event.

use super::core_map::Page;
use super::pager::Pager;
use super::swap::{Slot, SwapError};
use crate::table::{FlushTlbs, Invalidation, Leaf};
use crate::vm::{FramePiece, NestedFaultOutcome, ReclaimRequest, Vm};
use devices::Platform;
use memory::{FrameAllocator, HostMemory, OutOfFrames};
use types::{Access, Gpa, PageSize};

/// Pages that are taken away together, for the sake of one flush: as many as Linux's page-out takes (`SWAP_CLUSTER_MAX`).
const BATCH: u64 = 32;

/// Bytes below which frames run short: what tables for a page, and the splitting of superpages, may need meanwhile.
const RESERVE: u64 = 16 * PageSize::Size4K.bytes();

/// Why no page can be taken away from any guest.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoVictim {
    /// The hypervisor does not page.
    #[error("guests are not paged")]
    Off,
    /// Every frame is a table's, a fixed guest's, or in use by a device.
    #[error("no page can be taken from a guest")]
    Fixed,
    /// The swap file takes no more.
    #[error(transparent)]
    Swap(#[from] SwapError),
}

/// Why a guest's page cannot be had. The guest cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PageUnavailable {
    /// There is no frame for it.
    #[error("{frames}; {reason}")]
    NoFrame {
        /// What there is of frames.
        frames: OutOfFrames,
        /// Why there will be no more.
        reason: NoVictim,
    },
    /// It cannot be read from the swap file.
    #[error(transparent)]
    Swap(SwapError),
    /// It is a section's, and that cannot provide it: what [`SectionFaultError`](crate::section::SectionFaultError) says.
    #[error("{0}")]
    Section(String),
    /// Its first contents cannot be read from the snapshot: what the system says.
    #[error("the snapshot cannot be read: {0}")]
    Snapshot(String),
}

/// The host's frames with all that share them, for the length of one event. VMs go by their number in `vms`.
#[derive(Debug)]
pub struct FrameReclaim<'h, P> {
    /// The bytes.
    pub memory: &'h HostMemory,
    /// Free and owned frames.
    pub frames: &'h mut FrameAllocator,
    /// Every VM of the host.
    pub vms: &'h mut [Vm],
    /// Where pages are kept that have no frame; `None` if the hypervisor does not page.
    pub pager: Option<&'h mut Pager>,
    /// Every pCPU.
    pub processors: P,
}

impl<P: FlushTlbs> FrameReclaim<'_, P> {
    /// The second stage of a VM refused an access: fills the page, or says what else is there.
    ///
    /// # Errors
    /// [`PageUnavailable`]: the guest cannot go on.
    pub fn nested_fault(&mut self, vm: usize, gpa: Gpa, access: Access) -> Result<NestedFaultOutcome, PageUnavailable> {
        if Platform::contains(gpa) {
            return Ok(NestedFaultOutcome::Device);
        }
        if self.with_room(|supply| supply.vms[vm].map_escaping(supply.memory, supply.frames, gpa))? {
            return Ok(NestedFaultOutcome::Mapped);
        }
        let filled = self.fill(vm, gpa, access)?;
        Ok(filled.map_or(NestedFaultOutcome::Nothing, |_| NestedFaultOutcome::Mapped))
    }

    /// The piece of host memory at `gpa`, from there to the end of its page, with A and D bits as `access` sets them. A page without a
    /// frame gets one, with the contents that it has. `None` outside RAM.
    pub(crate) fn fill(&mut self, vm: usize, gpa: Gpa, access: Access) -> Result<Option<FramePiece>, PageUnavailable> {
        if !self.vms[vm].is_ram(gpa, 1) {
            return Ok(None);
        }
        if let Some(piece) = self.vms[vm].touch(self.memory, gpa, access) {
            return Ok(Some(piece));
        }
        self.keep_reserve();
        let leaf = match self.pager.as_deref().and_then(|pager| pager.slot(vm, gpa.page(PageSize::Size4K))) {
            None => self.fill_new(vm, gpa, access)?,
            Some(slot) => self.page_in(vm, gpa, access, slot)?,
        };
        if let Some(pager) = self.pager.as_deref_mut() {
            pager.settled(vm, gpa, &leaf);
        }
        Ok(Some(FramePiece::of(&leaf, gpa)))
    }

    /// Gives the page that holds `gpa`, which the swap file does not have, a frame with what memory begins with there.
    fn fill_new(&mut self, vm: usize, gpa: Gpa, access: Access) -> Result<Leaf, PageUnavailable> {
        let begins = self.vms[vm].has_beginning();
        // A clean page that the swap file does not have counts as zeroes.
        let access = if begins && self.pager.is_some() { Access::Write } else { access };
        let leaf = self.with_room(|supply| {
            let spare = supply.pager.is_some().then_some(RESERVE);
            supply.vms[vm].fill(supply.memory, supply.frames, gpa, access, spare)
        })?;
        if begins {
            let placed = self.vms[vm].place_beginning(self.memory, gpa, &leaf);
            placed.map_err(|error| PageUnavailable::Snapshot(error.to_string()))?;
        }
        Ok(leaf)
    }

    /// Provides what a step of the hypervisor's work on a VM wants, before that is tried again.
    ///
    /// # Errors
    /// [`PageUnavailable`]: the guest cannot go on.
    pub fn provide(&mut self, vm: usize, wanted: ReclaimRequest) -> Result<(), PageUnavailable> {
        match wanted {
            ReclaimRequest::Page { gpa, access } => self.fill(vm, gpa, access).map(drop),
            // Sections are the machine's to ask.
            ReclaimRequest::Section { .. } => {
                debug_assert!(false, "a section's page is no page of the guest's");
                Ok(())
            }
            ReclaimRequest::Frames(frames) => {
                self.reclaim().map_err(|reason| PageUnavailable::NoFrame { frames, reason })
            }
        }
    }

    /// Takes pages away if frames run short, for a caller that is about to allocate tables.
    pub fn keep_reserve(&mut self) {
        if self.pager.is_some() && self.frames.free_bytes() < RESERVE {
            // Whether this was in vain is seen where a frame is wanted and there is none.
            let _ = self.reclaim();
        }
    }

    /// Gives every page of a VM a frame, as nested faults would; where the hypervisor pages, as many as there are frames for. Of the host's own
    /// memory this takes what the tables need: frames are mapped, not touched, and the tables lie apart from them.
    ///
    /// # Errors
    /// [`PageUnavailable`]; what was filled until then stays.
    pub fn populate(&mut self, vm: usize) -> Result<(), PageUnavailable> {
        if !self.vms[vm].is_pageable() {
            return Ok(());
        }
        self.with_room(|supply| supply.vms[vm].prepare_tables(supply.memory, supply.frames))?;
        // A pager may want a frame back before all have theirs: then each page has its contents at once.
        if self.pager.is_none() {
            self.vms[vm].put_off_beginning();
        }
        let filled = self.fill_all(vm);
        let placed = self.vms[vm].place_waiting(self.memory);
        filled.and(placed.map_err(|error| PageUnavailable::Snapshot(error.to_string())))
    }

    /// Gives the pages of a VM that hold `pages` frames, in that order, as [`populate`](Self::populate) does for all of them. Addresses
    /// outside RAM are passed over.
    ///
    /// # Errors
    /// [`PageUnavailable`]; what was filled until then stays.
    pub fn populate_pages(&mut self, vm: usize, pages: impl IntoIterator<Item = Gpa>) -> Result<(), PageUnavailable> {
        if !self.vms[vm].is_pageable() {
            return Ok(());
        }
        self.with_room(|supply| supply.vms[vm].prepare_tables(supply.memory, supply.frames))?;
        if self.pager.is_none() {
            self.vms[vm].put_off_beginning();
        }
        let has_room = |supply: &Self| supply.pager.is_none() || supply.frames.free_bytes() > RESERVE;
        let mut pages = pages.into_iter();
        let filled = loop {
            let Some(gpa) = pages.next().filter(|_| has_room(self)) else { break Ok(()) };
            if let Err(unavailable) = self.fill(vm, gpa, Access::Read) {
                break Err(unavailable);
            }
        };
        let placed = self.vms[vm].place_waiting(self.memory);
        filled.and(placed.map_err(|error| PageUnavailable::Snapshot(error.to_string())))
    }

    fn fill_all(&mut self, vm: usize) -> Result<(), PageUnavailable> {
        let ram = self.vms[vm].ram();
        let mut gpa = ram.start;
        while gpa < ram.end && (self.pager.is_none() || self.frames.free_bytes() > RESERVE) {
            let piece = self.fill(vm, gpa, Access::Read)?;
            gpa = gpa.wrapping_add(piece.map_or(PageSize::Size4K.bytes(), |piece| piece.bytes));
        }
        Ok(())
    }

    /// Brings the page that holds `gpa` back from its slot of the swap file.
    fn page_in(&mut self, vm: usize, gpa: Gpa, access: Access, slot: Slot) -> Result<Leaf, PageUnavailable> {
        let read = self.pager.as_deref_mut().map(|pager| pager.page_in(vm, gpa.page(PageSize::Size4K), slot));
        let Some((bytes, kept)) = read.transpose().map_err(PageUnavailable::Swap)? else {
            unreachable!("a slot is a pager's");
        };
        // Where the swap file keeps no copy, the page is dirty from the start.
        let access = if kept { access } else { Access::Write };
        let frame = self.with_room(|supply| supply.frames.allocate_placed(supply.memory, PageSize::Size4K))?;
        self.memory.note_failure(self.memory.write_slice(frame.start(), &bytes), "a page from the swap file");
        self.with_room(|supply| supply.vms[vm].map_page(supply.memory, supply.frames, gpa, frame, access)).inspect_err(
            |_| {
                self.frames.give_back(frame, "a page from the swap file that was not mapped");
            },
        )
    }

    /// Takes base pages from a VM, contents and all: the next access to one finds zeroes. Addresses that are not of pages with a frame,
    /// or of a swapped page, and all of a VM with fixed memory, are passed over. Returns how many frames came free.
    pub fn discard(&mut self, vm: usize, pages: impl IntoIterator<Item = Gpa>) -> u64 {
        let mut batch = Batch::default();
        for gpa in pages {
            let gpa = gpa.page(PageSize::Size4K);
            if !self.vms[vm].is_ram(gpa, PageSize::Size4K.bytes()) {
                continue;
            }
            // Zeroes take the place of what is there: for a table of the guest, that is a store.
            self.vms[vm].shadow_stored(self.memory, gpa, PageSize::Size4K.bytes());
            if let Some(pager) = self.pager.as_deref_mut() {
                pager.forget(Page::new(vm, gpa));
            }
            while let Some(leaf) = self.vms[vm].page(self.memory, gpa) {
                if leaf.size == PageSize::Size4K {
                    self.take(vm, gpa, &mut batch);
                } else if !self.with_room(|supply| supply.split(vm, gpa)).unwrap_or(false) {
                    // No frame for the table: the page stays, as it would with a guest that has no balloon.
                    break;
                }
            }
        }
        self.perform(batch)
    }

    /// A VM has ended: gives its pages, with and without a frame, back. Where the hypervisor does not page they stay, as there is no use for them.
    pub fn release(&mut self, vm: usize) {
        let Some(pager) = self.pager.as_deref_mut() else { return };
        pager.forget_all(vm);
        let mut batch = Batch::default();
        for page in pager.map.pages_of(vm) {
            self.take(vm, page.gpa(), &mut batch);
        }
        self.perform(batch);
    }

    /// Calls `allocate` until it has its frames, with pages taken away from guests where there are none.
    pub(super) fn with_room<T>(
        &mut self,
        mut allocate: impl FnMut(&mut Self) -> Result<T, OutOfFrames>,
    ) -> Result<T, PageUnavailable> {
        loop {
            match allocate(self) {
                Ok(value) => return Ok(value),
                Err(frames) => self.reclaim().map_err(|reason| PageUnavailable::NoFrame { frames, reason })?,
            }
        }
    }

    /// Takes a batch of pages away from guests. At least one, or it says why not.
    fn reclaim(&mut self) -> Result<(), NoVictim> {
        let Some(pager) = self.pager.as_deref() else { return Err(NoVictim::Off) };
        let mut batch = Batch::default();
        let mut reason = NoVictim::Fixed;
        // The first round may do no more than clear A bits.
        let mut left = 2 * pager.map.frames();
        while batch.pages < BATCH
            && let Some(page) = self.pager.as_deref_mut().and_then(|pager| pager.map.advance(&mut left))
        {
            if let Err(error) = self.consider(page, &mut batch) {
                reason = error;
            }
        }
        if self.perform(batch) > 0 { Ok(()) } else { Err(reason) }
    }

    /// The hand has come to `page`: takes it away, or leaves it.
    fn consider(&mut self, page: Page, batch: &mut Batch) -> Result<(), NoVictim> {
        let (vm, gpa) = (page.vm(), page.gpa());
        let Some(pager) = self.pager.as_deref_mut() else { return Err(NoVictim::Off) };
        let Some(leaf) = self.vms[vm].page(self.memory, gpa) else {
            debug_assert!(false, "{gpa} of VM number {vm} is in the core map");
            return Ok(());
        };
        if self.vms[vm].age_page(self.memory, gpa) {
            return Ok(());
        }
        if leaf.size > PageSize::Size4K {
            // The pieces are as old as the whole: the hand stays, and takes them next.
            if self.split(vm, gpa).unwrap_or(false)
                && let Some(pager) = self.pager.as_deref_mut()
            {
                pager.map.point_at(leaf.page);
            }
            return Ok(());
        }
        if !pager.is_pinned(leaf.page) {
            pager.save(self.memory, page, &leaf)?;
            self.take(vm, gpa, batch);
        }
        Ok(())
    }

    /// Splits a superpage.
    pub(super) fn split(&mut self, vm: usize, gpa: Gpa) -> Result<bool, OutOfFrames> {
        let whole = self.vms[vm].page(self.memory, gpa);
        let split = self.vms[vm].split_page(self.memory, self.frames, gpa)?;
        if let (Some(whole), Some(piece), Some(pager)) =
            (whole, self.vms[vm].page(self.memory, gpa), self.pager.as_deref_mut())
        {
            pager.split(vm, gpa, &whole, piece.size);
        }
        Ok(split)
    }

    /// Takes the page that holds `gpa` out of the tables.
    pub(super) fn take(&mut self, vm: usize, gpa: Gpa, batch: &mut Batch) {
        let Some(leaf) = self.vms[vm].page(self.memory, gpa) else { return };
        let Some(invalidation) = self.vms[vm].unmap_page(self.memory, gpa) else { return };
        if let Some(pager) = self.pager.as_deref_mut() {
            pager.map.remove(leaf.page);
        }
        batch.add(invalidation, leaf.size.bytes() / PageSize::Size4K.bytes());
    }

    /// Flushes the processors of what was taken away, and frees the frames; returns how many.
    pub(super) fn perform(&mut self, batch: Batch) -> u64 {
        for invalidation in batch.invalidations {
            invalidation.perform(&mut self.processors, self.frames);
        }
        batch.pages
    }
}

/// Pages that were taken out of tables, and wait for their flush.
#[derive(Default)]
pub(super) struct Batch {
    /// One for each VM.
    invalidations: Vec<Invalidation>,
    /// Base pages.
    pages: u64,
}

impl Batch {
    fn add(&mut self, invalidation: Invalidation, pages: u64) {
        self.pages += pages;
        let rest = self.invalidations.iter_mut().try_fold(invalidation, |rest, other| match other.join(rest) {
            Ok(()) => Err(()),
            Err(rest) => Ok(rest),
        });
        self.invalidations.extend(rest.ok());
    }
}

#[cfg(test)]
mod tests;
