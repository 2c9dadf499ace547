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
use crate::output::{check_writable, write_atomically, write_json};
use serde_json::Value;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Does what the command line says.
///
/// # Errors
/// Whatever the command fails with.
pub fn run(cli: &Cli) -> Result<ExitCode, Failure> {
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

/// Refuses a report's file that cannot be written before the work for it begins.
fn check_report(path: Option<&Path>) -> Result<(), Failure> {
    path.map_or(Ok(()), |path| check_writable(path).map_err(|error| unwritten(path, &error)))
}

/// Writes a report.
fn write_report(path: &Path, report: &Value) -> Result<(), Failure> {
    write_json(path, report).map_err(|error| unwritten(path, &error))
}

/// Writes a report as a page.
fn write_page(path: &Path, page: &str) -> Result<(), Failure> {
    write_atomically(path, page.as_bytes()).map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::Run(format!("{}: {error}", path.display()))
}
