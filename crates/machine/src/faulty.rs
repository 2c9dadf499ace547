//! Hard faults of the host's memory: which frames, when, and what becomes of whoever has them.

use crate::{clock::Clock, config::Config, machine::Machine, world::World};
use memory::{FrameError, HOST_BASE};
use monitor::FaultyFrame;
use std::collections::BTreeSet;
use types::{Cycles, Hpa, PageSize};

/// Frames that fail at some time of the run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Faults {
    frames: Vec<Hpa>,
    at: Cycles,
}

impl Faults {
    /// As the configuration says, in a host with so many bytes of memory. Addresses that are not in it are passed over.
    pub(crate) fn new(config: &Config, host_bytes: u64, clock: &Clock) -> Self {
        let keys = &config.faulty;
        if !keys.any() || config.scheme.facts().is_native {
            return Self::default();
        }
        let frames = host_bytes / PageSize::Size4K.bytes();
        let mut chosen: BTreeSet<Hpa> = keys.addresses.iter().map(|&at| Hpa(at).page(PageSize::Size4K)).collect();
        let most = chosen.len() as u64 + u64::from(keys.count).min(frames / 2);
        let mut random = config.seed;
        while (chosen.len() as u64) < most {
            chosen.insert(HOST_BASE.wrapping_add(next(&mut random) % frames * PageSize::Size4K.bytes()));
        }
        Self { frames: chosen.into_iter().collect(), at: clock.seconds(keys.at) }
    }

    /// Takes the frames that are faulty from the start.
    pub(crate) fn take_first(&mut self) -> Vec<Hpa> {
        if self.at == Cycles(0) { std::mem::take(&mut self.frames) } else { Vec::new() }
    }
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Machine {
    /// The frame that holds `hpa` has a hard fault from now on. A guest's page that lies there gets another frame, with the same contents: in a
    /// segment it escapes from then on.
    ///
    /// # Errors
    /// [`FrameError::Outside`]: no such memory.
    pub fn mark_faulty(&mut self, hpa: Hpa) -> Result<FaultyFrame, FrameError> {
        self.world.mark_faulty(hpa)
    }

    /// Lets frames fail whose time has come, if that is no later than `next`, the time of whatever else happens; whether any were.
    pub(crate) fn let_frames_fail(&mut self, next: Option<Cycles>) -> bool {
        if self.faults.frames.is_empty() || next.is_none_or(|next| self.faults.at > next) {
            return false;
        }
        for hpa in std::mem::take(&mut self.faults.frames) {
            // One that is not there cannot fail.
            let _ = self.world.mark_faulty(hpa);
        }
        true
    }

    /// Pages of the first guest's segment that lie elsewhere, because their frames are faulty.
    #[must_use]
    pub fn replaced_pages(&self) -> usize {
        self.world.vms[0].replaced_pages()
    }

    /// Whether the escape filter of the first guest's segment holds more pages than it is good for.
    #[must_use]
    pub fn saturated_filter(&self) -> Option<monitor::SaturatedFilter> {
        self.world.vms[0].saturated_filter()
    }

    /// The frames that are faulty by now.
    #[must_use]
    pub fn faulty_frames(&self) -> Vec<Hpa> {
        self.world.host.frames.faulty_frames().collect()
    }

    /// A word of the first guest's memory, wherever it lies; `None` where that has none.
    pub fn guest_word(&mut self, gpa: types::Gpa) -> Option<u64> {
        let mut bytes = [0; 8];
        self.world.read_guest(0, gpa, &mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// The bytes of host memory, of tests that look at it.
    #[must_use]
    pub fn host_memory(&self) -> &memory::HostMemory {
        &self.world.host.memory
    }

    /// Where a byte of the first guest's memory lies, if it is in a segment.
    #[must_use]
    pub fn segment_place(&self, gpa: types::Gpa) -> Option<Hpa> {
        self.world.vms[0].segment_place(gpa)
    }
}

impl World {
    fn mark_faulty(&mut self, hpa: Hpa) -> Result<FaultyFrame, FrameError> {
        let outcome = self.apart().1.mark_faulty(hpa)?;
        if outcome == FaultyFrame::Replaced {
            // The filter of the guest's segment has one page more.
            self.reload_segments();
            // The work of a nested fault: a frame, a copy, an entry.
            self.charge_exit(monitor::ExitReason::NestedFault);
        }
        Ok(outcome)
    }
}
