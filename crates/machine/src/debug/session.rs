//! A run that a debugger controls.

use crate::console::Console;
use crate::machine::{Advance, Machine};
use crate::parts::debug::{Steps, retired};
use crate::results::outcome::Outcome;
use crate::schedule::TimeLimit;
use core::ops::Range;
use hart::{StopCause, StopPoints};
use std::sync::Arc;

/// What a machine came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DebugEvent {
    /// A turn, or something that comes between turns, is over; the run goes on.
    Turn,
    /// A vCPU has stopped.
    Stopped(DebugStop),
    /// The run is over; how each guest ended.
    Ended(Vec<Outcome>),
}

/// A vCPU has stopped, and with it the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DebugStop {
    /// Number of the vCPU.
    pub vcpu: usize,
    /// Why.
    pub cause: StopCause,
}

/// A run that a debugger controls. It numbers the vCPUs of all guests in the order of the guests, so with one guest a vCPU has the number of its hart. All
/// of them run and stop together, also if GDB resumes one of them: another order of turns would be another run.
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

    /// How many vCPUs the guests have together.
    #[must_use]
    pub fn vcpus(&self) -> usize {
        self.machine.vcpus.len()
    }

    /// The vCPUs of a guest, of which number n is its hart n.
    #[must_use]
    pub fn vcpus_of(&self, guest: usize) -> Range<usize> {
        self.machine.harts_of(guest)
    }

    /// The guest that a vCPU belongs to.
    #[must_use]
    pub fn guest_of(&self, vcpu: usize) -> usize {
        self.machine.vcpus[vcpu].guest
    }

    /// The number that a vCPU has as a hart of its guest.
    #[must_use]
    pub fn hart_of(&self, vcpu: usize) -> usize {
        self.machine.vcpus[vcpu].hart_id
    }

    /// Whether a guest has ended, while others may still run.
    #[must_use]
    pub fn has_ended(&self, guest: usize) -> bool {
        self.machine.has_ended(guest)
    }

    /// Lets the machine go on: vCPUs stop at `points`, and vCPU `step` after one instruction. Where a vCPU has stopped already, it does not stop again.
    pub fn resume(&mut self, points: StopPoints, step: Option<usize>) {
        let step = step.filter(|&vcpu| vcpu < self.vcpus());
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

    /// The run stops once the vCPUs have retired this many more instructions together; `None`: it has no such limit. The engine is that of a run
    /// without a debugger except in the turn that the limit is in.
    pub fn limit(&mut self, instructions: Option<u64>) {
        let retired = retired(&self.machine.vcpus);
        self.machine.debug.last = instructions.map(|instructions| retired.saturating_add(instructions));
    }

    /// Runs a turn, or up to where a vCPU stops.
    pub fn advance(&mut self, console: &mut dyn Console) -> DebugEvent {
        match self.machine.advance(self.limit, console) {
            Advance::Over => DebugEvent::Ended(self.finish(console)),
            Advance::GoesOn => match self.stop() {
                Some(stop) => DebugEvent::Stopped(stop),
                None => DebugEvent::Turn,
            },
        }
    }

    /// The debugger leaves; the guests run to their ends. Returns how each ended.
    pub fn detach(mut self, console: &mut dyn Console) -> Vec<Outcome> {
        self.machine.debug.attached = false;
        for vcpu in &mut self.machine.vcpus {
            vcpu.hart.set_watch(None);
        }
        while self.machine.advance(self.limit, console) == Advance::GoesOn {}
        self.finish(console)
    }

    /// The user ends the run here. Returns how each guest ended.
    pub fn kill(mut self, console: &mut dyn Console) -> Vec<Outcome> {
        self.machine.end_all(&Outcome::Interrupted);
        self.finish(console)
    }

    fn finish(&mut self, console: &mut dyn Console) -> Vec<Outcome> {
        self.machine.finish(console)
    }

    /// Who has stopped, if a vCPU has.
    fn stop(&mut self) -> Option<DebugStop> {
        let (index, cause) = match self.machine.debug.interrupted {
            Some((under_way, cause)) => (under_way.vcpu, cause),
            // A turn may have ended behind the instruction.
            None => (self.moved()?, StopCause::Step),
        };
        let place = self.machine.vcpus[index].hart.place();
        let from = &mut self.machine.debug.from;
        from.retain(|(stopped, ..)| *stopped != index);
        from.push((index, place, cause));
        Some(DebugStop { vcpu: index, cause })
    }

    /// The vCPU that executes one instruction, if it is no more where it was.
    fn moved(&self) -> Option<usize> {
        let Steps::One(index) = self.machine.debug.steps else { return None };
        if self.has_ended(self.guest_of(index)) {
            return None;
        }
        let place = self.machine.vcpus[index].hart.place();
        let stands = |&(stopped, at, _): &(usize, _, _)| (stopped, at) == (index, place);
        (!self.machine.debug.from.iter().any(stands)).then_some(index)
    }

    /// Whether a vCPU stands in the middle of its turn.
    #[must_use]
    pub fn is_within_turn(&self) -> bool {
        self.machine.debug.interrupted.is_some()
    }
}
