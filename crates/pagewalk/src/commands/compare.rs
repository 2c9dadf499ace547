//! `pagewalk compare`.

use crate::cli::CompareArgs;
use crate::error::Failure;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure`], until the machine stands under this command.
pub(super) fn run(_: &CompareArgs) -> Result<ExitCode, Failure> {
    Err(Failure::Run("`compare` cannot run yet: this build has no machine".to_owned()))
}
