//! `pagewalk bench`: how fast the simulator itself is.

mod against;
mod benchmarks;
mod emulator;
mod measured;
mod sample;
mod stopwatch;
mod temporary;

use self::benchmarks::{Requested, Selection, requested};
use self::measured::Measured;
use super::outputs::{open_printer, write_report};
use crate::cli::{BenchArgs, LinuxArgs};
use crate::error::Failure;
use crate::interrupt::Orderly;
use crate::progress::Runs;
use crate::runs::workload_size;
use crate::sandbox::Needs;
use crate::setup::{builder, built};
use crate::systems::configured;
use crate::time_model::TimeModels;
use config::system::System;
use serde_json::json;
use std::process::ExitCode;

/// The schemes that are measured where none is named.
const SCHEMES: [&str; 2] = ["native:4K", "nested:4K+4K"];

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
        if !against.is_empty() {
            printer.table(against.table())?;
            printer.finish()?;
        }
        if let Some(output) = output {
            let incomplete = against.stopped.is_some();
            let against = against.json();
            let value = json!({
                "version": env!("CARGO_PKG_VERSION"),
                "config": config,
                "against": against,
                "incomplete": incomplete,
            });
            write_report(output, &value)?;
        }
        let succeeded = against.succeeded();
        return end(against.stopped, succeeded);
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
    // Between two runs, too, a signal waits until what was measured is written.
    let _orderly = Orderly::begin();
    let mut measured = Vec::new();
    let mut stopped = None;
    for (request, prepared) in benchmarks {
        let mut of_each: Vec<_> = systems.iter().map(|on| Measured::new(&request, on)).collect();
        // In turns, so that whatever else the host does is done to all of them.
        let mut turns = (0..arguments.repeat).flat_map(|_| 0..systems.len());
        stopped = turns.find_map(|system| of_each[system].measure(&request, &prepared, &progress).err());
        measured.append(&mut of_each);
        if stopped.is_some() {
            break;
        }
    }
    drop(progress);
    measured.retain(Measured::was_run);
    if !measured.is_empty() {
        printer.table(measured::table(&measured, &TimeModels::of_systems(&systems)))?;
        printer.finish()?;
    }
    if let Some(output) = output {
        let runs = measured::json(&measured);
        let incomplete = stopped.is_some();
        let value =
            json!({ "version": env!("CARGO_PKG_VERSION"), "config": config, "runs": runs, "incomplete": incomplete });
        write_report(output, &value)?;
    }
    end(stopped, measured.iter().all(Measured::succeeded))
}

/// How the command ends, of which all that was measured has been written.
fn end(stopped: Option<Failure>, succeeded: bool) -> Result<ExitCode, Failure> {
    match stopped {
        Some(interrupted) => Err(interrupted),
        None if succeeded => Ok(ExitCode::SUCCESS),
        None => Ok(ExitCode::FAILURE),
    }
}

fn systems(arguments: &BenchArgs) -> Vec<System> {
    if !arguments.schemes.is_empty() {
        return arguments.schemes.iter().flat_map(|list| list.0.iter().cloned()).collect();
    }
    SCHEMES.map(|scheme| scheme.parse().expect("the default schemes exist")).into()
}
