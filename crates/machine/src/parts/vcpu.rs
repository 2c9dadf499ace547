//! A vCPU, and where it stands.

use crate::parts::dispatch::Residence;
use crate::parts::steal::StealTime;
use hart::Hart;
use hypervisor::HartState;
use hypervisor::sbi::Features;
use types::Cycles;

/// A vCPU, and where it stands.
pub(crate) struct Vcpu {
    pub(crate) hart: Hart,
    pub(crate) guest: usize,
    /// Number of the hart in its guest.
    pub(crate) hart_id: usize,
    /// Its life under the SBI.
    pub(crate) state: HartState,
    /// Whether it is in `wfi`.
    pub(crate) waits: bool,
    /// When another processor or a device last sent it something.
    pub(crate) event: Cycles,
    /// Its pCPUs.
    pub(crate) residence: Residence,
    /// Firmware features that it has set.
    pub(crate) features: Features,
    /// Its steal-time record, if the guest has registered one.
    pub(crate) steal: StealTime,
}

/// Where a vCPU begins.
pub(crate) struct Standing {
    pub(crate) hart: Hart,
    pub(crate) state: HartState,
    /// Whether it is in `wfi`.
    pub(crate) waits: bool,
    /// When something was last sent to it.
    pub(crate) event: Cycles,
    /// Firmware features that it has set.
    pub(crate) features: Features,
    /// Its steal-time record, if the guest has registered one.
    pub(crate) steal: StealTime,
}

/// Whether a vCPU takes turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Activity {
    /// Not started by the guest, or stopped by it.
    Stopped,
    /// Executes, or is about to.
    Running,
    /// Waits for an interrupt.
    Waiting,
}

impl Vcpu {
    /// Whether it has nothing to do until something happens to it.
    pub(crate) fn is_idle(&self) -> bool {
        match self.activity() {
            Activity::Stopped => true,
            Activity::Waiting => !self.hart.wakes(),
            Activity::Running => false,
        }
    }

    /// What it is doing.
    pub(crate) const fn activity(&self) -> Activity {
        match self.state {
            HartState::Stopped => Activity::Stopped,
            HartState::StartPending(_) | HartState::ResumePending(_) => Activity::Running,
            HartState::Started if !self.waits => Activity::Running,
            HartState::Started | HartState::Suspended(_) => Activity::Waiting,
        }
    }
}
