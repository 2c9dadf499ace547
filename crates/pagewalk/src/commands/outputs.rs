//! The files that commands write: opened before the work begins, written when it is done.

use crate::error::Failure;
use crate::output::{Output, json};
use serde_json::Value;
use std::io;
use std::path::Path;

/// Opens an output that the user requested, before the work for it begins.
pub(super) fn open_output(path: Option<&Path>) -> Result<Option<Output>, Failure> {
    path.map(|path| Output::open(path).map_err(|error| unwritten(path, &error))).transpose()
}

/// Writes a report.
pub(super) fn write_report(output: Output, report: &Value) -> Result<(), Failure> {
    let name = output.name().to_owned();
    json(report).and_then(|text| output.write(&text)).map_err(|error| unwritten(&name, &error))
}

/// Writes a report as a page.
pub(super) fn write_page(output: Output, page: &str) -> Result<(), Failure> {
    let name = output.name().to_owned();
    output.write(page.as_bytes()).map_err(|error| unwritten(&name, &error))
}

/// That the output at `path` could not be written.
pub(super) fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::Run(format!("{}: {error}", path.display()))
}
