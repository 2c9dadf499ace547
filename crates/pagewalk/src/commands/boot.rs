//! `pagewalk boot`.

use crate::cli::BootArgs;
use crate::error::Failure;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure`], until the machine stands under this command.
pub(super) fn run(_: &BootArgs) -> Result<ExitCode, Failure> {
    Err(Failure::Run("`boot` cannot run yet: this build has no machine".to_owned()))
}
