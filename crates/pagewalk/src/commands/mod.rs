//! What the commands do. Each returns the process's exit code, or why it failed.

mod advise;
mod bench;
mod boot;
mod compare;
mod config;
mod explain;
mod guest;
mod hosts;
mod report;
mod reproduce;
mod reserve;
mod run;
mod vlm;

use crate::cli::{Cli, Command};
use crate::error::Failure;
use crate::output::{Output, json};
use crate::progress::set_quiet;
use serde_json::Value;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Does what the command line says.
///
/// # Errors
/// Whatever the command fails with.
pub fn run(cli: &Cli) -> Result<ExitCode, Failure> {
    if cli.quiet {
        set_quiet();
    }
    match &cli.command {
        Command::Boot(arguments) => boot::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Guest(command) => guest::run(command),
        Command::Config(arguments) => config::run(arguments),
        Command::Hosts(arguments) => hosts::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Advise(arguments) => advise::run(arguments),
        Command::Reproduce(arguments) => reproduce::run(arguments),
        Command::Reserve(command) => reserve::run(command),
        Command::Vlm(arguments) => vlm::run(arguments),
    }
}

/// Opens an output that the user asked for, before the work for it begins.
fn open_output(path: Option<&Path>) -> Result<Option<Output>, Failure> {
    path.map(|path| Output::open(path).map_err(|error| unwritten(path, &error))).transpose()
}

/// Writes a report.
fn write_report(output: Output, report: &Value) -> Result<(), Failure> {
    let name = output.name().to_owned();
    json(report).and_then(|text| output.write(&text)).map_err(|error| unwritten(&name, &error))
}

/// Writes a report as a page.
fn write_page(output: Output, page: &str) -> Result<(), Failure> {
    let name = output.name().to_owned();
    output.write(page.as_bytes()).map_err(|error| unwritten(&name, &error))
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::Run(format!("{}: {error}", path.display()))
}
