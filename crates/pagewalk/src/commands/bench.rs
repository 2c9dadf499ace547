//! `pagewalk bench`.

use crate::cli::BenchArgs;
use crate::error::Failure;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure`], until the machine stands under this command.
pub(super) fn run(_: &BenchArgs) -> Result<ExitCode, Failure> {
    Err(Failure::Run("`bench` cannot run yet: this build has no machine".to_owned()))
}
