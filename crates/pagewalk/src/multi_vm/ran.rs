//! A host that was run: how, by whom, and what came of it.

use super::file::MultiVm;
use super::machines::{Machines, Part, parts};
use crate::control::Server;
use crate::error::Failure;
use crate::gdb::{self, Debugger};
use crate::interrupt::{self, Orderly};
use crate::observe::{Recorded, Recordings, RunIdentity};
use crate::output::{print, print_of_guest};
use crate::progress::Running;
use crate::runs::kernel_panic::KernelPanic;
use crate::side_by_side::side_by_side;
use machine::{Console, Controller, Dependence, GuestPlan, HostPlan, Machine, Outcome};
use profiles::{About, Attribution};
use serde_json::json;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

/// A host that was run.
pub(crate) struct Ran {
    pub(crate) machines: Machines,
    /// By guest: what was recorded of it.
    recordings: Vec<Recordings>,
    pub(crate) outcomes: Vec<Outcome>,
    /// By guest: what it printed.
    console: Vec<Transcript>,
    /// The exit code that was asked for by the client or the debugger that ended the run.
    quit: Option<u8>,
}

/// Whether the stays of vCPUs on pCPUs are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stays {
    Kept,
    Forgotten,
}

impl Stays {
    pub(crate) const fn of(wanted: bool) -> Self {
        if wanted { Self::Kept } else { Self::Forgotten }
    }
}

/// Who lets the machine take its turns.
pub(crate) enum Driver {
    /// The run loop, with the socket through which others control it.
    Loop(Option<Server>),
    /// A debugger.
    Debugger(Debugger),
}

impl Driver {
    /// The socket, if there is one.
    pub(crate) const fn control(&self) -> Option<&Server> {
        match self {
            Self::Loop(control) => control.as_ref(),
            Self::Debugger(_) => None,
        }
    }
}

/// On how many threads of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// One machine has all guests, for this reason.
    Together(Reason),
    /// Several machines have some guests each, on so many threads. Results are the same to the byte.
    Apart(usize),
}

/// Why one machine has all guests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Reason {
    /// There is no other thread.
    #[error("there is one thread")]
    OneThread,
    /// Someone looks at the host as a whole.
    #[error("--control, --gdb, --trace, --profile and recordings are of the whole host")]
    Observed,
    /// Guests can affect each other.
    #[error("{0}")]
    Guests(Dependence),
}

impl Way {
    /// For a run on `threads` threads at the most.
    pub(crate) fn of(
        multi_vm: &MultiVm,
        (recorded, stays): (Recorded, Stays),
        driver: &Driver,
        threads: usize,
    ) -> Self {
        let observed = recorded.any() || stays == Stays::Kept || !matches!(driver, Driver::Loop(None));
        match multi_vm.plan.dependence(&multi_vm.config) {
            Some(why) => Self::Together(Reason::Guests(why)),
            None if observed => Self::Together(Reason::Observed),
            None if threads <= 1 => Self::Together(Reason::OneThread),
            None => Self::Apart(threads),
        }
    }

    /// Machines of one run.
    pub(crate) fn machines(self, multi_vm: &MultiVm) -> usize {
        match self {
            Self::Together(_) => 1,
            Self::Apart(threads) => parts(multi_vm.plan.guests.len(), threads).len(),
        }
    }
}

/// A machine that has run, and what came of its guests.
struct Ended {
    part: Part,
    outcomes: Vec<Outcome>,
    transcripts: Vec<Transcript>,
    quit: Option<u8>,
}

/// A machine with the guests of `plan`, which have these numbers in the whole host.
fn assemble(
    multi_vm: &MultiVm,
    (plan, guests): (&HostPlan, Range<usize>),
    (recorded, stays): (Recorded, Stays),
    running: &Running<'_>,
) -> Result<Part, Failure> {
    let mut machine = Machine::assemble_host(&multi_vm.config, plan)?;
    if stays == Stays::Kept {
        machine.record_stays();
    }
    recorded.begin(&mut machine);
    machine.show_on(running.gauge());
    Ok(Part { machine, guests })
}

/// Runs a machine to its end.
fn run_part(multi_vm: &MultiVm, mut part: Part, driver: Driver) -> Result<Ended, Failure> {
    let machine = &mut part.machine;
    let mut console =
        Transcripts { guests: part.guests.clone().map(|_| Transcript::default()).collect(), control: None };
    let (outcomes, quit) = match driver {
        Driver::Loop(control) => {
            console.control = control;
            let outcomes = machine.run_controlled(&mut console);
            (outcomes, console.control.take().and_then(|server| server.quit()))
        }
        Driver::Debugger(debugger) => {
            let outcomes = gdb::run(debugger, machine, &multi_vm.names, &mut console)?;
            // The debugger's `kill` ends a run as well as a client's `quit`.
            let killed = outcomes.contains(&Outcome::Interrupted);
            (outcomes, killed.then_some(0))
        }
    };
    let judged = outcomes.into_iter().zip(&mut console.guests).map(|(outcome, guest)| guest.panic.judge(outcome));
    let outcomes = judged.collect();
    Ok(Ended { part, outcomes, transcripts: console.guests, quit })
}

/// Runs several machines to their ends, so many at once.
fn run_parts(multi_vm: &MultiVm, parts: Vec<Part>, threads: usize) -> Result<Vec<Ended>, Failure> {
    let parts: Vec<Mutex<Option<Part>>> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
    let ended = side_by_side(threads, &parts, |part| {
        let part = part.lock().unwrap_or_else(PoisonError::into_inner).take();
        run_part(multi_vm, part.expect("each is taken once"), Driver::Loop(None))
    });
    ended.into_iter().collect()
}

impl Ran {
    pub(crate) fn run(
        multi_vm: &MultiVm,
        recorded: (Recorded, Stays),
        running: Running<'_>,
        driver: Driver,
        way: Way,
    ) -> Result<Self, Failure> {
        let _orderly = Orderly::begin();
        let all = 0..multi_vm.names.len();
        let assemble = |plan: &HostPlan, guests| assemble(multi_vm, (plan, guests), recorded, &running);
        let ended = match way {
            Way::Together(_) => vec![run_part(multi_vm, assemble(&multi_vm.plan, all.clone())?, driver)?],
            Way::Apart(threads) => {
                // All are there before any runs, so that one that cannot be is named at once.
                let parts = parts(all.len(), threads).into_iter();
                let parts = parts.map(|guests| assemble(&multi_vm.plan.part(guests.clone()), guests));
                run_parts(multi_vm, parts.collect::<Result<_, _>>()?, threads)?
            }
        };
        if let Some(signal) = interrupt::requested() {
            return Err(Failure::Interrupted(signal));
        }
        let (mut machines, mut outcomes, mut console, mut quit) = (Vec::new(), Vec::new(), Vec::new(), None);
        for machine in ended {
            machines.push(machine.part);
            outcomes.extend(machine.outcomes);
            console.extend(machine.transcripts);
            quit = quit.or(machine.quit);
        }
        let machines = Machines::new(machines);
        let recordings = all.map(|guest| {
            let (machine, index) = machines.of(guest);
            Recordings::of(machine, index)
        });
        let recordings = recordings.collect();
        let ran = Self { machines, recordings, outcomes, console, quit };
        let problem =
            ran.failed().next().map(|(guest, outcome)| format!("guest `{}`: {outcome}", multi_vm.names[guest]));
        running.finish(problem.as_deref());
        Ok(ran)
    }

    /// The profiles of the guests, if they are recorded. The guest is what differs: it stands where a comparison has the scheme.
    pub(crate) fn profiles(&self, multi_vm: &MultiVm) -> Vec<Attribution> {
        let of = |guest: usize| {
            let profile = self.recordings[guest].profile.as_ref()?;
            let about = About {
                guest: multi_vm.names[guest].clone(),
                work: format!("{}: {}", multi_vm.names[guest], multi_vm.work[guest]),
                system: format!("{} with {}", multi_vm.config.scheme, multi_vm.plan.guests[guest].spin.name()),
                settings: serde_json::Value::Null,
            };
            Some(Attribution::new(about, profile, &multi_vm.sources[guest].names()))
        };
        (0..multi_vm.names.len()).filter_map(of).collect()
    }

    /// What was recorded of each guest, in the run of this number.
    pub(crate) fn take_recordings(&mut self, multi_vm: &MultiVm, number: usize) -> Vec<(RunIdentity, Recordings)> {
        let identity = |guest: usize| RunIdentity {
            run: number,
            guest: multi_vm.names[guest].clone(),
            work: multi_vm.work[guest].clone(),
            system: multi_vm.config.scheme.to_string(),
            settings: json!({ "spin": multi_vm.plan.guests[guest].spin.name() }),
            clock_hz: multi_vm.model.clock_hz,
        };
        std::mem::take(&mut self.recordings)
            .into_iter()
            .enumerate()
            .map(|(guest, recordings)| (identity(guest), recordings))
            .collect()
    }

    pub(crate) fn print_output(&self, multi_vm: &MultiVm) -> Result<(), Failure> {
        for (name, transcript) in multi_vm.names.iter().zip(&self.console) {
            print(&format!("{name}:\n"))?;
            print_of_guest(&transcript.output)?;
        }
        Ok(())
    }

    /// The guests that did not come to a good end. One in the background needs none, and no guest of a run that a client ended.
    pub(crate) fn failed(&self) -> impl Iterator<Item = (usize, &Outcome)> {
        let ended_by_client = |outcome: &Outcome| self.quit.is_some() && *outcome == Outcome::Interrupted;
        let failed = move |(_, outcome): &(usize, &Outcome)| {
            !outcome.succeeded() && **outcome != Outcome::Unfinished && !ended_by_client(outcome)
        };
        self.outcomes.iter().enumerate().filter(failed)
    }

    pub(crate) fn judge(&self, multi_vm: &MultiVm) -> Result<ExitCode, Failure> {
        if let Some(refused) = self.machines.shared().refused_changes().first() {
            return Err(Failure::Run(refused.to_string()));
        }
        if let Some(problem) = self.machines.shared().section_problems().first() {
            return Err(Failure::Run(problem.clone()));
        }
        match self.failed().next() {
            Some((guest, outcome)) => {
                let GuestPlan { spin, .. } = &multi_vm.plan.guests[guest];
                Err(Failure::Run(format!("guest `{}` with {spin}: {outcome}", multi_vm.names[guest])))
            }
            None => Ok(self.quit.map_or(ExitCode::SUCCESS, ExitCode::from)),
        }
    }
}

/// Output kept of each guest at the most.
const LIMIT: usize = 1 << 20;

/// What each guest printed.
#[derive(Default)]
struct Transcript {
    output: Vec<u8>,
    panic: KernelPanic,
}

struct Transcripts {
    /// By guest.
    guests: Vec<Transcript>,
    /// The socket through which others control the run.
    control: Option<Server>,
}

impl Console for Transcripts {
    fn output(&mut self, guest: usize, bytes: &[u8]) {
        let Transcript { output, panic } = &mut self.guests[guest];
        panic.read(bytes);
        output.extend_from_slice(&bytes[..bytes.len().min(LIMIT - output.len())]);
    }

    fn input(&mut self) -> std::io::Result<Vec<u8>> {
        interrupt::check().map(|()| Vec::new())
    }
}

impl Controller for Transcripts {
    fn between_turns(&mut self, machine: &mut Machine) -> std::io::Result<()> {
        self.control.as_mut().map_or(Ok(()), |control| control.between_turns(machine, &mut || Ok(())))
    }
}
