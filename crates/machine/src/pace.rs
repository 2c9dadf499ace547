//! What a run is made with beside its guests.

use crate::results::outcome::Unmeasured;
use crate::set_aside::FastForward;
use hart::Engine;
use types::Cycles;

/// Whose clocks the quantum keeps together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Together {
    /// Those of all pCPUs of the host.
    Host,
    /// Those of the pCPUs of each guest: guests are independent.
    Guest,
}

/// What a machine is made of beside its guests.
#[derive(Clone, Debug)]
pub struct Pace {
    /// The engine that executes instructions.
    pub engine: Engine,
    /// How far clocks of running processors may drift apart.
    pub quantum: Cycles,
    /// Whose clocks these are.
    pub together: Together,
    /// The run ends after this many seconds of guest time.
    pub timeout_seconds: Option<u64>,
    /// Instructions of a region of interest before it is measured.
    pub warmup: u64,
    /// What is modelled in regions of interest only; `None` if nothing is.
    pub fast_forward: Option<FastForward>,
    /// By guest: whether the run does not wait for its end.
    pub background: Vec<bool>,
}

impl Pace {
    /// Why a guest that has ended no region of interest is not measured as a whole; `None` if it is.
    pub(crate) fn unmeasured(&self) -> Option<Unmeasured> {
        if self.warmup > 0 {
            return Some(Unmeasured::Warmup(self.warmup));
        }
        self.fast_forward.map(Unmeasured::FastForward)
    }
}
