//! What a debugger wants of a machine, and the turn that it has interrupted.

use crate::parts::vcpu::Vcpu;
use crate::schedule::Turn;
use hart::{Place, StopCause, StopPoints, Watch};
use std::sync::Arc;

/// A turn that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnUnderWay {
    pub(crate) turn: Turn,
    /// The vCPU that has it.
    pub(crate) vcpu: usize,
    pub(crate) guest: usize,
    /// Its instructions.
    pub(crate) budget: u32,
    /// The guest's interrupt generation when it began.
    pub(crate) generation: u64,
}

/// What a debugger wants of a machine. By default there is none.
#[derive(Default)]
pub(crate) struct DebugState {
    /// Whether harts are watched.
    pub(crate) attached: bool,
    /// Where every hart stops.
    pub(crate) points: Arc<StopPoints>,
    pub(crate) steps: Steps,
    /// Where vCPUs stand that do not stop there again, and what they stopped for.
    pub(crate) from: Vec<(usize, Place, StopCause)>,
    /// The turn in whose middle a vCPU was stopped, and why; no other turn is taken before it ends.
    pub(crate) interrupted: Option<(TurnUnderWay, StopCause)>,
    /// How many instructions the vCPUs have retired together when the run stops in any case.
    pub(crate) last: Option<u64>,
}

/// Who stops after one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Steps {
    /// Nothing does.
    #[default]
    None,
    /// This vCPU.
    One(usize),
    /// The vCPU that executes next.
    Next,
}

/// How many instructions vCPUs have retired together.
pub(crate) fn retired(vcpus: &[Vcpu]) -> u64 {
    vcpus.iter().map(|vcpu| vcpu.hart.counts().instructions).sum()
}

impl DebugState {
    /// What a vCPU looks at in a turn of `budget` instructions, or in what is left of it; `None` where nothing stops it there.
    pub(crate) fn watch(&self, vcpus: &[Vcpu], vcpu: usize, budget: u32) -> Option<Watch> {
        let watch = self.watch_of_points(vcpu);
        let last = self.last.filter(|_| self.attached);
        match last.map(|last| last.saturating_sub(retired(vcpus))) {
            Some(left) if left <= u64::from(budget) => {
                let own = vcpus[vcpu].hart.counts().instructions;
                Some(watch.unwrap_or_else(|| Watch::new(self.points.clone())).until(own.saturating_add(left)))
            }
            Some(_) | None => watch,
        }
    }

    fn watch_of_points(&self, vcpu: usize) -> Option<Watch> {
        let steps = match self.steps {
            Steps::None => false,
            Steps::One(stepping) => stepping == vcpu,
            Steps::Next => true,
        };
        if !self.attached || (self.points.is_empty() && !steps) {
            return None;
        }
        let watch = Watch::new(self.points.clone());
        let watch = if steps { watch.stepping() } else { watch };
        Some(match self.from.iter().find(|(stopped, ..)| *stopped == vcpu) {
            Some(&(_, place, cause)) => watch.after(place, cause),
            None => watch,
        })
    }
}
