//! The pages of a memory-resident section.

use super::counts::FaultKind;
use crate::registry::{DataGrant, Grant};
use crate::{FrameRange, HOST_BASE, Host, HostMemory, OutOfFrames};
use types::{Hpa, PageSize};

const PAGE: u64 = PageSize::Size4K.bytes();

/// Where a memory-resident section's pages are.
#[derive(Debug)]
pub(super) struct Resident {
    pub(super) grant: Grant,
    pages: Pages,
}

#[derive(Debug)]
enum Pages {
    /// ALLOC: one after the other, all valid.
    Contiguous(FrameRange),
    /// FLUID: one number for each page, of its frame counted from the start of host memory, plus one; 0 where it has none yet. Pages of
    /// this list that were never accessed cost nothing.
    Scattered(Vec<u32>),
}

/// What a new memory-resident section is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preparation {
    /// ALLOC: its pages are valid; this many had to be cleared first.
    Alloc {
        /// Pages cleared.
        cleared: u64,
    },
    /// FLUID: none of its pages is valid.
    Fluid,
}

impl Resident {
    /// A section of `pages` pages in the memory of `grant`.
    pub(super) fn new(memory: &HostMemory, grant: Grant, pages: u64) -> (Self, Preparation) {
        let (pages, preparation) = match grant.data {
            DataGrant::Fluid => (Pages::Scattered(vec![0; pages as usize]), Preparation::Fluid),
            DataGrant::Alloc { frames, zeroed } => {
                if !zeroed {
                    memory.note_failure(memory.zero(frames.start(), frames.bytes()), "a section's reserved memory");
                }
                let cleared = if zeroed { 0 } else { pages };
                (Pages::Contiguous(frames), Preparation::Alloc { cleared })
            }
        };
        (Self { grant, pages }, preparation)
    }

    /// All of its pages, if they are contiguous.
    pub(super) const fn contiguous(&self) -> Option<FrameRange> {
        match self.pages {
            Pages::Contiguous(frames) => Some(frames),
            Pages::Scattered(_) => None,
        }
    }

    /// Where page number `page` is, if it is valid.
    pub(super) fn valid(&self, page: u64) -> Option<Hpa> {
        match &self.pages {
            Pages::Contiguous(frames) => Some(frames.start().wrapping_add(page * PAGE)),
            Pages::Scattered(list) => list.get(page as usize).copied().filter(|&number| number != 0).map(frame),
        }
    }

    /// Makes page number `page` valid.
    pub(super) fn page(&mut self, host: &mut Host, page: u64) -> Result<(Hpa, FaultKind), OutOfFrames> {
        if let Some(valid) = self.valid(page) {
            return Ok((valid, FaultKind::GlobalValid));
        }
        let start = host.frames.allocate(&host.memory, PageSize::Size4K)?.start();
        if let Pages::Scattered(list) = &mut self.pages
            && let Some(number) = list.get_mut(page as usize)
        {
            // A host of 16 TiB has 2^32 frames.
            debug_assert!(start.number() - HOST_BASE.number() < u64::from(u32::MAX));
            *number = (start.number() - HOST_BASE.number()) as u32 + 1;
        }
        Ok((start, FaultKind::DemandZero))
    }

    /// Frames that it took beyond what the registry holds, neighbours together.
    pub(super) fn taken(&self) -> Vec<FrameRange> {
        match &self.pages {
            Pages::Contiguous(_) => Vec::new(),
            Pages::Scattered(list) => merge(list.iter().filter(|&&number| number != 0).map(|&number| frame(number))),
        }
    }
}

fn frame(number: u32) -> Hpa {
    HOST_BASE.wrapping_add(u64::from(number - 1) * PAGE)
}

/// Frames as ranges: those that follow each other in one.
pub(super) fn merge(frames: impl Iterator<Item = Hpa>) -> Vec<FrameRange> {
    let mut ranges: Vec<FrameRange> = Vec::new();
    for frame in frames {
        let longer = ranges
            .last()
            .filter(|last| last.end() == frame)
            .and_then(|last| FrameRange::new(last.start(), last.bytes() + PAGE));
        match (longer, ranges.last_mut()) {
            (Some(longer), Some(last)) => *last = longer,
            _ => ranges.extend(FrameRange::new(frame, PAGE)),
        }
    }
    ranges
}
