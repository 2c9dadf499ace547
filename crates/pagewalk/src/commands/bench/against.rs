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
    let on = |request: &Requested, system: &str| format!("{} under {system}", request.benchmark.name);
    let names = systems.iter().map(|on| on.system.to_string()).chain([emulator.version.clone()]);
    let names: Vec<String> = names.collect();
    let kinds = requested.iter().flat_map(|request| names.iter().map(|name| on(request, name)));
    let kinds = kinds.flat_map(|kind| std::iter::repeat_n(kind, arguments.repeat as usize));
    let progress = Runs::new(kinds.collect(), 1);
    let mut programs = Vec::new();
    for (request, prepared) in requested.iter().zip(&prepared) {
        let first = &systems[0].config;
        let files = Files::of(&prepared.image(first)?, first.memory.0)?;
        let mut timed = Timed {
            name: request.benchmark.name,
            about: request.benchmark.about,
            ours: systems.iter().map(|_| Sample::default()).collect(),
            theirs: Sample::default(),
        };
        // In turns, so that whatever else the host does is done to all of them.
        for _ in 0..arguments.repeat {
            for (times, system) in timed.ours.iter_mut().zip(systems) {
                times.add(
                    machine_time(&on(request, &system.system.to_string()), system, prepared, &progress)?.as_secs_f64(),
                );
            }
            let name = on(request, &emulator.version);
            let running = progress.begin(&name, &name);
            timed.theirs.add(emulator.run(&files)?.as_secs_f64());
            running.finish(None);
        }
        programs.push(timed);
    }
    drop(progress);
    Ok(Against { systems: systems.to_vec(), version: emulator.version, programs })
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
    /// How many times as fast as the emulator a program is under a system.
    fn ratio(program: &Timed, system: usize) -> f64 {
        program.theirs.median() / program.ours[system].median()
    }

    /// The geometric mean of [`Self::ratio`] over all programs.
    fn mean(&self, system: usize) -> f64 {
        let logarithms = self.programs.iter().map(|program| Self::ratio(program, system).ln());
        (logarithms.sum::<f64>() / self.programs.len() as f64).exp()
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
        let hidden = ["host_model", "fidelity", "qemu"].map(Column::exact);
        let caption = format!(
            "time of programs in Linux by this machine's clock, with one processor and {} of memory: guests on {}, and {}\n",
            self.systems[0].config.memory,
            TimeModels::of_systems(&self.systems),
            self.version
        );
        let mut table =
            Table::new("against", shown.map(Column::from).into_iter().chain(hidden)).captioned(Caption::Above(caption));
        for program in &self.programs {
            for (number, (on, ours)) in self.systems.iter().zip(&program.ours).enumerate() {
                let seconds = [ours.median(), ours.least(), ours.most()];
                let theirs = [program.theirs.median(), program.theirs.least(), program.theirs.most()];
                let cells = [Cell::text(program.name), Cell::text(on.system.to_string())].into_iter();
                let cells = cells.chain(seconds.into_iter().chain(theirs).map(|seconds| Cell::fixed(seconds, 2)));
                let cells = cells.chain([Cell::fixed(Self::ratio(program, number), 2), Cell::text(program.about)]);
                table.row(cells.chain(self.hidden(on)));
            }
        }
        for (number, on) in self.systems.iter().enumerate() {
            let cells = [Cell::text("geometric mean"), Cell::text(on.system.to_string())].into_iter();
            let cells = cells.chain((0..6).map(|_| Cell::exact(Value::Null)));
            let cells = cells.chain([Cell::fixed(self.mean(number), 2), Cell::text("of all programs")]);
            table.row(cells.chain(self.hidden(on)));
        }
        table
    }

    fn hidden(&self, on: &Configured) -> [Cell; 3] {
        let fidelity = fidelity_name(on.config.fidelity);
        [Cell::exact(on.host.name.as_str()), Cell::exact(fidelity), Cell::exact(self.version.as_str())]
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
                    "ratio": Self::ratio(program, number),
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
