//! `pagewalk report`: a page of JSON that a command wrote earlier.

use super::write_page;
use crate::cli::ReportArgs;
use crate::error::Failure;
use crate::html;
use serde_json::Value;
use std::fs;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure`]: the file cannot be read, or is not what a command wrote.
pub(super) fn run(arguments: &ReportArgs) -> Result<ExitCode, Failure> {
    let of_file = |problem: String| Failure::Usage(format!("{}: {problem}", arguments.json.display()));
    let text = fs::read_to_string(&arguments.json).map_err(|error| of_file(error.to_string()))?;
    let report: Value = serde_json::from_str(&text).map_err(|error| of_file(error.to_string()))?;
    let page = html::of_report(&report).map_err(|failure| of_file(failure.to_string()))?;
    write_page(&arguments.html, &page)?;
    Ok(ExitCode::SUCCESS)
}
