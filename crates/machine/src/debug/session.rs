//! A run that a debugger controls.

use crate::console::Console;
use crate::machine::{Advance, Machine};
use crate::parts::debug::Steps;
use crate::results::outcome::Outcome;
use crate::schedule::TimeLimit;
use hart::{StopCause, StopPoints};
use std::sync::Arc;

pub(super) use crate::parts::debug::GUEST;

/// What a machine came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DebugEvent {
    /// A turn, or something that comes between turns, is over; the run goes on.
    Turn,
    /// A hart has stopped.
    Stopped(DebugStop),
    /// The run is over, and the first guest ended so.
    Ended(Outcome),
}

/// A hart has stopped, and with it the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DebugStop {
    /// Number of the hart.
    pub hart: usize,
    /// Why.
    pub cause: StopCause,
}

/// A run of a machine's first guest that a debugger controls. All harts run and stop together, also if GDB resumes one of them: another order of turns
/// would be another run.
pub struct DebugSession<'m> {
    pub(super) machine: &'m mut Machine,
    limit: Option<TimeLimit>,
}

impl<'m> DebugSession<'m> {
    /// A run of `machine`, which stops before the first instruction.
    pub fn begin(machine: &'m mut Machine) -> Self {
        machine.debug.attached = true;
        machine.debug.steps = Steps::Next;
        let limit = machine.time_limit();
        Self { machine, limit }
    }

    /// How many harts the guest has.
    #[must_use]
    pub fn harts(&self) -> usize {
        self.machine.harts_of(GUEST).len()
    }

    /// Lets the machine go on: harts stop at `points`, and hart `step` after one instruction. Where a hart has stopped already, it does not stop again.
    pub fn resume(&mut self, points: StopPoints, step: Option<usize>) {
        let step = step.filter(|&hart| hart < self.harts()).map(|hart| self.index(hart));
        if let Some(index) = step {
            let place = self.machine.vcpus[index].hart.place();
            let from = &mut self.machine.debug.from;
            if from.iter().all(|&(stopped, at, _)| (stopped, at) != (index, place)) {
                from.retain(|(stopped, ..)| *stopped != index);
                from.push((index, place, StopCause::Step));
            }
        }
        let debug = &mut self.machine.debug;
        debug.steps = step.map_or(Steps::None, Steps::One);
        if *debug.points != points {
            debug.points = Arc::new(points);
        }
    }

    /// The run stops once the guest's harts have retired this many more instructions together; `None`: it has no such limit. The engine is that of a run
    /// without a debugger except in the turn that the limit is in.
    pub fn limit(&mut self, instructions: Option<u64>) {
        let retired = self.machine.retired_of(GUEST);
        self.machine.debug.last = instructions.map(|instructions| retired.saturating_add(instructions));
    }

    /// Runs a turn, or up to where a hart stops.
    pub fn advance(&mut self, console: &mut dyn Console) -> DebugEvent {
        match self.machine.advance(self.limit, console) {
            Advance::Over => DebugEvent::Ended(self.finish(console)),
            Advance::GoesOn => match self.stop() {
                Some(stop) => DebugEvent::Stopped(stop),
                None => DebugEvent::Turn,
            },
        }
    }

    /// The debugger leaves; the guest runs to its end.
    pub fn detach(mut self, console: &mut dyn Console) -> Outcome {
        self.machine.debug.attached = false;
        for vcpu in &mut self.machine.vcpus {
            vcpu.hart.set_watch(None);
        }
        while self.machine.advance(self.limit, console) == Advance::GoesOn {}
        self.finish(console)
    }

    /// The user ends the run here.
    pub fn kill(mut self, console: &mut dyn Console) -> Outcome {
        self.machine.end(GUEST, Outcome::Interrupted);
        self.finish(console)
    }

    fn finish(&mut self, console: &mut dyn Console) -> Outcome {
        self.machine.finish(console).swap_remove(GUEST)
    }

    /// Who has stopped, if a hart has.
    fn stop(&mut self) -> Option<DebugStop> {
        let (index, cause) = match self.machine.debug.interrupted {
            Some((under_way, cause)) => (under_way.vcpu, cause),
            // A turn may have ended behind the instruction.
            None => (self.moved()?, StopCause::Step),
        };
        let vcpu = &self.machine.vcpus[index];
        let (place, hart) = (vcpu.hart.place(), vcpu.hart_id);
        let from = &mut self.machine.debug.from;
        from.retain(|(stopped, ..)| *stopped != index);
        from.push((index, place, cause));
        Some(DebugStop { hart, cause })
    }

    /// The hart that executes one instruction, if it is no more where it was.
    fn moved(&self) -> Option<usize> {
        let Steps::One(index) = self.machine.debug.steps else { return None };
        if self.machine.has_ended(GUEST) {
            return None;
        }
        let place = self.machine.vcpus[index].hart.place();
        let stands = |&(stopped, at, _): &(usize, _, _)| (stopped, at) == (index, place);
        (!self.machine.debug.from.iter().any(stands)).then_some(index)
    }

    /// Whether a hart stands in the middle of its turn.
    #[must_use]
    pub fn is_within_turn(&self) -> bool {
        self.machine.debug.interrupted.is_some()
    }

    /// The index of a hart.
    pub(super) fn index(&self, hart: usize) -> usize {
        self.machine.harts_of(GUEST).start + hart
    }
}
