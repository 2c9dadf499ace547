//! `pagewalk completions`: a script with which a shell completes commands and options.

use crate::cli::{Cli, CompletionsArgs};
use crate::error::Failure;
use crate::output::print;
use clap::CommandFactory;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure::Run`]: the script cannot be printed.
pub(super) fn run(arguments: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "pagewalk", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
