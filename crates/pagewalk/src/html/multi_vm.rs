//! The report of `run`: guests that share a host, and spin methods side by side, by the items of the 1995 paper's Tables 2 to 4.

mod guests;
mod measured;
mod methods;

use super::document::{Document, Finding};
use super::figures::{counted, listed, percent};
use super::host;
use super::page::page;
use super::read::read;
use super::recordings::{self, Recordings};
use crate::error::Failure;
use crate::time_model::TimeModels;
use measured::MultiVm;
use serde_json::Value;

/// The page, with what was recorded beside the report.
///
/// # Errors
/// [`Failure::Usage`]: it is not what `run` writes.
pub(crate) fn multi_vm(report: &Value, recordings: &Recordings) -> Result<String, Failure> {
    let runs: Vec<MultiVm> = match report.get("runs") {
        Some(runs) => read(runs)?,
        None => vec![read(report)?],
    };
    let Some(first) = runs.first() else { return Err(Failure::Usage("there is no run in it".to_owned())) };
    let guests: Vec<&str> = first.guests.iter().map(|guest| guest.name.as_str()).collect();
    let times = TimeModels::of_report(report.get("runs").map_or(report, |runs| &runs[0]));
    let spins: Vec<&str> = runs.iter().map(MultiVm::spin).collect();
    let (title, which) = if runs.len() > 1 {
        (format!("Spin control: {}", listed(&spins)), ", once with each spin method")
    } else {
        (format!("One host, {}", counted(guests.len(), "guest")), "")
    };
    let side_by_side = (runs.len() > 1).then(|| methods::section(&runs));
    let recorded = recordings::sections(recordings, &[]);
    let others = [guests::all(&runs), host::section(&[&first.host], &first.config)];
    Ok(page(Document {
        command: "run".to_owned(),
        title,
        lede: format!(
            "{} ({}) on {}{which}. Times are by {times}.",
            counted(guests.len(), "guest"),
            listed(&guests),
            counted(first.processors as usize, "processor"),
        ),
        findings: findings(&runs),
        sections: side_by_side.into_iter().chain([guests::time(&runs)]).chain(recorded).chain(others).collect(),
    }))
}

fn findings(runs: &[MultiVm]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let fastest = runs.iter().min_by_key(|run| run.elapsed);
    let slowest = runs.iter().max_by_key(|run| run.elapsed);
    if let (Some(fastest), Some(slowest)) = (fastest, slowest) {
        let time = |run: &MultiVm| format!("{:.1} ms", run.milliseconds(run.elapsed));
        findings.push(Finding {
            number: time(fastest),
            text: if runs.len() > 1 {
                format!(
                    "until the last guest had ended with {}, the fastest; {} with {}, the slowest",
                    fastest.spin(),
                    time(slowest),
                    slowest.spin()
                )
            } else {
                "until the last guest had ended".to_owned()
            },
        });
        findings.push(Finding {
            number: percent(fastest.overhead),
            text: format!("of all processors' time went into scheduling with {}", fastest.spin()),
        });
    }
    let lost: u64 = runs.iter().flat_map(MultiVm::foreground).map(|guest| guest.processors_lost).sum();
    findings.push(Finding {
        number: lost.to_string(),
        text: format!(
            "processors were taken away by guests whose spins were excessive, in {}",
            counted(runs.len(), "run")
        ),
    });
    findings
}
