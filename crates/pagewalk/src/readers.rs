//! The documents that commands read, each by a function of its text that does nothing with it: for fuzz targets.

use crate::error::Failure;
use crate::html;
use crate::multi_vm::file;
use crate::reproduce::Experiment;
use machine::registry::Registry;
use serde_json::Value;

/// The page of HTML for a report in JSON, as `pagewalk report` makes it.
///
/// # Errors
/// [`Failure::Usage`]: it is no JSON, or no command's.
pub fn report(text: &str) -> Result<String, Failure> {
    let report: Value = serde_json::from_str(text).map_err(|error| Failure::Usage(error.to_string()))?;
    html::of_report(&report, &html::Recordings::default())
}

/// Reads an experiment of `pagewalk reproduce`.
///
/// # Errors
/// [`Failure::Usage`], naming the key.
pub fn experiment(text: &str) -> Result<(), Failure> {
    Experiment::read("experiment.toml", text).map(|_| ()).map_err(|error| Failure::Usage(error.to_string()))
}

/// Reads a file of `pagewalk run`, and makes the images of its guests.
///
/// # Errors
/// [`Failure`], naming the key.
pub fn multi_vm(text: &str) -> Result<(), Failure> {
    file::of_text("run.toml", text, &[], Registry::default()).map(|_| ())
}
