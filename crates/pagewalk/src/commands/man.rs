//! `pagewalk man`: manual pages, made of the declaration of the command line.

use super::outputs::{open_output, unwritten};
use crate::cli::{Cli, ManArgs};
use crate::error::Failure;
use crate::output::print;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::path::Path;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`]: there is no such command; [`Failure::Run`]: a page cannot be written.
pub(super) fn run(arguments: &ManArgs) -> Result<ExitCode, Failure> {
    let root = declared();
    if let Some(directory) = &arguments.output {
        write_all(&root, directory)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut command = &root;
    for name in &arguments.command {
        let found = command.find_subcommand(name);
        let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        command = found.ok_or_else(|| Failure::Usage(keys::suggestion::unknown("command", name, names)))?;
    }
    print(&String::from_utf8_lossy(&page(command)?))?;
    Ok(ExitCode::SUCCESS)
}

/// The command line, where each command has its full name: `pagewalk-guest-fetch`.
fn declared() -> Command {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    root
}

/// Writes the pages of `command` and of those below it, as `pagewalk-compare.1`.
fn write_all(command: &Command, directory: &Path) -> Result<(), Failure> {
    let path = directory.join(format!("{}.1", full_name(command)));
    let page = page(command)?;
    if let Some(output) = open_output(Some(&path))? {
        output.write(&page).map_err(|error| unwritten(&path, &error))?;
    }
    command.get_subcommands().try_for_each(|below| write_all(below, directory))
}

/// A page in roff.
fn page(command: &Command) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    // A title such as PAGEWALK-COMPARE; without a date, so that the same program has the same pages.
    let man = Man::new(command.clone()).title(full_name(command).to_uppercase());
    man.render(&mut text).map_err(|error| Failure::Run(format!("manual page: {error}")))?;
    Ok(text)
}

fn full_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}
