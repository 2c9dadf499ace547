//! Walks are recorded at the end of a region of interest.

use crate::machine::Machine;
use crate::results::walks::RecordedWalk;
use hypervisor::WalkMemory;
use mmu::Memo;

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
        let state = &self.state;
        let mmu = &state.processors[state.current.processor].mmu;
        let second = state.vm().second_stage_of(state.current.hart);
        let pages = mmu.data_pages();
        let (page, size) = *pages.get(pages.len() / 2)?;
        // An address within it that is nothing special.
        let gva = page.wrapping_add((size.bytes() / 3) & !7);
        let walk = |memo| mmu.record_walk(&mut WalkMemory::new(&state.host.memory), &second, gva, memo).ok();
        Some(RecordedWalk { whole: walk(Memo::Empty)?, cached: walk(Memo::AsItIs)? })
    }
}
