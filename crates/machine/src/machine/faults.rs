//! Frames fail when their time has come.

use crate::state::primary_region;
use crate::{machine::Machine, state::MachineState};
use hypervisor::FaultyFrame;
use memory::FrameError;
use types::{Cycles, Hpa};

impl Machine {
    /// The frame that holds `hpa` has a hard fault from now on. A guest's page that lies there gets another frame, with the same contents: in a
    /// segment it escapes from then on.
    ///
    /// # Errors
    /// [`FrameError::Outside`]: no such memory.
    pub fn mark_faulty(&mut self, hpa: Hpa) -> Result<FaultyFrame, FrameError> {
        mark_faulty(&mut self.state, hpa)
    }

    /// Lets frames fail whose time has come, if that is no later than `next`, the time of whatever else happens; whether any were.
    pub(crate) fn let_frames_fail(&mut self, next: Option<Cycles>) -> bool {
        let failing = self.faults.take_due(next);
        for &hpa in &failing {
            // One that is not there cannot fail.
            let _ = mark_faulty(&mut self.state, hpa);
        }
        !failing.is_empty()
    }

    /// Pages of the first guest's segment that lie elsewhere, because their frames are faulty.
    #[must_use]
    pub fn replaced_pages(&self) -> usize {
        self.state.vms[0].replaced_pages()
    }

    /// Whether the escape filter of the first guest's segment holds more pages than it is good for.
    #[must_use]
    pub fn saturated_filter(&self) -> Option<hypervisor::SaturatedFilter> {
        self.state.vms[0].saturated_filter()
    }

    /// The frames that are faulty by now.
    #[must_use]
    pub fn faulty_frames(&self) -> Vec<Hpa> {
        self.state.host.frames.faulty_frames().collect()
    }

    /// A word of the first guest's memory, wherever it lies; `None` where that has none.
    pub fn guest_word(&mut self, gpa: types::Gpa) -> Option<u64> {
        let mut bytes = [0; 8];
        self.state.read_guest(0, gpa, &mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// The bytes of host memory, of tests that look at it.
    #[must_use]
    pub fn host_memory(&self) -> &memory::HostMemory {
        &self.state.host.memory
    }

    /// Where a byte of the first guest's memory lies, if it is in a segment.
    #[must_use]
    pub fn segment_place(&self, gpa: types::Gpa) -> Option<Hpa> {
        self.state.vms[0].segment_place(gpa)
    }
}

fn mark_faulty(state: &mut MachineState, hpa: Hpa) -> Result<FaultyFrame, FrameError> {
    let outcome = state.apart().1.mark_faulty(hpa)?;
    if outcome == FaultyFrame::Replaced {
        // The filter of the guest's segment has one page more.
        primary_region::reload(state);
        // The work of a nested fault: a frame, a copy, an entry.
        state.charge_exit(hypervisor::ExitReason::NestedFault);
    }
    Ok(outcome)
}
