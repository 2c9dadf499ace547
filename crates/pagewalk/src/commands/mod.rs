//! What the commands do. Each returns the process's exit code, or why it failed.

mod advise;
mod bench;
mod boot;
mod calibrate;
mod compare;
mod completions;
mod config;
mod control;
mod explain;
mod guest;
mod hosts;
mod man;
mod outputs;
mod recording;
mod report;
mod reproduce;
mod reserve;
mod run;
mod validate;
mod vlm;

pub(crate) use compare::work_of;

use crate::cli::{Cli, Command};
use crate::error::Failure;
use crate::progress::set_quiet;
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
        Command::Record(arguments) => recording::record::run(arguments),
        Command::Import(arguments) => recording::import::run(arguments),
        Command::Sweep(arguments) => recording::sweep::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Guest(command) => guest::run(command),
        Command::Config(arguments) => config::run(arguments),
        Command::Hosts(arguments) => hosts::run(arguments),
        Command::Calibrate(arguments) => calibrate::run(arguments),
        Command::Validate(arguments) => validate::run(arguments),
        Command::Ctl(arguments) => control::ctl::run(arguments),
        Command::Top(arguments) => control::top::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Advise(arguments) => advise::run(arguments),
        Command::Reproduce(arguments) => reproduce::run(arguments),
        Command::Reserve(command) => reserve::run(command),
        Command::Vlm(arguments) => vlm::run(arguments),
        Command::Completions(arguments) => completions::run(arguments),
        Command::Man(arguments) => man::run(arguments),
    }
}
