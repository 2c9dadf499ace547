//! `pagewalk calibrate`: measures the machine that it runs on, and writes a model of it.

use super::outputs::{open_output, open_printer, unwritten, write_page, write_report};
use crate::calibration::{Calibrated, Quantity, quantities, report, warnings};
use crate::cli::CalibrateArgs;
use crate::error::Failure;
use crate::html;
use crate::progress::Progress;
use crate::text::cell::Cell;
use crate::text::table::{Column, Table};
use calibrate::Effort;
use config::host_model::HostModel;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure`]: the base is no model with caches, there is no memory to measure with, or an output cannot be written.
pub(super) fn run(arguments: &CalibrateArgs) -> Result<ExitCode, Failure> {
    let base = HostModel::load(&arguments.base)?;
    if base.caches.is_none() {
        return Err(Failure::Usage(format!("--base {}: the model has no caches", arguments.base)));
    }
    let model_output = open_output(arguments.output.as_deref())?;
    let (mut printer, json_output) = open_printer(arguments.format, arguments.json.as_deref())?;
    let html_output = open_output(arguments.html.as_deref())?;
    let effort = if arguments.quick { Effort::QUICK } else { Effort::FULL };
    let mut progress = Progress::new();
    let findings = calibrate::measure(effort, |next| progress.say(&format!("calibrate: {next}")));
    drop(progress);
    let findings = findings.map_err(|reason| Failure::Run(format!("calibrate: {reason}")))?;
    let base_name = lasting(&arguments.base);
    let calibrated = Calibrated { findings: &findings, base_name: &base_name, base: &base };
    let name = arguments
        .output
        .as_deref()
        .and_then(Path::file_stem)
        .map_or_else(|| "calibrated".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let model = calibrated.text(&name);
    HostModel::parse("the measured model", &model)?;
    printer.table(table(&quantities(&findings)))?;
    printer.say("\n")?;
    for warning in warnings(&findings) {
        printer.paragraph("", "", &warning)?;
    }
    match model_output {
        Some(output) => {
            let path = output.name().to_owned();
            output.write(model.as_bytes()).map_err(|error| unwritten(&path, &error))?;
        }
        None => printer.say("-o FILE.toml writes a host model, for --set host=FILE.toml\n")?,
    }
    printer.finish()?;
    let report = report(&findings, &base_name, &model);
    if let Some(output) = html_output {
        write_page(output, &html::calibration(&report)?)?;
    }
    json_output.map_or(Ok(()), |output| write_report(output, &report))?;
    Ok(ExitCode::SUCCESS)
}

/// The name of a base that holds wherever the model goes: a file's relative path would begin at the model's.
fn lasting(base: &str) -> String {
    let shipped = HostModel::names().any(|name| name == base);
    let absolute = (!shipped).then(|| fs::canonicalize(base).ok()).flatten();
    absolute.map_or_else(|| base.to_owned(), |path| path.display().to_string())
}

fn table(quantities: &[Quantity]) -> Table {
    let columns = [
        ("quantity", "quantity"),
        ("value", "value"),
        ("unit", "unit"),
        ("from", "low"),
        ("to", "high"),
        ("sure", "certainty"),
    ];
    let mut table = Table::new("quantities", columns.map(Column::from).into_iter().chain([Column::exact("key")]));
    for Quantity { key, name, unit, number, .. } in quantities {
        let cells = match number {
            Ok(number) => {
                let [value, low, high] =
                    [number.value, number.low, number.high].map(|value| Cell::new(unit.text(value), value));
                [value, Cell::new(unit.name(), unit.exact_name()), low, high, Cell::text(number.certainty.name())]
            }
            Err(reason) => {
                let reason = Cell::text(format!("not measured: {reason}"));
                [Cell::missing(), Cell::default(), Cell::default(), Cell::default(), reason]
            }
        };
        table.row([Cell::text(name)].into_iter().chain(cells).chain([Cell::exact(key.as_str())]));
    }
    table
}
