//! The run loop: turns of vCPUs on pCPUs, until the guest ends.

mod balloon;
mod dispatch;
mod doing;
mod faults;
mod firmware;
mod inconsistency;
mod input_output;
mod instructions;
mod intervals;
mod measurement;
mod pages;
mod paravirtual;
mod profile;
mod progress;
pub(crate) mod recording;
mod sections;
mod shadow_intervals;
mod steal;
mod trace;
mod walks;

pub use balloon::BalloonError;
pub use recording::{RecordError, Recorded};

use crate::sections::serve;
use crate::state::primary_region;
use crate::{
    assembly::host_change::{HostChange, PlannedChange, RefusedChange},
    code::Code,
    console::Console,
    pace::Pace,
    parts::balloon::Balloon,
    parts::debug::{DebugState, TurnUnderWay},
    parts::disk::Disks,
    parts::dispatch::{Dispatch, Residence},
    parts::faulty::Faults,
    parts::instruction_sink::InstructionSink,
    parts::intervals::IntervalLog,
    parts::network::Cable,
    parts::record::Record,
    parts::shadow_intervals::ShadowIntervals,
    parts::steal::StealTime,
    parts::switch::Switch,
    parts::vcpu::{Activity, Standing, Vcpu},
    results::events::EventInterrupt,
    results::gauge::Watched,
    results::outcome::Outcome,
    schedule::{TimeLimit, Turn},
    snapshot::request::Capture,
    state::{Current, Guest, MachineState, Processor},
};
use config::clock::Clock;
use hart::{Exit, Hart, Interrupt, Isa};
use hypervisor::{
    Entry, ExitReason, HartState,
    sbi::ExtensionSet,
    sched::{Allocation, AllocationError, AllocationForm, VcpuId, VmParameters},
};
use types::{Cycles, Gpa, PagingMode};

/// The most instructions of one turn: how often console and time limit are looked at.
const LONGEST_TURN: u64 = 1 << 16;

/// A console whose owner also controls the machine.
pub trait Controller: Console {
    /// The machine stands between two turns, and no simulated time passes until this returns.
    ///
    /// # Errors
    /// Any error ends the run, as [`Outcome::Interrupted`].
    fn between_turns(&mut self, machine: &mut Machine) -> std::io::Result<()>;
}

/// A host with its guests, ready to run.
pub struct Machine {
    pub(crate) state: MachineState,
    pub(crate) code: Code,
    pub(crate) vcpus: Vec<Vcpu>,
    pub(crate) dispatch: Dispatch,
    pub(crate) isa: Isa,
    pub(crate) paging: PagingMode,
    /// What of the SBI the guests find.
    pub(crate) extensions: ExtensionSet,
    pub(crate) balloon: Option<Balloon>,
    pub(crate) shadow_intervals: Option<ShadowIntervals>,
    pub(crate) faults: Faults,
    pub(crate) capture: Capture,
    pub(crate) disks: Disks,
    /// To networks outside.
    pub(crate) cables: Vec<Cable>,
    /// Between the guests.
    pub(crate) switch: Option<Switch>,
    pub(crate) pace: Pace,
    /// By guest.
    pub(crate) records: Vec<Record>,
    /// Changes to come, in order.
    pub(crate) changes: Vec<PlannedChange>,
    /// Changes that could not be made, and why.
    refused: Vec<RefusedChange>,
    /// Whether a walk of each guest is recorded.
    pub(crate) records_walks: bool,
    /// Who is shown how far the run is.
    pub(crate) watched: Watched,
    /// What was counted over time, if that is kept.
    pub(crate) intervals: Option<Box<IntervalLog>>,
    /// What a debugger wants.
    pub(crate) debug: DebugState,
    /// Who gets the instructions that harts retire.
    pub(crate) instructions: Option<Box<dyn InstructionSink>>,
}

/// How the run loop goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Advance {
    /// There is more to do; or a debugger has interrupted a turn.
    GoesOn,
    /// The run is over.
    Over,
}

impl Machine {
    pub(crate) fn new(mut state: MachineState, isa: Isa, paging: PagingMode, pace: Pace, dispatch: Dispatch) -> Self {
        Self {
            code: Code::new(isa, &mut state),
            state,
            vcpus: Vec::new(),
            dispatch,
            isa,
            paging,
            extensions: ExtensionSet::ALL,
            balloon: None,
            shadow_intervals: None,
            faults: Faults::default(),
            capture: Capture::default(),
            disks: Disks::default(),
            cables: Vec::new(),
            switch: None,
            pace,
            records: Vec::new(),
            changes: Vec::new(),
            refused: Vec::new(),
            records_walks: false,
            watched: Watched::default(),
            intervals: None,
            debug: DebugState::default(),
            instructions: None,
        }
    }

    /// Adds a pCPU, which is shared until it is dedicated.
    pub(crate) fn add_processor(&mut self, processor: Processor) {
        self.state.processors.push(processor);
        self.dispatch.add_pcpu();
    }

    /// Adds a guest whose hart 0 starts at `entry` with `argument` in `a1`. Its memory is in the world already, as the latest there.
    ///
    /// # Errors
    /// [`AllocationError`].
    pub(crate) fn add_guest(
        &mut self,
        guest: Guest,
        scheduled: &VmParameters,
        entry: Gpa,
        argument: u64,
    ) -> Result<(), AllocationError> {
        let stopped = |_| Standing {
            hart: Hart::new(self.isa, self.paging),
            state: HartState::Stopped,
            waits: false,
            event: Cycles(0),
            features: self.reset_features(),
            steal: StealTime::default(),
        };
        let mut standing: Vec<Standing> = (0..scheduled.vcpus).map(stopped).collect();
        // A stopped hart can always be started.
        standing[0].state = HartState::StartPending(Entry { pc: entry, opaque: argument });
        self.add_standing(guest, scheduled, standing)
    }

    /// Adds a guest whose harts stand as they are given, by number. Its memory is in the world already, as the latest there.
    ///
    /// # Errors
    /// [`AllocationError`].
    pub(crate) fn add_standing(
        &mut self,
        guest: Guest,
        scheduled: &VmParameters,
        standing: Vec<Standing>,
    ) -> Result<(), AllocationError> {
        debug_assert_eq!(self.state.vms.len(), self.state.guests.len() + 1);
        let (index, first) = (self.state.guests.len(), self.vcpus.len());
        self.dispatch.scheduler.add_vm(scheduled, Cycles(0))?;
        self.state.guests.push(guest);
        let form = match scheduled.allocation {
            Allocation::Dedicated(_) => AllocationForm::Dedicated,
            Allocation::Shared => AllocationForm::Shared,
        };
        self.records.push(Record::new(form, first..first + scheduled.vcpus, scheduled.spin));
        for (hart_id, Standing { hart, state, waits, event, features, steal }) in standing.into_iter().enumerate() {
            let residence = Residence::default();
            let vcpu = Vcpu { hart, guest: index, hart_id, state, waits, event, residence, features, steal };
            self.vcpus.push(vcpu);
        }
        self.carry_out_for_free();
        for index in first..self.vcpus.len() {
            if !self.vcpus[index].is_idle() {
                self.wake(index, Cycles(0));
            }
        }
        Ok(())
    }

    /// Runs until every guest has ended; returns how the first one did.
    pub fn run(&mut self, console: &mut dyn Console) -> Outcome {
        self.run_all(console).swap_remove(0)
    }

    /// Runs until every guest has ended, except those in the background; returns how each did.
    pub fn run_all(&mut self, console: &mut dyn Console) -> Vec<Outcome> {
        let limit = self.time_limit();
        while self.advance(limit, console) == Advance::GoesOn {}
        self.finish(console)
    }

    /// As [`run_all`](Self::run_all), under the control of `controller`. One that changes nothing changes no result.
    pub fn run_controlled(&mut self, controller: &mut dyn Controller) -> Vec<Outcome> {
        let limit = self.time_limit();
        while self.goes_on() {
            if controller.between_turns(self).is_err() {
                self.end_all(&Outcome::Interrupted);
                break;
            }
            if self.advance(limit, controller) == Advance::Over {
                break;
            }
        }
        self.finish(controller)
    }

    /// When a run that begins now is over in any case.
    pub(crate) fn time_limit(&self) -> Option<TimeLimit> {
        // The clock does not begin at 0 in a machine that goes on where another was.
        let begun = self.elapsed();
        self.pace.timeout_seconds.map(|seconds| TimeLimit { at: begun + self.clock().seconds(seconds), seconds })
    }

    /// Takes the next turn, or does what comes before it. A turn that a debugger has interrupted goes on first.
    pub(crate) fn advance(&mut self, limit: Option<TimeLimit>, console: &mut dyn Console) -> Advance {
        if !self.goes_on() {
            return Advance::Over;
        }
        if let Some((under_way, _)) = self.debug.interrupted.take() {
            let exit = self.resume(&under_way);
            return self.settle(under_way, exit, console);
        }
        if self.take_input(console).is_err() {
            self.end_all(&Outcome::Interrupted);
            return Advance::Over;
        }
        self.exchange_frames();
        let turn = self.next_turn();
        let timer = self.dispatch.first_timer();
        // The time of whatever happens next.
        let device = [self.disks.first_due(), self.first_frame_due()].into_iter().flatten().min();
        let next = [turn.map(|turn| turn.from), timer.map(|(due, _)| due), device].into_iter().flatten().min();
        if self.ask_for_memory(next) || self.let_frames_fail(next) || self.end_shadow_interval(next) {
            return Advance::GoesOn;
        }
        self.end_intervals(next);
        let Some(next) = next else {
            // Nothing but input goes on from here. A user has as long to type as the time limit leaves.
            let typing = limit.filter(|_| console.listens());
            let left = |limit: TimeLimit| Cycles(limit.at.0.saturating_sub(self.elapsed().0));
            if console.idle(typing.map(|limit| self.clock().duration(left(limit)))) {
                return Advance::GoesOn;
            }
            match typing {
                Some(limit) => self.end_late(limit.seconds),
                None => self.end_all(&Outcome::Halted),
            }
            return Advance::Over;
        };
        if let Some(limit) = limit
            && next >= limit.at
        {
            self.end_late(limit.seconds);
            return Advance::Over;
        }
        if self.capture_if_due(next) {
            return Advance::Over;
        }
        if self.serve_disk(next) || self.deliver_frame(next) {
            return Advance::GoesOn;
        }
        if self.changes.first().is_some_and(|change| change.at <= next) {
            let change = self.changes.remove(0);
            let refused = self.change(change).err();
            self.refused.extend(refused);
            return Advance::GoesOn;
        }
        let waits = Cycles(next.0.saturating_sub(turn.map_or(self.elapsed(), |turn| self.clock_of_pcpu(turn.index)).0));
        let none_runs = || self.vcpus.iter().all(|vcpu| vcpu.activity() != Activity::Running);
        if waits > Cycles(0) && none_runs() && console.idle(Some(self.clock().duration(waits))) {
            return Advance::GoesOn;
        }
        let Some(turn) = turn.filter(|turn| timer.is_none_or(|(due, _)| turn.from < due)) else {
            self.timer_due();
            return Advance::GoesOn;
        };
        let turn = Turn {
            next: [turn.next, timer.map(|(due, _)| due), self.device_of(turn, device), self.shadow_interval_due()]
                .into_iter()
                .flatten()
                .min(),
            ..turn
        };
        let index = self.dispatch.occupant(turn.index).expect("a vCPU is ready there");
        let under_way = self.begin_turn(turn, index);
        let exit = self.code.run(&mut self.vcpus[index].hart, &mut self.state, under_way.budget, self.pace.engine);
        self.settle(under_way, exit, console)
    }

    /// The hart of a turn has left it, or a debugger has stopped it there.
    fn settle(&mut self, under_way: TurnUnderWay, exit: Exit, console: &mut dyn Console) -> Advance {
        let TurnUnderWay { turn, vcpu, guest, .. } = under_way;
        if let Exit::Stopped(cause) = exit {
            self.debug.interrupted = Some((under_way, cause));
            self.print(guest, console);
            return Advance::GoesOn;
        }
        match self.end_turn(&under_way, exit) {
            Some(outcome) => self.end(guest, outcome),
            None => self.after_turn(vcpu, turn.index),
        }
        self.end_profiled_turn(turn.index);
        if let Some((guest, unavailable)) = self.state.exhausted.take() {
            self.end(guest, Outcome::OutOfMemory(unavailable));
        }
        self.end_if_inconsistent(guest);
        self.show_turn();
        self.print(guest, console);
        Advance::GoesOn
    }

    /// The run is over; returns how each guest ended.
    pub(crate) fn finish(&mut self, console: &mut dyn Console) -> Vec<Outcome> {
        self.end_all(&Outcome::Unfinished);
        serve::close(&mut self.state);
        self.fail_if_inconsistent();
        self.show();
        (0..self.records.len()).for_each(|guest| self.print(guest, console));
        self.records.iter().map(|record| record.outcome.clone().expect("every guest has ended")).collect()
    }

    /// Whether a guest runs that the run is for.
    fn goes_on(&self) -> bool {
        let mut guests = self.records.iter().zip(&self.pace.background);
        guests.any(|(record, &background)| record.outcome.is_none() && !background)
    }

    /// Passes on what was typed, as far as the first guest takes it.
    fn take_input(&mut self, console: &mut dyn Console) -> std::io::Result<()> {
        const FIRST: usize = 0;
        let typed = &mut self.records[FIRST].typed;
        typed.extend(console.input()?);
        if !typed.is_empty() {
            let taken = self.state.console_input(FIRST, typed.make_contiguous());
            typed.drain(..taken);
            self.deliver_interrupts(FIRST, self.elapsed());
        }
        Ok(())
    }

    /// A guest has ended: its harts run no more.
    pub(crate) fn end(&mut self, guest: usize, outcome: Outcome) {
        let record = &mut self.records[guest];
        if record.outcome.is_some() {
            return;
        }
        record.outcome = Some(match self.pace.unmeasured().filter(|_| record.region.measured().is_none()) {
            Some(why) if outcome.succeeded() => Outcome::Unmeasured(why),
            _ => outcome,
        });
        self.note_end(guest);
        for index in self.harts_of(guest) {
            self.vcpus[index].state = HartState::Stopped;
        }
        self.remove_from_dispatch(guest, self.clock_of_pcpu(self.state.current.processor));
        serve::leave(&mut self.state, guest);
        if self.goes_on() {
            self.state.release(guest);
        }
    }

    /// Whether a guest has ended.
    pub(crate) fn has_ended(&self, guest: usize) -> bool {
        self.records[guest].outcome.is_some()
    }

    /// Every guest that has not ended yet has reached the time limit of so many seconds.
    fn end_late(&mut self, seconds: u64) {
        for guest in 0..self.records.len() {
            let outcome = if self.waits_for_ever(guest) {
                Outcome::Halted
            } else {
                Outcome::Timeout { seconds, doing: self.doing(guest) }
            };
            self.end(guest, outcome);
        }
    }

    /// Every guest that has not ended yet ends so.
    pub(crate) fn end_all(&mut self, outcome: &Outcome) {
        (0..self.records.len()).for_each(|guest| self.end(guest, outcome.clone()));
    }

    fn print(&mut self, guest: usize, console: &mut dyn Console) {
        let printed = std::mem::take(&mut self.records[guest].printed);
        for output in [printed, self.state.guests[guest].platform.take_console_output()] {
            if !output.is_empty() {
                console.output(guest, &output);
            }
        }
    }

    /// Begins a turn of vCPU `index`, on the pCPU that has its turn.
    fn begin_turn(&mut self, turn: Turn, index: usize) -> TurnUnderWay {
        let pcpu = turn.index;
        let clock = self.clock_of_pcpu(pcpu);
        let capture = self.capture_time();
        let processor = &mut self.state.processors[pcpu];
        let waited = turn.from - clock;
        processor.idle += waited;
        processor.accounted = processor.accounted.max(turn.from);
        let vcpu = &mut self.vcpus[index];
        processor.retired = vcpu.hart.counts().instructions;
        self.state.current = Current { processor: pcpu, guest: vcpu.guest, hart: vcpu.hart_id };
        self.note_wait(index, clock, waited);
        let vcpu = &mut self.vcpus[index];

        let time = self.state.clock().time(turn.from);
        let mut until = [turn.next.map(|next| next + self.pace.quantum), capture].into_iter().flatten().min();
        if let Some(timer) = vcpu.hart.timer_interrupt() {
            if time >= timer {
                vcpu.hart.set_pending(Interrupt::Timer, true);
                self.note_interrupt(index, turn.from, EventInterrupt::Timer);
            } else if let Some(due) = self.state.clock().cycle_of(timer) {
                until = Some(until.map_or(due, |until| until.min(due)));
            }
        }
        if let Some(limit) = self.dispatch.scheduler.limit(VcpuId(index)) {
            let slice_end = Cycles(turn.from.0.saturating_add(limit.0));
            until = Some(until.map_or(slice_end, |until| until.min(slice_end)));
        }
        let cycles = until.map_or(Cycles(u64::MAX), |until| Cycles(until.0.saturating_sub(turn.from.0)));
        let vcpu = &mut self.vcpus[index];
        vcpu.waits = false;
        vcpu.state.wake();
        // One with a pCPU of its own wakes there.
        self.dispatch.scheduler.wake(VcpuId(index), turn.from);
        self.begin_if_pending(index);
        self.begin_profiled_turn(index, pcpu);
        let guest = self.vcpus[index].guest;
        let warming = self.warms_for(guest).unwrap_or(LONGEST_TURN);
        let warming = warming.min(self.instructions_to_capture().unwrap_or(LONGEST_TURN));
        let budget = self.state.instructions_in(pcpu, cycles).min(warming).clamp(1, LONGEST_TURN) as u32;

        // Whatever moved before this turn, the hart begins it by looking everything up.
        self.state.leave = false;
        let generation = self.state.guest().platform.interrupt_generation();
        if self.debug.attached {
            let watch = self.debug.watch(&self.vcpus, index, budget);
            self.vcpus[index].hart.set_watch(watch);
        }
        TurnUnderWay { turn, vcpu: index, guest, budget, generation }
    }

    /// The hart of a turn that a debugger has interrupted goes on.
    fn resume(&mut self, under_way: &TurnUnderWay) -> Exit {
        let watch = self.debug.watch(&self.vcpus, under_way.vcpu, under_way.budget);
        let hart = &mut self.vcpus[under_way.vcpu].hart;
        hart.set_watch(watch);
        self.code.resume(hart, &mut self.state, self.pace.engine)
    }

    /// The hart of a turn has left it so.
    fn end_turn(&mut self, under_way: &TurnUnderWay, exit: Exit) -> Option<Outcome> {
        let TurnUnderWay { turn, vcpu: index, guest, budget, generation } = *under_way;
        let pcpu = turn.index;
        self.leave_profiled(index, exit, turn.from);
        if let Some(error) = self.code.take_failure() {
            return Some(Outcome::CodeMemory(error));
        }
        let took = self.clock_of_pcpu(pcpu) - turn.from;
        if let Some(caches) = &mut self.state.caches {
            let instructions = self.vcpus[index].hart.counts().instructions - self.state.processors[pcpu].retired;
            caches.note_turn(pcpu, instructions, took);
        }
        if exit == Exit::Budget && self.clock_of_pcpu(pcpu) == turn.from {
            // Nothing was retired and nothing charged, as where the hart leaves at once for pages that have moved. The turn takes the time of
            // its budget, so that no clock ever stands still.
            let took = self.clock().instructions(u64::from(budget)).max(Cycles(1));
            self.state.processors[pcpu].idle += took;
        }
        if self.warms_for(guest) == Some(0) {
            self.begin_region(guest);
        }
        let now = self.clock_of_pcpu(pcpu);
        self.take_disk_notifications(guest, now);
        self.take_frames(guest, now);
        if self.state.guest().platform.interrupt_generation() != generation {
            self.deliver_interrupts(self.state.current.guest, now);
        }
        match exit {
            // A turn that was stopped has not ended.
            Exit::Budget | Exit::TimerSet | Exit::Stopped(_) => None,
            Exit::SupervisorCall => self.supervisor_call(index, now),
            Exit::Wait => {
                self.state.charge_exit(ExitReason::Wfi);
                // An interrupt that came with the exit ends the wait at once.
                let vcpu = &mut self.vcpus[index];
                if !vcpu.hart.wakes() {
                    vcpu.waits = true;
                }
                None
            }
            Exit::Marker(number) => self.marker(guest, number),
            Exit::Pause => {
                self.paused(index);
                None
            }
            Exit::ReservationWait => {
                self.waits_for_store(index);
                None
            }
        }
    }

    /// Makes a planned change.
    fn change(&mut self, PlannedChange { at, change }: PlannedChange) -> Result<(), RefusedChange> {
        match change {
            HostChange::Allocation { guest, allocation } => {
                self.allocate(guest, &allocation).map_err(|error| RefusedChange::Allocation { guest, error })
            }
            HostChange::Free(name) => Ok(serve::free_reservation(&mut self.state, &name, at).map(|_| ())?),
        }
    }

    /// Planned changes that could not be made, in their order.
    #[must_use]
    pub fn refused_changes(&self) -> &[RefusedChange] {
        &self.refused
    }

    /// Raises and lowers the external interrupts of a guest's harts, as its PLIC has them.
    pub(crate) fn deliver_interrupts(&mut self, guest: usize, now: Cycles) {
        for index in self.harts_of(guest) {
            let vcpu = &mut self.vcpus[index];
            let level = self.state.guests[guest].platform.external_interrupt(vcpu.hart_id);
            let had = vcpu.hart.pending(Interrupt::External);
            vcpu.hart.set_pending(Interrupt::External, level);
            if level && !had {
                vcpu.event = now;
                self.note_interrupt(index, now, EventInterrupt::External);
                self.charge_vcpu(index, ExitReason::ExternalInterrupt);
                self.wake_if_due(index, now);
            }
        }
    }

    /// Segments that the first guest asked for and was refused: how many, and the first of them in words.
    #[must_use]
    pub fn refused_segments(&self) -> (u64, &[String]) {
        primary_region::refused(&self.state, 0)
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.state.clock()
    }
}
