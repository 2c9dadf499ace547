//! A guest that a program runs piece by piece and looks at in between: the base of `Machine` in the Python package (docs/python.md).
//!
//! What is looked at changes nothing, and a stop takes no simulated time: the guest that is run in pieces has the counts of one that is run at once.

mod console;
mod refusal;
mod values;

use crate::cli::{self, BootArgs, WorkloadSpec};
use crate::commands::work_of;
use crate::control::counted;
use crate::error::Failure;
use crate::output::Output;
use crate::runs::image::{GuestKind, SHELL, ShellConsole, Work, prepare, program_memory};
use crate::runs::kernel_panic::KernelPanic;
use crate::runs::start::{self, Start};
use crate::systems::Configured;
use crate::walks;
use console::KeptConsole;
use machine::debug::{DebugEvent, DebugSession, DebugStop, LookError, StopPoints};
use machine::snapshot::{About, DiskContents, SnapshotAt};
use machine::{Machine, Outcome};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;
use types::{Gpa, Gva, Hpa};

pub use machine::debug::{DataKind, DataWatch, StopCause};

/// Where a run ends, if the guest does not end before.
#[derive(Clone, Debug, Default)]
pub struct Until {
    /// Instructions that the harts retire together.
    pub instructions: Option<u64>,
    /// Guest virtual addresses of instructions. The guest stops before one of them.
    pub breakpoints: Vec<u64>,
    /// Data. The guest stops before an instruction that accesses it.
    pub data: Vec<DataWatch>,
    /// This hart executes one instruction.
    pub step: Option<usize>,
}

/// Why a run has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// A hart has stopped.
    Hart {
        /// Its number.
        hart: usize,
        /// Why.
        cause: StopCause,
    },
    /// Nothing happens any more unless something is typed.
    Idle,
    /// The caller has asked for it.
    Requested,
    /// The guest has ended.
    Ended(Outcome),
}

/// The three kinds of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressSpace {
    /// As the guest's programs and kernel have them.
    GuestVirtual,
    /// The guest's memory.
    GuestPhysical,
    /// The host's memory.
    HostPhysical,
}

/// A guest that is run piece by piece.
pub struct Interactive {
    machine: Machine,
    beginning: Start,
    on: Arc<Configured>,
    about: About,
    console: KeptConsole,
    panic: KernelPanic,
    outcome: Option<Outcome>,
    /// Why no snapshot can be written of it.
    unsaved: Option<String>,
}

impl Interactive {
    /// A guest as the options of `pagewalk boot` describe it, which has executed nothing. With `workload`, it does that instead of opening a console.
    /// Options that write files, and a network, are for the command alone.
    ///
    /// # Errors
    /// [`Failure`], as of the command.
    pub fn new(options: &[String], workload: Option<&str>) -> Result<Self, Failure> {
        let arguments = cli::boot_arguments(options)?;
        refusal::check(&arguments)?;
        let snapshot = arguments.restore.as_deref().map(start::open).transpose()?;
        let kind = GuestKind::parse(&arguments.guest);
        // As `compare` has it, so that a workload has the same counts here.
        let defaults = match (&kind, workload) {
            (GuestKind::Vos, Some(_)) => start::VOS_WORKLOADS,
            _ => start::of_guest(false),
        };
        let (on, shared) = start::configured(&arguments, snapshot.as_deref(), defaults)?;
        let beginning = match &snapshot {
            Some(snapshot) => Start::Snapshot(snapshot.clone()),
            None => {
                let work = work(&kind, &arguments, workload)?;
                Start::Boot(Box::new(prepare(kind, work, &arguments.linux, program_memory(&on.config))?))
            }
        };
        beginning.check(&on, &shared)?;
        let about = beginning.about(&on.config)?;
        let mut machine = beginning.machine(&on, &shared)?;
        // It never comes so far by itself.
        let unsaved = machine.snapshot_at(SnapshotAt::Instructions(u64::MAX), DiskContents::Lost).err();
        let unsaved = unsaved.map(|error| error.to_string());
        let (console, panic) = (KeptConsole::default(), KernelPanic::default());
        Ok(Self { machine, beginning, on, about, console, panic, outcome: None, unsaved })
    }

    /// Runs the guest. `goes_on` is called between turns, about every 65,536 instructions at the latest: the run ends where it returns false.
    ///
    /// # Errors
    /// [`Failure::Run`]: the guest has ended before.
    pub fn run(&mut self, until: &Until, mut goes_on: impl FnMut() -> bool) -> Result<Stop, Failure> {
        self.check_running()?;
        if until.instructions == Some(0) {
            return Ok(Stop::Requested);
        }
        let mut session = DebugSession::begin(&mut self.machine);
        session.resume(StopPoints::new(until.breakpoints.clone(), until.data.clone()), until.step);
        session.limit(until.instructions);
        loop {
            match session.advance(&mut self.console) {
                // With one guest, a vCPU has the number of its hart.
                DebugEvent::Stopped(DebugStop { vcpu, cause }) => return Ok(Stop::Hart { hart: vcpu, cause }),
                DebugEvent::Ended(mut outcomes) => {
                    let outcome = outcomes.swap_remove(0);
                    self.panic.read(self.console.output());
                    let outcome = self.panic.judge(outcome);
                    self.outcome = Some(outcome.clone());
                    return Ok(Stop::Ended(outcome));
                }
                DebugEvent::Turn if self.console.take_idle() => return Ok(Stop::Idle),
                DebugEvent::Turn if !goes_on() => return Ok(Stop::Requested),
                DebugEvent::Turn => {}
            }
        }
    }

    /// How the guest has ended, if it has.
    #[must_use]
    pub const fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Its system, as `--scheme` takes it.
    #[must_use]
    pub fn system(&self) -> String {
        self.on.system.to_string()
    }

    /// What it runs.
    #[must_use]
    pub fn work(&self) -> &str {
        &self.about.work
    }

    /// How many harts it has.
    #[must_use]
    pub fn harts(&mut self) -> usize {
        self.session().vcpus()
    }

    /// Simulated time since the beginning, in cycles.
    #[must_use]
    pub fn elapsed(&self) -> u64 {
        self.machine.elapsed().0
    }

    /// What the guest has printed since the last call.
    pub fn take_output(&mut self) -> Vec<u8> {
        let output = self.console.take_output();
        self.panic.read(&output);
        output
    }

    /// Types `keys` at the guest's console. The guest gets them as it runs.
    pub fn type_keys(&mut self, keys: &[u8]) {
        self.console.type_keys(keys);
    }

    /// The registers of a hart: `pc`, `x`, `f`, and control and status registers by name.
    ///
    /// # Errors
    /// [`Failure::Usage`]: there is no such hart.
    pub fn registers(&mut self, hart: usize) -> Result<Value, Failure> {
        self.check_hart(hart)?;
        values::registers(&self.session().hart(hart).registers)
    }

    /// Changes those registers of a hart that `changes` names, as [`registers`](Self::registers) does.
    ///
    /// # Errors
    /// [`Failure::Usage`]: there is no such hart or register, or a value is out of range; [`Failure::Run`]: the guest has ended.
    pub fn set_registers(&mut self, hart: usize, changes: &Map<String, Value>) -> Result<(), Failure> {
        self.check_running()?;
        self.check_hart(hart)?;
        let mut session = self.session();
        let registers = values::changed(&session.hart(hart).registers, changes)?;
        session.set_registers(hart, &registers);
        Ok(())
    }

    /// `bytes` bytes of memory. A virtual address is one of `hart`'s address space.
    ///
    /// # Errors
    /// [`Failure::Usage`]: not all of them can be read.
    pub fn read(&mut self, space: AddressSpace, address: u64, bytes: usize, hart: usize) -> Result<Vec<u8>, Failure> {
        self.check_hart(hart)?;
        let mut memory = vec![0; bytes];
        let session = self.session();
        match space {
            AddressSpace::GuestVirtual => {
                let read =
                    session.read_virtual(hart, Gva(address), &mut memory).map_err(|error| at(address, &error))?;
                if read < bytes {
                    return Err(at(address, &format!("only {read} of {bytes} bytes can be read")));
                }
            }
            AddressSpace::GuestPhysical => {
                session.read_guest(0, Gpa(address), &mut memory).map_err(|error| at(address, &error))?;
            }
            AddressSpace::HostPhysical => {
                session.read_host(Hpa(address), &mut memory).map_err(|error| at(address, &error))?;
            }
        }
        Ok(memory)
    }

    /// Stores `bytes` at a virtual address of `hart`.
    ///
    /// # Errors
    /// [`Failure::Usage`]: not all of them can be written; [`Failure::Run`]: the guest has ended.
    pub fn write(&mut self, address: u64, bytes: &[u8], hart: usize) -> Result<(), Failure> {
        self.check_running()?;
        self.check_hart(hart)?;
        self.session().write_virtual(hart, Gva(address), bytes).map_err(|error| at(address, &error))
    }

    /// The walk of a load of `hart` from `address`, with nothing cached and with what is cached; the keys are those of `recorded_walk` in
    /// docs/json-keys.md.
    ///
    /// # Errors
    /// [`Failure::Usage`]: the address is not mapped, or the hart has never run.
    pub fn walk(&mut self, address: u64, hart: usize) -> Result<Value, Failure> {
        self.check_hart(hart)?;
        self.session().walk(hart, Gva(address)).map(|walk| walks::value(&walk)).map_err(|error| at(address, &error))
    }

    /// What the TLBs of the hart's pCPU hold for the guest: `l1d`, `l1i` and `l2`, each from the most to the least recently used entry.
    ///
    /// # Errors
    /// [`Failure::Usage`]: there is no such hart, or it has never run.
    pub fn tlb(&mut self, hart: usize) -> Result<Value, Failure> {
        self.check_hart(hart)?;
        let contents = self.session().tlb(hart);
        contents.map(|contents| values::tlb(&contents)).map_err(|error: LookError| Failure::Usage(error.to_string()))
    }

    /// What was counted from the beginning; the keys are those of a run in docs/json-keys.md.
    #[must_use]
    pub fn statistics(&self) -> Value {
        counted(&self.about.work, &self.machine.statistics_of(0))
    }

    /// Writes the guest to a file, and ends it. Its hart first comes to the end of its turn, which takes up to 65,536 instructions.
    ///
    /// # Errors
    /// [`Failure::Run`]: the guest has ended, has what no snapshot can hold, or the file cannot be written.
    pub fn snapshot(&mut self, path: &Path) -> Result<(), Failure> {
        self.check_running()?;
        let named = |problem: &dyn std::fmt::Display| Failure::Run(format!("{}: {problem}", path.display()));
        if let Some(unsaved) = &self.unsaved {
            return Err(named(unsaved));
        }
        let output = Output::open_seekable(path).map_err(|error| named(&error))?;
        let mut session = DebugSession::begin(&mut self.machine);
        session.resume(StopPoints::default(), None);
        session.limit(None);
        while session.is_within_turn() {
            if let DebugEvent::Ended(mut outcomes) = session.advance(&mut self.console) {
                self.outcome = Some(outcomes.swap_remove(0));
                return self.check_running();
            }
        }
        self.machine.snapshot_now().map_err(|error| named(&error))?;
        let outcome = self.machine.run(&mut self.console);
        self.outcome = Some(outcome.clone());
        match outcome {
            Outcome::SnapshotTaken => self.beginning.save(output, &mut self.machine, &self.on.config, &self.about),
            other => Err(named(&other)),
        }
    }

    fn session(&mut self) -> DebugSession<'_> {
        DebugSession::begin(&mut self.machine)
    }

    fn check_running(&self) -> Result<(), Failure> {
        match &self.outcome {
            Some(outcome) => Err(Failure::Run(format!("the guest has ended: {outcome}"))),
            None => Ok(()),
        }
    }

    fn check_hart(&mut self, hart: usize) -> Result<(), Failure> {
        match self.harts() {
            harts if hart < harts => Ok(()),
            harts => Err(Failure::Usage(format!("there is no hart {hart}: the guest has harts 0 to {}", harts - 1))),
        }
    }
}

/// What the guest is to do.
fn work(kind: &GuestKind, arguments: &BootArgs, workload: Option<&str>) -> Result<Work, Failure> {
    match (workload, &arguments.run) {
        (Some(_), Some(_)) => Err(Failure::Usage("a guest runs a workload or a command, not both".to_owned())),
        (Some(workload), None) => {
            let spec: WorkloadSpec = workload.parse().map_err(|error| Failure::Usage(format!("workload: {error}")))?;
            work_of(&spec, kind).map(|(_, work)| work)
        }
        (None, Some(command)) if *kind == GuestKind::Vos && command == SHELL => Ok(Work::Shell(ShellConsole::Stream)),
        (None, Some(command)) => Ok(Work::Command(command.clone())),
        (None, None) if *kind == GuestKind::Vos && arguments.linux.append.is_none() => {
            Ok(Work::Shell(ShellConsole::Stream))
        }
        (None, None) => Ok(Work::Console),
    }
}

fn at(address: u64, problem: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{address:#x}: {problem}"))
}
