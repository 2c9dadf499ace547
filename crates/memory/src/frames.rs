//! Who owns which frame of host memory.
//!
//! # Ownership protocol
//! A frame is *free* or *owned*. The code that allocated or reserved it owns it: a VM its RAM, a table its pages.
//!
//! 1. An owned frame is never handed out again, and a free one is referred to by no table.
//! 2. An owner that gives a frame back first removes it from every table, then has the TLBs of every pCPU flushed of it,
//!    and only then calls [`FrameAllocator::free`]. The modelled TLBs are the TLBs: an entry left behind would let one VM write
//!    to another's memory. `hypervisor::Invalidation` keeps the frames back until the flush is done.
//! 3. A frame is all zeroes when it is handed out. One that had an owner is cleared then, not when it is freed: what is paid for is
//!    only what is used again.
//!
//! 4. A faulty frame is never handed out again: a free one is withdrawn at once, an owned one when its owner gives it back. The one exception
//!    is the caller that asks for frames [with faults](FrameAllocator::allocate_with_faults), is told which are faulty, and uses none of those.
//!
//! # Order
//! The lowest fit wins, so a run hands out the same frames each time, small tables fill the gaps that alignment left, and the
//! top of memory stays whole for large pages. Pages of guests can be [placed](Placement) otherwise.

mod free;
mod placement;

use free::FreeFrames;
use placement::Places;
pub use placement::{Placement, UnknownPlacement};

use crate::error::FrameError;
use crate::frame_range::{FRAME, FrameRange};
use crate::inconsistency::{Cause, Inconsistency, Note};
use crate::{HostMemory, bytes::HOST_BASE};
use std::collections::{BTreeMap, BTreeSet};
use types::{Hpa, PageSize};

/// No free frames of that length and alignment are left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("host memory is exhausted: no {bytes} bytes aligned to {alignment} in {free} free bytes of {total}")]
pub struct OutOfFrames {
    /// Bytes asked for.
    pub bytes: u64,
    /// Alignment asked for.
    pub alignment: PageSize,
    /// Bytes that are free, though not in such a piece.
    pub free: u64,
    /// Bytes of host memory.
    pub total: u64,
}

/// The free frames of host memory.
#[derive(Debug)]
pub struct FrameAllocator {
    free: FreeFrames,
    /// One bit per frame, from that of [`HOST_BASE`] on: it had an owner before, so it may hold anything.
    used: Vec<u64>,
    total_frames: u64,
    /// Faulty frames by number, and whether each has an owner.
    faulty: BTreeMap<u64, bool>,
    places: Places,
    note: Note,
}

impl FrameAllocator {
    /// All of `memory`, free and zeroed.
    #[must_use]
    pub fn new(memory: &HostMemory) -> Self {
        let total_frames = memory.len() / FRAME;
        Self {
            free: FreeFrames::new(HOST_BASE.number(), total_frames),
            used: vec![0; total_frames.div_ceil(64) as usize],
            total_frames,
            faulty: BTreeMap::new(),
            places: Places::Lowest,
            note: Note::default(),
        }
    }

    /// The frame that holds `hpa` has a hard fault: it is not allocated from now on. Whether it has an owner, who must then release it.
    ///
    /// # Errors
    /// [`FrameError::Outside`].
    pub fn mark_faulty(&mut self, hpa: Hpa) -> Result<bool, FrameError> {
        let range = FrameRange::frame(hpa);
        let (frame, _) = self.frames_of(range)?;
        if let Some(&owned) = self.faulty.get(&frame) {
            return Ok(owned);
        }
        let owned = !self.withdraw(frame);
        self.faulty.insert(frame, owned);
        Ok(owned)
    }

    /// The faulty frames.
    pub fn faulty_frames(&self) -> impl Iterator<Item = Hpa> {
        self.faulty.keys().map(|&frame| Hpa(frame * FRAME))
    }

    /// As [`Self::allocate_contiguous_from`], with faulty frames among what is handed out, which the caller must not use; they are not zeroed.
    /// Returns them too.
    ///
    /// # Errors
    /// [`OutOfFrames`].
    pub fn allocate_with_faults(
        &mut self,
        memory: &HostMemory,
        least: Hpa,
        bytes: u64,
        alignment: PageSize,
    ) -> Result<(FrameRange, Vec<Hpa>), OutOfFrames> {
        let withdrawn: BTreeSet<u64> =
            self.faulty.iter().filter(|&(_, &owned)| !owned).map(|(&frame, _)| frame).collect();
        for &frame in &withdrawn {
            self.free.give(frame, 1);
        }
        let taken = self.allocate_contiguous_from(memory, least, bytes, alignment);
        let inside = |frame: u64| {
            let at = Hpa(frame * FRAME);
            taken.is_ok_and(|range| range.start() <= at && at < range.end())
        };
        for &frame in &withdrawn {
            if inside(frame) {
                self.faulty.insert(frame, true);
            } else {
                self.withdraw(frame);
            }
        }
        let faulty = withdrawn.into_iter().filter(|&frame| inside(frame)).map(|frame| Hpa(frame * FRAME)).collect();
        Ok((taken?, faulty))
    }

    /// Free bytes.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.free.count() * FRAME
    }

    /// The pieces of memory that are free, ascending, each as long as can be.
    pub fn free_runs(&self) -> impl Iterator<Item = FrameRange> {
        self.free.runs().map(|run| FrameRange::of_frames(run.start, run.end - run.start))
    }

    /// Owned bytes.
    #[must_use]
    pub fn owned_bytes(&self) -> u64 {
        (self.total_frames - self.free.count()) * FRAME
    }

    /// Takes one zeroed frame of `size`, aligned to it.
    ///
    /// # Errors
    /// [`OutOfFrames`].
    pub fn allocate(&mut self, memory: &HostMemory, size: PageSize) -> Result<FrameRange, OutOfFrames> {
        self.allocate_contiguous(memory, size.bytes(), size)
    }

    /// From now on, [`Self::allocate_placed`] places frames like this.
    pub fn place(&mut self, placement: Placement) {
        self.places = placement.into();
    }

    /// Takes one zeroed frame of `size`, aligned to it, where the [placement](Self::place) says.
    ///
    /// # Errors
    /// [`OutOfFrames`].
    pub fn allocate_placed(&mut self, memory: &HostMemory, size: PageSize) -> Result<FrameRange, OutOfFrames> {
        let least = HOST_BASE.wrapping_add(self.places.draw(self.total_frames) * FRAME);
        let above = self.allocate_contiguous_from(memory, least, size.bytes(), size);
        above.or_else(|_| self.allocate(memory, size))
    }

    /// Takes `bytes` bytes, rounded up to 4 KiB, of zeroed neighbouring frames, the first aligned to `alignment`.
    ///
    /// # Errors
    /// [`OutOfFrames`].
    pub fn allocate_contiguous(
        &mut self,
        memory: &HostMemory,
        bytes: u64,
        alignment: PageSize,
    ) -> Result<FrameRange, OutOfFrames> {
        self.allocate_contiguous_from(memory, HOST_BASE, bytes, alignment)
    }

    /// Takes neighbouring zeroed frames as [`allocate_contiguous`](Self::allocate_contiguous) does, none of them below `least`.
    ///
    /// # Errors
    /// [`OutOfFrames`].
    pub fn allocate_contiguous_from(
        &mut self,
        memory: &HostMemory,
        least: Hpa,
        bytes: u64,
        alignment: PageSize,
    ) -> Result<FrameRange, OutOfFrames> {
        let frames = bytes.div_ceil(FRAME);
        let Some(first) = self.free.fit(least.number(), frames, alignment) else {
            let (free, total) = (self.free_bytes(), self.total_frames * FRAME);
            return Err(OutOfFrames { bytes, alignment, free, total });
        };
        self.free.take(first, frames);
        self.clear_used(memory, first, frames);
        Ok(FrameRange::of_frames(first, frames))
    }

    /// Takes exactly the frames of `range`, zeroed: a VM whose RAM must be at a fixed place.
    ///
    /// # Errors
    /// [`FrameError::Outside`] or [`FrameError::Owned`].
    pub fn reserve(&mut self, memory: &HostMemory, range: FrameRange) -> Result<(), FrameError> {
        let (first, frames) = self.frames_of(range)?;
        if let Some((&faulty, _)) = self.faulty.range(first..first + frames).next() {
            return Err(FrameError::Faulty(range, Hpa(faulty * FRAME)));
        }
        if !self.free.all_free(first, frames) {
            return Err(FrameError::Owned(range));
        }
        self.free.take(first, frames);
        self.clear_used(memory, first, frames);
        Ok(())
    }

    /// Gives the frames of `range` back. They need not have been allocated together, but each must be owned; see the protocol
    /// above for what comes before.
    ///
    /// # Errors
    /// [`FrameError::Outside`] or [`FrameError::Free`].
    pub fn free(&mut self, range: FrameRange) -> Result<(), FrameError> {
        let (first, frames) = self.frames_of(range)?;
        let withdrawn = self.faulty.range(first..first + frames).any(|(_, &owned)| !owned);
        if withdrawn || self.free.any_free(first, frames) {
            return Err(FrameError::Free(range));
        }
        self.free.give(first, frames);
        let faulty: Vec<u64> = self.faulty.range(first..first + frames).map(|(&frame, _)| frame).collect();
        for frame in faulty {
            self.withdraw(frame);
            self.faulty.insert(frame, false);
        }
        Ok(())
    }

    /// Gives frames back that are `what`, and that their owner knows to be owned. If they are not, nothing changes, and
    /// [`Host::take_inconsistency`](crate::Host::take_inconsistency) tells.
    pub fn give_back(&mut self, range: FrameRange, what: &'static str) {
        if let Err(error) = self.free(range) {
            self.note.put(what, Cause::Frames(error));
        }
    }

    pub(crate) fn take_note(&self) -> Option<Inconsistency> {
        self.note.take()
    }

    /// Takes a frame out of the free ones, without an owner; whether it was among them.
    fn withdraw(&mut self, frame: u64) -> bool {
        let was_free = self.free.any_free(frame, 1);
        if was_free {
            self.free.take(frame, 1);
        }
        was_free
    }

    /// Clears those of the frames that had an owner before, run by run, and notes that all of them have one now.
    fn clear_used(&mut self, memory: &HostMemory, first: u64, frames: u64) {
        let mut run = 0;
        for frame in first..first + frames {
            let (word, bit) = bit_of(frame);
            let used = self.used[word] & bit != 0;
            self.used[word] |= bit;
            if used && !self.faulty.contains_key(&frame) {
                run += 1;
            } else {
                zero(memory, frame - run, run);
                run = 0;
            }
        }
        zero(memory, first + frames - run, run);
    }

    /// First frame number and count of `range`, if it is in memory.
    fn frames_of(&self, range: FrameRange) -> Result<(u64, u64), FrameError> {
        let (base, end) = (HOST_BASE.number(), HOST_BASE.number() + self.total_frames);
        if range.start().number() < base || range.end().number() > end {
            return Err(FrameError::Outside(range));
        }
        Ok((range.start().number(), range.bytes() / FRAME))
    }
}

fn bit_of(frame: u64) -> (usize, u64) {
    let index = frame - HOST_BASE.number();
    ((index / 64) as usize, 1 << (index % 64))
}

fn zero(memory: &HostMemory, first: u64, frames: u64) {
    if frames > 0 {
        memory.note_failure(memory.zero(Hpa(first * FRAME), frames * FRAME), "frames that are handed out");
    }
}

#[cfg(test)]
mod tests;
