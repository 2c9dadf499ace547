//! Which pages of RAM the nested table lets a guest store to, and to which it has: what a hypervisor tracks a guest's tables by.

use super::VmMemory;
use super::presentation::Presentation;
use crate::table::LeafBits;
use memory::{FrameAllocator, HostMemory, OutOfFrames};
use mmu::SecondStage;
use types::{Gpa, Hpa, PageSize, SecondStageMode};

impl VmMemory {
    /// Shape and root of the nested table; `None` of a VM that has another second stage.
    pub(crate) fn nested_table(&self) -> Option<(SecondStageMode, Hpa)> {
        match (&self.second, self.table()?.second_stage()) {
            (Presentation::Table { .. }, SecondStage::Nested { mode, root }) => Some((mode, root)),
            _ => None,
        }
    }

    /// Refuses stores to the base page that holds `gpa`, if they were permitted; whether they were. TLBs are the caller's to fence.
    ///
    /// # Errors
    /// [`OutOfFrames`]: no table for a larger page's pieces. Nothing is refused.
    pub(crate) fn refuse_stores(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
    ) -> Result<bool, OutOfFrames> {
        while self.mapped(memory, gpa).is_some_and(|leaf| leaf.size > PageSize::Size4K) {
            if !self.split_page(memory, frames, gpa)? {
                break;
            }
        }
        Ok(self.table_mut().is_some_and(|table| table.restrict(memory, gpa, LeafBits::WRITE)))
    }

    /// Permits them again.
    pub(crate) fn permit_stores(&mut self, memory: &HostMemory, gpa: Gpa) {
        if let Some(table) = self.table_mut() {
            table.grant(memory, gpa, LeafBits::WRITE);
        }
    }

    /// Clears D of the page that holds `gpa`; whether it was set. TLBs are the caller's to fence.
    pub(crate) fn take_dirty(&mut self, memory: &HostMemory, gpa: Gpa) -> bool {
        self.table_mut().is_some_and(|table| table.restrict(memory, gpa, LeafBits::DIRTY))
    }
}
