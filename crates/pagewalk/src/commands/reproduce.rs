//! `pagewalk reproduce`.

use super::outputs::{open_output, open_printer, write_page, write_report};
use crate::cli::ReproduceArgs;
use crate::error::Failure;
use crate::guest::Cache;
use crate::html;
use crate::reproduce::{Experiment, Reproduction, Scale, Verdicts, measure, print};
use crate::store::Store;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure`]: no such paper, or a measurement that fails. That a claim does not hold is a result.
pub(super) fn run(arguments: &ReproduceArgs) -> Result<ExitCode, Failure> {
    let experiment = Experiment::load(&arguments.paper).map_err(|error| Failure::Usage(error.to_string()))?;
    let (mut printer, json) = open_printer(arguments.format, arguments.json.as_deref())?;
    let html = open_output(arguments.html.as_deref())?;
    let verdicts = open_output(arguments.verdicts.as_deref())?;
    let cache = Cache::locate(arguments.cache.directory.as_deref())?;
    let directory = cache.root().join("results");
    let store =
        Store::open(directory.clone()).map_err(|error| Failure::Run(format!("{}: {error}", directory.display())))?;
    let scale = if arguments.full { Scale::Full } else { Scale::Short };
    let measurements = measure(&experiment, scale, &store, cache.root(), arguments.sandbox.sandbox)?;
    let reproduction = Reproduction::of(&experiment, scale, measurements)?;
    print(&reproduction, &mut printer)?;
    printer.finish()?;
    verdicts.map_or(Ok(()), |output| write_report(output, &Verdicts::of(&reproduction).json()))?;
    if json.is_some() || html.is_some() {
        let report = reproduction.json();
        json.map_or(Ok(()), |output| write_report(output, &report))?;
        html.map_or(Ok(()), |output| write_page(output, &html::reproduction(&report)?))?;
    }
    Ok(ExitCode::SUCCESS)
}
