//! `pagewalk bench`: how fast the simulator itself is.

mod against;
mod benchmarks;
mod emulator;
mod sample;
mod stopwatch;
mod temporary;

use self::benchmarks::{Requested, Selection, requested};
use self::sample::Sample;
use super::outputs::{open_printer, write_report};
use crate::cli::{BenchArgs, LinuxArgs};
use crate::error::Failure;
use crate::interrupt::{self, Orderly};
use crate::progress::Runs;
use crate::runs::image::Prepared;
use crate::runs::quiet::QuietConsole;
use crate::runs::workload_size;
use crate::sandbox::Needs;
use crate::setup::{builder, built};
use crate::systems::{Configured, configured};
use crate::text::cell::Cell;
use crate::text::table::{Caption, Column, Table};
use crate::time_model::{TimeModels, fidelity_name};
use config::system::System;
use machine::Machine;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The schemes that are measured where none is named.
const SCHEMES: [&str; 2] = ["native:4K", "nested:4K+4K"];

/// A benchmark under a scheme, measured.
struct Measured {
    name: &'static str,
    about: &'static str,
    on: Arc<Configured>,
    instructions: u64,
    /// Million instructions a second, of each repetition.
    mips: Sample,
}

impl Measured {
    fn new(request: &Requested, on: &Arc<Configured>) -> Self {
        let benchmark = request.benchmark;
        Self { name: benchmark.name, about: benchmark.about, on: on.clone(), instructions: 0, mips: Sample::default() }
    }

    /// Runs the benchmark once more.
    fn measure(&mut self, request: &Requested, prepared: &Prepared, progress: &Runs) -> Result<(), Failure> {
        let name = format!("{} under {}", self.name, self.on.system);
        let config = &self.on.config;
        let running = progress.begin(&name, &name);
        let mut machine = Machine::assemble(config, &prepared.image(config)?)?;
        machine.show_on(running.gauge());
        let start = Instant::now();
        let _orderly = Orderly::begin();
        let mut console = QuietConsole::default();
        let outcome = machine.run(&mut console);
        let whole = start.elapsed();
        if let Some(signal) = interrupt::requested() {
            return Err(Failure::Interrupted(signal));
        }
        let outcome = console.panic.judge(outcome);
        if !outcome.succeeded() {
            return Err(Failure::Run(format!("{name}: {outcome}")));
        }
        running.finish(None);
        // A program is measured in its region of interest, the boot from the first instruction on.
        let time: Duration;
        (self.instructions, time) = if request.has_region() {
            (machine.measured().instructions, machine.region_host_time())
        } else {
            (machine.statistics().instructions, whole)
        };
        self.mips.add(self.instructions as f64 / time.as_secs_f64() / 1e6);
        Ok(())
    }
}

/// Runs the command.
///
/// # Errors
/// [`Failure`]: bad usage, or a guest that does not come to a good end.
pub(super) fn run(arguments: &BenchArgs) -> Result<ExitCode, Failure> {
    let builder = builder(&[], &arguments.config, &[])?;
    let config = built(&builder)?;
    let systems = configured(&builder, systems(arguments), &[])?;
    let default = if arguments.against.is_some() { Selection::Programs } else { Selection::Stress };
    let benchmarks = requested(&arguments.workloads, default)?;
    let least = systems.iter().map(|on| on.config.memory).min();
    for request in &benchmarks {
        let size = request.size_of_workload();
        let checked = size.map_or(Ok(()), |size| workload_size::check(request.benchmark.name, size, least));
        checked.map_err(|problem| Failure::Usage(format!("--workload: {problem}")))?;
    }
    let (mut printer, output) = open_printer(arguments.format, arguments.json.as_deref())?;
    if let Some(emulator) = &arguments.against {
        // The emulator is a program, which the sandbox starts none of.
        let against = against::run(emulator, &benchmarks, &systems, arguments)?;
        printer.table(against.table())?;
        printer.finish()?;
        if let Some(output) = output {
            let value = json!({ "version": env!("CARGO_PKG_VERSION"), "config": config, "against": against.json() });
            write_report(output, &value)?;
        }
        return Ok(if against.succeeded() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let linux = LinuxArgs { cache: arguments.cache.clone(), ..LinuxArgs::default() };
    let prepare = |request: Requested| {
        let prepared = request.prepared(&linux)?;
        Ok((request, prepared))
    };
    let benchmarks = benchmarks.into_iter().map(prepare).collect::<Result<Vec<_>, Failure>>()?;
    let needs = Needs::of_machines(1).output(output.as_ref());
    let needs = systems.iter().fold(needs, |needs, on| needs.configuration(&on.config));
    let _sandbox = needs.enter(arguments.sandbox.sandbox)?;
    let kinds = benchmarks
        .iter()
        .flat_map(|(request, _)| systems.iter().map(|on| format!("{} under {}", request.benchmark.name, on.system)));
    let kinds = kinds.flat_map(|kind| std::iter::repeat_n(kind, arguments.repeat as usize));
    let progress = Runs::new(kinds.collect(), 1);
    let mut measured = Vec::new();
    for (request, prepared) in benchmarks {
        let mut of_each: Vec<_> = systems.iter().map(|on| Measured::new(&request, on)).collect();
        // In turns, so that whatever else the host does is done to all of them.
        for _ in 0..arguments.repeat {
            for run in &mut of_each {
                run.measure(&request, &prepared, &progress)?;
            }
        }
        measured.append(&mut of_each);
    }
    drop(progress);
    printer.table(table(&measured, &TimeModels::of_systems(&systems)))?;
    printer.finish()?;
    if let Some(output) = output {
        let runs: Vec<_> = measured
            .iter()
            .map(|run| {
                json!({
                    "workload": run.name,
                    "scheme": run.on.config.scheme.to_string(),
                    "settings": run.on.system.settings(),
                    "instructions": run.instructions,
                    "mips": run.mips.median(),
                    "all_mips": run.mips.all(),
                })
            })
            .collect();
        let value = json!({ "version": env!("CARGO_PKG_VERSION"), "config": config, "runs": runs });
        write_report(output, &value)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn systems(arguments: &BenchArgs) -> Vec<System> {
    if !arguments.schemes.is_empty() {
        return arguments.schemes.iter().flat_map(|list| list.0.iter().cloned()).collect();
    }
    SCHEMES.map(|scheme| scheme.parse().expect("the default schemes exist")).into()
}

fn table(measured: &[Measured], times: &TimeModels) -> Table {
    let columns = [
        ("benchmark", "benchmark"),
        ("scheme", "scheme"),
        ("M instr", "instructions"),
        ("MIPS", "median_mips"),
        ("least", "least_mips"),
        ("most", "most_mips"),
        ("what", "what"),
    ];
    let hidden = ["host_model", "fidelity"].map(Column::exact);
    let caption =
        format!("the simulator's own speed on this machine: million guest instructions a second; guests on {times}\n");
    let mut table = Table::new("benchmarks", columns.map(Column::from).into_iter().chain(hidden))
        .captioned(Caption::Above(caption));
    for run in measured {
        table.row([
            Cell::text(run.name),
            Cell::text(run.on.system.to_string()),
            Cell::millions(run.instructions),
            Cell::fixed(run.mips.median(), 0),
            Cell::fixed(run.mips.least(), 0),
            Cell::fixed(run.mips.most(), 0),
            Cell::text(run.about),
            Cell::exact(run.on.host.name.as_str()),
            Cell::exact(fidelity_name(run.on.config.fidelity)),
        ]);
    }
    table
}
