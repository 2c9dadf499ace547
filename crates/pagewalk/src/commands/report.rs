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
    let bytes = input::read(&arguments.json)?;
    let page = match std::str::from_utf8(&bytes).ok().filter(|text| html::is_sweep(text)) {
        Some(_) if !arguments.with.is_empty() => {
            return Err(of_file("recordings go with the JSON of compare or run, not with lines of sweep".to_owned()));
        }
        Some(lines) => html::sweep(lines).map_err(|failure| of_file(failure.to_string()))?,
        None => of_report(arguments, &bytes)?,
    };
    if let Some(output) = open_output(Some(&arguments.html))? {
        write_page(output, &page)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The page of one document of JSON.
fn of_report(arguments: &ReportArgs, bytes: &[u8]) -> Result<String, Failure> {
    let report = input::json_of(&arguments.json, bytes, input::REPORT)?;
    warn_of_missing(&arguments.json.display().to_string(), &report);
    let mut recordings = html::Recordings::default();
    for path in &arguments.with {
        let of_recording = |problem: String| Failure::Usage(format!("--with {}: {problem}", path.display()));
        recordings.add_file(&input::read(path)?).map_err(of_recording)?;
    }
    html::of_report(&report, &recordings)
        .map_err(|failure| Failure::Usage(format!("{}: {failure}", arguments.json.display())))
}
