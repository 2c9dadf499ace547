//! Recorded walks: one of a guest's, at the end of its region of interest, with what walk caches and nested TLB then hold and without.
//!
//! The page is one that the processor works on: that in the middle of those that its L1D holds for the address space, by address, which mostly
//! is one of the workload's largest array. A recording changes nothing, neither memory nor caches nor counts.

use crate::machine::Machine;
use mmu::{Memo, WalkRecord};
use monitor::WalkMemory;

/// The same page walked to twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedWalk {
    /// With nothing remembered: the longest walk to the page.
    pub whole: WalkRecord,
    /// With what earlier walks left in the walk caches and the nested TLB.
    pub cached: WalkRecord,
}

impl Machine {
    /// Records a walk of each guest from now on: at the end of its region of interest, or, if it marks none, of its command.
    pub fn record_walks(&mut self) {
        self.records_walks = true;
    }

    /// The walk of a guest that was recorded last; `None` if there is none, or its page was gone.
    #[must_use]
    pub fn recorded_walk(&self, guest: usize) -> Option<&RecordedWalk> {
        self.records[guest].walk.as_ref()
    }

    /// The guest whose turn it is has come to the end of what is of interest.
    pub(crate) fn record_walk(&mut self, guest: usize) {
        if self.records_walks
            && let Some(walk) = self.walk_of_current()
        {
            self.records[guest].walk = Some(walk);
        }
    }

    fn walk_of_current(&self) -> Option<RecordedWalk> {
        let world = &self.world;
        let mmu = &world.processors[world.current.processor].mmu;
        let second = world.vm().second_stage_of(world.current.hart);
        let pages = mmu.data_pages();
        let (page, size) = *pages.get(pages.len() / 2)?;
        // An address within it that is nothing special.
        let gva = page.wrapping_add((size.bytes() / 3) & !7);
        let walk = |memo| mmu.record_walk(&mut WalkMemory::new(&world.host.memory), &second, gva, memo).ok();
        Some(RecordedWalk { whole: walk(Memo::Empty)?, cached: walk(Memo::AsItIs)? })
    }
}
