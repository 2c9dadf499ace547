//! A VM under the hypervisor's segment: where its pages lie, and how one of them comes to escape.

use super::direct::{Direct, SaturatedFilter};
use super::error::VmError;
use super::presentation::{LeafStatus, Presentation};
use super::vm_memory::{FramePiece, VmMemory};
use crate::table::{Leaf, MapError};
use memory::{FrameAllocator, Host, HostMemory, OutOfFrames};
use mmu::DirectSegment;
use types::{Gpa, Hpa, PageSize};

const PAGE: PageSize = PageSize::Size4K;

impl VmMemory {
    /// The hypervisor's segment, if the VM has one.
    #[must_use]
    pub fn hypervisor_segment(&self) -> Option<&DirectSegment> {
        self.direct().map(Direct::registers)
    }

    fn direct(&self) -> Option<&Direct> {
        match &self.second {
            Presentation::Direct { segment, .. } => Some(segment),
            Presentation::Native | Presentation::Table { .. } | Presentation::Reserved => None,
        }
    }

    /// The piece of host memory at `gpa`, if that is in the segment.
    pub(super) fn segment_piece(&self, gpa: Gpa) -> Option<FramePiece> {
        let direct = self.direct()?;
        Some(FramePiece { start: direct.hpa(gpa)?, bytes: direct.contiguous(gpa) })
    }

    /// The page at `gpa`, if that is in the segment.
    pub(super) fn segment_page(&self, gpa: Gpa) -> Option<Leaf> {
        let page = self.direct()?.hpa(gpa)?.page(PAGE);
        Some(Leaf { page, size: PAGE, bits: LeafStatus::Preset.bits() })
    }

    /// Maps the page at `gpa`, which is in the segment and escapes, to where it lies; whether it is such a page.
    pub(crate) fn map_escaping(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
    ) -> Result<bool, OutOfFrames> {
        let Some(leaf) = self.segment_page(gpa) else { return Ok(false) };
        let (table, ..) = self.pages();
        if table.lookup(memory, gpa).is_some() {
            return Ok(true);
        }
        match table.map(memory, frames, gpa.page(PAGE), leaf) {
            Ok(()) => Ok(true),
            Err(MapError::OutOfFrames(error)) => Err(error),
            Err(error) => unreachable!("a vacant page within the table: {error}"),
        }
    }

    /// The guest's page that the segment leads to the frame at `hpa`, if it lies there.
    #[must_use]
    pub fn segment_page_at(&self, hpa: Hpa) -> Option<Gpa> {
        self.direct()?.page_at(hpa)
    }

    /// Adds memory at the end of the guest's, which is filled page by page. Under a segment it lies outside of it.
    ///
    /// # Errors
    /// [`VmError`]: its memory is fixed, or ends where the table does.
    pub fn grow(&mut self, bytes: u64) -> Result<(), VmError> {
        let end = self.ram.end.checked_add(bytes).ok_or(VmError::RamSize(bytes))?;
        let bits = match &self.second {
            Presentation::Table { table, .. } if self.is_pageable() => table.address_bits(),
            Presentation::Direct { table, .. } => table.address_bits(),
            Presentation::Table { .. } | Presentation::Native | Presentation::Reserved => None,
        };
        let bits = bits.ok_or(VmError::Fixed)?;
        if end.0 > 1 << bits {
            return Err(VmError::RamBeyondTable { bytes: end.0 - self.ram.start.0, bits });
        }
        self.ram.end = end;
        Ok(())
    }

    /// Where a byte lies that is in the segment.
    #[must_use]
    pub fn segment_place(&self, gpa: Gpa) -> Option<Hpa> {
        self.direct()?.hpa(gpa)
    }

    /// Pages of the segment that lie elsewhere, and where.
    pub(super) fn replaced(&self) -> impl Iterator<Item = (Gpa, Hpa)> {
        self.direct().into_iter().flat_map(Direct::replacements)
    }

    /// Pages of the segment that lie elsewhere.
    #[must_use]
    pub fn replaced_pages(&self) -> usize {
        self.direct().map_or(0, Direct::replaced)
    }

    /// Whether the segment's filter holds more pages than it is good for.
    #[must_use]
    pub fn saturated_filter(&self) -> Option<SaturatedFilter> {
        self.direct()?.saturated()
    }

    /// Before the VM runs: the page that would lie in the faulty frame at `hpa` lies elsewhere.
    pub(super) fn replace_at_once(&mut self, host: &mut Host, hpa: Hpa) -> Result<(), VmError> {
        let Some(gpa) = self.segment_page_at(hpa) else { return Ok(()) };
        let frame = host.frames.allocate(&host.memory, PAGE)?;
        if let Presentation::Direct { segment, .. } = &mut self.second {
            segment.replace(gpa, frame.start());
        }
        Ok(())
    }

    /// Gives the page at `gpa` of the segment, whose frame is faulty, another one with the same contents. From now on it escapes. The
    /// processors' registers have to be loaded again, and flushed of the page; the faulty frame stays the VM's, so that it is not allocated again.
    ///
    /// # Errors
    /// [`OutOfFrames`]: nothing has changed.
    pub(crate) fn replace_page(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
    ) -> Result<Option<Replaced>, OutOfFrames> {
        let gpa = gpa.page(PAGE);
        let Some(from) = self.segment_page(gpa).map(|leaf| leaf.page) else { return Ok(None) };
        let to = frames.allocate(memory, PAGE)?;
        let mut bytes = [0; PAGE.bytes() as usize];
        let copied = memory.read_slice(from, &mut bytes).and_then(|()| memory.write_slice(to.start(), &bytes));
        memory.note_failure(copied, "a page that leaves the segment");
        let vmid = self.vmid;
        let Presentation::Direct { table, segment } = &mut self.second else { return Ok(None) };
        // A false positive of the filter has it mapped already.
        let unmapped = table.lookup(memory, gpa).is_some();
        if unmapped {
            // The frame stays the VM's.
            table.take(memory, gpa);
        }
        segment.replace(gpa, to.start());
        Ok(Some(Replaced { from, fence: mmu::Fence::Gvma { gpa: Some(gpa), vmid: Some(vmid) } }))
    }
}

/// A page of a segment lies elsewhere now.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "until the fence is done the TLBs lead to the faulty frame"]
pub(crate) struct Replaced {
    /// The frame that is not in use any more.
    pub from: Hpa,
    /// What every pCPU has to do.
    pub fence: mmu::Fence,
}

#[cfg(test)]
mod tests;
