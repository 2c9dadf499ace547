//! A guest at one instant, memory apart, as plain values.

use super::translations::Translations;
use devices::PlatformState;
use devices::map::RAM_BASE;
use hart::Registers;
use hypervisor::pmu::Pmu;
use hypervisor::{Entry, HartState, PrimaryRegionState, Suspend};
use serde::{Deserialize, Serialize};
use types::Gpa;

/// The state of a guest: what a snapshot file holds beside its memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    /// In the order of their numbers.
    pub(super) harts: Vec<VcpuState>,
    pub(super) platform: PlatformState,
    pub(super) region: Option<PrimaryRegionState>,
    /// Communication area, and whether a change of allocation interrupts.
    pub(super) handshake: (Option<u64>, bool),
    /// Whether a region of interest had begun.
    pub(super) in_region: bool,
    /// What had been translated. The guest cannot tell; how long it takes depends on it.
    pub(super) translations: Translations,
}

impl State {
    /// Why this cannot be the state of a machine with so many harts and bytes of memory, if it cannot be.
    pub(super) fn problem(&self, harts: usize, memory: u64) -> Option<&'static str> {
        let Some(first) = self.harts.first().filter(|_| self.harts.len() == harts) else {
            return Some("harts are missing");
        };
        if self.harts.iter().any(|hart| hart.pmu.is_some() != first.pmu.is_some()) {
            return Some("counters of a hart are missing");
        }
        let ram = RAM_BASE..RAM_BASE.wrapping_add(memory);
        let region = self.region.as_ref().map(PrimaryRegionState::memory);
        let outside =
            region.filter(|region| ram.start > region.start || region.start > region.end || region.end > ram.end);
        outside.map(|_| "the primary region is outside memory")
    }
}

/// A hart, and where it stands under the SBI.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct VcpuState {
    pub(super) registers: Registers,
    pub(super) life: Life,
    /// Whether it is in `wfi`.
    pub(super) waits: bool,
    /// Its `time`.
    pub(super) time: u64,
    /// `time` when something was last sent to it.
    pub(super) event: u64,
    /// Its counters, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pmu: Option<Pmu>,
    /// Value and lock of the switch for A and D bits, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hardware_ad: Option<(bool, bool)>,
    /// Its steal-time record, if the guest has registered one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) steal: Option<StealState>,
}

/// A steal-time record: its address, the steal time so far, and its sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct StealState {
    pub(crate) area: u64,
    pub(crate) nanoseconds: u64,
    pub(crate) sequence: u32,
}

/// [`HartState`] as a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Life {
    Stopped,
    StartPending { pc: u64, opaque: u64 },
    Started,
    Suspended,
    SuspendedAnew { pc: u64, opaque: u64 },
    ResumePending { pc: u64, opaque: u64 },
}

impl From<HartState> for Life {
    fn from(state: HartState) -> Self {
        match state {
            HartState::Stopped => Self::Stopped,
            HartState::StartPending(Entry { pc, opaque }) => Self::StartPending { pc: pc.0, opaque },
            HartState::Started => Self::Started,
            HartState::Suspended(Suspend::Retentive) => Self::Suspended,
            HartState::Suspended(Suspend::NonRetentive(Entry { pc, opaque })) => {
                Self::SuspendedAnew { pc: pc.0, opaque }
            }
            HartState::ResumePending(Entry { pc, opaque }) => Self::ResumePending { pc: pc.0, opaque },
        }
    }
}

impl From<Life> for HartState {
    fn from(life: Life) -> Self {
        let entry = |pc, opaque| Entry { pc: Gpa(pc), opaque };
        match life {
            Life::Stopped => Self::Stopped,
            Life::StartPending { pc, opaque } => Self::StartPending(entry(pc, opaque)),
            Life::Started => Self::Started,
            Life::Suspended => Self::Suspended(Suspend::Retentive),
            Life::SuspendedAnew { pc, opaque } => Self::Suspended(Suspend::NonRetentive(entry(pc, opaque))),
            Life::ResumePending { pc, opaque } => Self::ResumePending(entry(pc, opaque)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_of_a_hart_comes_back() {
        let entry = Entry { pc: Gpa(0x8020_0000), opaque: 7 };
        for state in [
            HartState::Stopped,
            HartState::StartPending(entry),
            HartState::Started,
            HartState::Suspended(Suspend::Retentive),
            HartState::Suspended(Suspend::NonRetentive(entry)),
            HartState::ResumePending(entry),
        ] {
            assert_eq!(HartState::from(Life::from(state)), state);
        }
    }
}
