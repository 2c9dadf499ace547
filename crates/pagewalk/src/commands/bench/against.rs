//! The same programs in Pagewalk and in an emulator without a model of translation, in turn.

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
use crate::text::cell::Cell;
use crate::text::table::{Caption, Column, Table};
use crate::time_model::{TimeModels, fidelity_name};
use machine::{Console, Machine};
use serde_json::{Value, json};
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
    let mut programs = Vec::new();
    for (request, prepared) in requested.iter().zip(&prepared) {
        let mut timed = Timed::new(request, systems.len());
        match timed.measure(prepared, systems, &emulator, (arguments.repeat, &progress)) {
            Ok(()) => {}
            Err(failure @ Failure::Interrupted(_)) => return Err(failure),
            // The others are measured all the same.
            Err(failure) => timed.failed = Some(failure.to_string()),
        }
        programs.push(timed);
    }
    drop(progress);
    Ok(Against { systems: systems.to_vec(), version: emulator.version, programs })
}

/// What a run is called.
fn under(program: &str, system: &str) -> String {
    format!("{program} under {system}")
}

fn machine_time(name: &str, on: &Configured, prepared: &Prepared, progress: &Runs) -> Result<Duration, Failure> {
    let running = progress.begin(name, name);
    let mut machine = Machine::assemble(&on.config, &prepared.image(&on.config)?)?;
    machine.show_on(running.gauge());
    let _orderly = Orderly::begin();
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
    /// The geometric mean of the ratios of all programs that did not fail. `None` where all did.
    fn mean(&self, system: usize) -> Option<f64> {
        let logarithms: Vec<f64> =
            self.programs.iter().filter_map(|program| program.ratio(system)).map(f64::ln).collect();
        (!logarithms.is_empty()).then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
    }

    /// Whether every program came to a good end.
    pub(super) fn succeeded(&self) -> bool {
        self.programs.iter().all(|program| program.failed.is_none())
    }

    /// The table.
    pub(super) fn table(&self) -> Table {
        let shown = [
            ("program", "program"),
            ("scheme", "scheme"),
            ("s", "seconds"),
            ("least", "least_seconds"),
            ("most", "most_seconds"),
            ("QEMU s", "qemu_seconds"),
            ("least", "least_qemu_seconds"),
            ("most", "most_qemu_seconds"),
            ("times as fast", "ratio"),
            ("what", "what"),
        ];
        let hidden = ["host_model", "fidelity", "qemu", "failed"].map(Column::exact);
        let caption = format!(
            "time of programs in Linux by this machine's clock, with one processor and {} of memory: guests on {}, and {}\n",
            self.systems[0].config.memory,
            TimeModels::of_systems(&self.systems),
            self.version
        );
        let mut table =
            Table::new("against", shown.map(Column::from).into_iter().chain(hidden)).captioned(Caption::Above(caption));
        for program in &self.programs {
            for (number, on) in self.systems.iter().enumerate() {
                table.row(Self::row(program, number, on).chain(self.hidden(on, program.failed.as_deref())));
            }
        }
        for (number, on) in self.systems.iter().enumerate() {
            let cells = [Cell::text("geometric mean"), Cell::text(on.system.to_string())].into_iter();
            let cells = cells.chain((0..6).map(|_| Cell::exact(Value::Null)));
            let mean = self.mean(number).map_or_else(Cell::missing, |mean| Cell::fixed(mean, 2));
            let of = if self.succeeded() { "of all programs" } else { "of the programs that did not fail" };
            table.row(cells.chain([mean, Cell::text(of)]).chain(self.hidden(on, None)));
        }
        table
    }

    fn row(program: &Timed, number: usize, on: &Configured) -> impl Iterator<Item = Cell> {
        let times = |sample: &Sample| [sample.median(), sample.least(), sample.most()].map(|time| Cell::fixed(time, 2));
        let (measured, what) = match (&program.failed, program.ratio(number)) {
            (None, Some(ratio)) => {
                let times = [times(&program.ours[number]), times(&program.theirs)].into_iter().flatten();
                (times.chain([Cell::fixed(ratio, 2)]).collect(), program.about.to_owned())
            }
            (why, _) => (vec![Cell::missing(); 7], format!("failed: {}", why.as_deref().unwrap_or_default())),
        };
        let names = [Cell::text(program.name), Cell::text(on.system.to_string())].into_iter();
        let measured: Vec<Cell> = measured;
        names.chain(measured).chain([Cell::text(what)])
    }

    fn hidden(&self, on: &Configured, failed: Option<&str>) -> [Cell; 4] {
        let fidelity = fidelity_name(on.config.fidelity);
        let version = Cell::exact(self.version.as_str());
        [Cell::exact(on.host.name.as_str()), Cell::exact(fidelity), version, Cell::exact(failed)]
    }

    /// The runs and the means, for JSON.
    pub(super) fn json(&self) -> Value {
        let runs = self.programs.iter().flat_map(|program| {
            self.systems.iter().zip(&program.ours).enumerate().map(|(number, (on, ours))| {
                json!({
                    "workload": program.name,
                    "scheme": on.config.scheme.to_string(),
                    "settings": on.system.settings(),
                    "all_seconds": ours.all(),
                    "all_qemu_seconds": program.theirs.all(),
                    "ratio": program.ratio(number),
                    "failed": program.failed,
                })
            })
        });
        let runs: Vec<Value> = runs.collect();
        let means = self.systems.iter().enumerate().map(|(number, on)| {
            json!({ "scheme": on.config.scheme.to_string(), "settings": on.system.settings(), "ratio": self.mean(number) })
        });
        json!({ "qemu": self.version, "runs": runs, "geometric_means": means.collect::<Vec<_>>() })
    }
}
