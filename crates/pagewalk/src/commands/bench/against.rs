//! The same programs in Pagewalk and in an emulator without a model of translation, in turn.

mod report;

use super::benchmarks::Requested;
use super::emulator::{Emulator, Files};
use super::sample::Sample;
use super::stopwatch::{Stopwatch, timed};
use crate::cli::{BenchArgs, LinuxArgs};
use crate::error::Failure;
use crate::interrupt::{self, Orderly};
use crate::progress::Runs;
use crate::runs::image::Prepared;
use crate::runs::kernel_panic::KernelPanic;
use crate::systems::Configured;
use machine::{Console, Machine};
use std::sync::Arc;
use std::time::Duration;

/// A program, timed.
struct Timed {
    name: &'static str,
    about: &'static str,
    /// In seconds, by system.
    ours: Vec<Sample>,
    /// The emulator's, in seconds.
    theirs: Sample,
    /// Why it could not be timed to the end.
    failed: Option<String>,
}

impl Timed {
    fn new(request: &Requested, systems: usize) -> Self {
        Self {
            name: request.benchmark.name,
            about: request.benchmark.about,
            ours: (0..systems).map(|_| Sample::default()).collect(),
            theirs: Sample::default(),
            failed: None,
        }
    }

    /// Runs it under the systems and in the emulator, in turns, so that whatever else the host does is done to all of them.
    fn measure(
        &mut self,
        prepared: &Prepared,
        systems: &[Arc<Configured>],
        emulator: &Emulator,
        (repeat, progress): (u32, &Runs),
    ) -> Result<(), Failure> {
        let first = &systems[0].config;
        let files = Files::of(&prepared.image(first)?, first.memory.0)?;
        let program = self.name;
        let on = |system: &str| under(program, system);
        for _ in 0..repeat {
            for (times, system) in self.ours.iter_mut().zip(systems) {
                times.add(machine_time(&on(&system.system.to_string()), system, prepared, progress)?.as_secs_f64());
            }
            let name = on(&emulator.version);
            let running = progress.begin(&name, &name);
            self.theirs.add(emulator.run(&files)?.as_secs_f64());
            running.finish(None);
        }
        Ok(())
    }

    /// How many times as fast as the emulator it is under a system. `None` where it failed.
    fn ratio(&self, system: usize) -> Option<f64> {
        self.failed.is_none().then(|| self.theirs.median() / self.ours[system].median())
    }
}

/// A machine's console, timed.
#[derive(Default)]
struct TimedConsole {
    watch: Stopwatch,
    panic: KernelPanic,
}

impl Console for TimedConsole {
    fn output(&mut self, _guest: usize, bytes: &[u8]) {
        self.watch.read(bytes);
        self.panic.read(bytes);
    }

    fn input(&mut self) -> std::io::Result<Vec<u8>> {
        interrupt::check().map(|()| Vec::new())
    }
}

/// What was measured.
pub(super) struct Against {
    systems: Vec<Arc<Configured>>,
    version: String,
    programs: Vec<Timed>,
    /// What interrupted the measurements; the program that ran is not among the others.
    pub(super) stopped: Option<Failure>,
}

/// Runs the programs under the systems and in the emulator.
///
/// # Errors
/// [`Failure`]: bad usage, or a guest that does not come to a good end.
pub(super) fn run(
    name: &str,
    requested: &[Requested],
    systems: &[Arc<Configured>],
    arguments: &BenchArgs,
) -> Result<Against, Failure> {
    let emulator = Emulator::find(name)?;
    let linux = LinuxArgs { cache: arguments.cache.clone(), ..LinuxArgs::default() };
    let prepared = requested.iter().map(|request| {
        let name = request.benchmark.name;
        let script = request
            .script()
            .ok_or_else(|| Failure::Usage(format!("--against: {name} is no program; name others with --workload")))?;
        request.prepared_for(timed(&script), &linux)
    });
    let prepared = prepared.collect::<Result<Vec<_>, Failure>>()?;
    let names = systems.iter().map(|on| on.system.to_string()).chain([emulator.version.clone()]);
    let names: Vec<String> = names.collect();
    let kinds = requested.iter().flat_map(|request| names.iter().map(|name| under(request.benchmark.name, name)));
    let kinds = kinds.flat_map(|kind| std::iter::repeat_n(kind, arguments.repeat as usize));
    let progress = Runs::new(kinds.collect(), 1);
    // Between two runs, too, a signal waits until what was measured is written; runs of the emulator look for it.
    let _orderly = Orderly::begin();
    let mut programs = Vec::new();
    let mut stopped = None;
    for (request, prepared) in requested.iter().zip(&prepared) {
        let mut timed = Timed::new(request, systems.len());
        match timed.measure(prepared, systems, &emulator, (arguments.repeat, &progress)) {
            Ok(()) => {}
            Err(failure @ Failure::Interrupted(_)) => {
                stopped = Some(failure);
                break;
            }
            // The others are measured all the same.
            Err(failure) => timed.failed = Some(failure.to_string()),
        }
        programs.push(timed);
    }
    drop(progress);
    Ok(Against { systems: systems.to_vec(), version: emulator.version, programs, stopped })
}

/// What a run is called.
fn under(program: &str, system: &str) -> String {
    format!("{program} under {system}")
}

fn machine_time(name: &str, on: &Configured, prepared: &Prepared, progress: &Runs) -> Result<Duration, Failure> {
    let running = progress.begin(name, name);
    let mut machine = Machine::assemble(&on.config, &prepared.image(&on.config)?)?;
    machine.show_on(running.gauge());
    let mut console = TimedConsole::default();
    let outcome = machine.run(&mut console);
    if let Some(signal) = interrupt::requested() {
        return Err(Failure::Interrupted(signal));
    }
    let outcome = console.panic.judge(outcome);
    let time = console.watch.time().map_err(|problem| Failure::Run(format!("{name}: {problem} ({outcome})")))?;
    running.finish(None);
    Ok(time)
}

impl Against {
    /// Whether it was interrupted before the first program was measured.
    pub(super) fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// Whether every program came to a good end.
    pub(super) fn succeeded(&self) -> bool {
        self.programs.iter().all(|program| program.failed.is_none())
    }
}
