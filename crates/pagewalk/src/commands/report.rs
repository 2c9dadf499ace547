//! `pagewalk report`: a page of JSON that a command wrote earlier.

use super::outputs::{open_output, write_page};
use crate::cli::ReportArgs;
use crate::comparison::warn_of_missing;
use crate::error::Failure;
use crate::html;
use crate::input;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure`]: the file cannot be read, or is not what a command wrote.
pub(super) fn run(arguments: &ReportArgs) -> Result<ExitCode, Failure> {
    let of_file = |problem: String| Failure::Usage(format!("{}: {problem}", arguments.json.display()));
    let report = input::json(&arguments.json, input::REPORT)?;
    warn_of_missing(&arguments.json.display().to_string(), &report);
    let mut recordings = html::Recordings::default();
    for path in &arguments.with {
        let of_recording = |problem: String| Failure::Usage(format!("--with {}: {problem}", path.display()));
        recordings.add_file(&input::read(path)?).map_err(of_recording)?;
    }
    let page = html::of_report(&report, &recordings).map_err(|failure| of_file(failure.to_string()))?;
    if let Some(output) = open_output(Some(&arguments.html))? {
        write_page(output, &page)?;
    }
    Ok(ExitCode::SUCCESS)
}
