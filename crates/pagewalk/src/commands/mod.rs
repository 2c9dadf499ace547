//! What the commands do. Each returns the process's exit code, or why it failed.

mod bench;
mod boot;
mod compare;
mod guest;

use crate::cli::{Cli, Command};
use crate::error::Failure;
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
        Command::Guest(command) => guest::run(command),
    }
}
