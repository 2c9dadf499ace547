//! Reports as HTML: one file that needs nothing beside it and no network, made from what the commands write as JSON.
//!
//! A report is a typed [`document::Document`] of sections. What a command measured becomes one in the file of its name ([`mod@comparison`], …);
//! [`page`] writes it by the templates in `assets/report`, in which every text is escaped. The same JSON gives the same bytes.

mod calibration;
mod charts;
mod comparison;
mod document;
mod figures;
mod glossary;
mod host;
mod legend;
mod multi_vm;
mod page;
mod palette;
mod read;
mod recordings;
mod reproduction;
#[cfg(test)]
mod size_tests;
mod sweep;
mod validation;
mod vlm;
mod walks;

pub(crate) use calibration::calibration;
pub(crate) use comparison::comparison;
pub(crate) use multi_vm::multi_vm;
pub(crate) use recordings::Recordings;
pub(crate) use reproduction::of_reproduction;
pub(crate) use sweep::{is_sweep, sweep};
pub(crate) use validation::validation;
pub(crate) use vlm::vlm;

use crate::error::Failure;
use crate::input::REPORT;
use serde_json::Value;

/// The page for the JSON of any command that has one, with what was recorded beside it.
///
/// # Errors
/// [`Failure::Usage`]: it is of another command, or a key is missing; or that command records nothing.
pub(crate) fn of_report(report: &Value, recordings: &Recordings) -> Result<String, Failure> {
    let has = |key: &str| report.get(key).is_some();
    let guests = report.pointer("/runs/0/guests").is_some() || has("guests");
    if recordings.any()
        && !guests
        && (has("claims") || has("papers") || has("figure_4") || has("staircases") || has("validation"))
    {
        Err(Failure::Usage("recordings go with the JSON of compare or run, not with this".to_owned()))
    } else if has("claims") || has("papers") {
        of_reproduction(report)
    } else if guests {
        multi_vm(report, recordings)
    } else if has("figure_4") {
        vlm(report)
    } else if has("staircases") {
        calibration(report)
    } else if has("validation") {
        validation(report)
    } else if has("runs") {
        comparison(report, recordings)
    } else {
        Err(Failure::Usage(format!("JSON, but not {REPORT}")))
    }
}
