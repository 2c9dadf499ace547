//! The files that commands write: opened before the work begins, written when it is done.

use crate::cli::{ControlArgs, FormatArgs};
use crate::control::{Guests, Server, Snapshots, SocketAddress};
use crate::error::Failure;
use crate::html::Recordings;
use crate::observe::Documents;
use crate::output::{Format, Output, Printer, json};
use serde_json::Value;
use std::io;
use std::path::Path;

/// What users call standard output where a file is named.
const STANDARD_OUTPUT: &str = "-";

/// Opens an output that the user requested, before the work for it begins.
pub(super) fn open_output(path: Option<&Path>) -> Result<Option<Output>, Failure> {
    path.map(|path| Output::open(path).map_err(|error| unwritten(path, &error))).transpose()
}

/// Opens what a command prints on, and its report, which `--format json` has on standard output.
pub(super) fn open_printer(format: FormatArgs, json: Option<&Path>) -> Result<(Printer, Option<Output>), Failure> {
    let json = match (format.format, json) {
        (Format::Json, Some(_)) => {
            let problem = "--format json prints the report that --json writes: use one of them";
            return Err(Failure::Usage(problem.to_owned()));
        }
        (Format::Json, None) => Some(Path::new(STANDARD_OUTPUT)),
        (_, json) => json,
    };
    let report = open_output(json)?;
    let printer = Printer::beside_report(format.format).map_err(|error| unwritten(Path::new("--format"), &error))?;
    Ok((printer, report))
}

/// Opens the socket through which a run is controlled, if the user requested one.
pub(super) fn open_control(
    arguments: &ControlArgs,
    guests: impl FnOnce() -> Guests,
    snapshots: Snapshots,
) -> Result<Option<Server>, Failure> {
    let open = move |address: &SocketAddress| {
        let failed = |error| Failure::Run(format!("--control unix:{}: {error}", address.0.display()));
        Server::open(address, guests(), snapshots).map_err(failed)
    };
    arguments.control.as_ref().map(open).transpose()
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

/// What a page shows beside its report: a profile, and what was recorded over time.
///
/// # Errors
/// [`Failure::Run`]: it is not what a page can read.
pub(super) fn page_recordings(profile: Option<Value>, over_time: Documents) -> Result<Recordings, Failure> {
    let mut recordings = Recordings::default();
    let Documents { intervals, others } = over_time;
    if !intervals.is_empty() {
        recordings.add_file(&intervals).map_err(Failure::Run)?;
    }
    profile.into_iter().chain(others).try_for_each(|document| recordings.add(document)).map_err(Failure::Run)?;
    Ok(recordings)
}

/// That the output at `path` could not be written.
pub(super) fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::Run(format!("{}: {error}", path.display()))
}
