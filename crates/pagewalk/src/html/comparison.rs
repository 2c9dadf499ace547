//! The report of `compare`.

mod events;
mod findings;
mod measured;
mod overhead;
mod remarks;
mod sweeps;
mod time;

use super::document::{Document, Walk};
use super::figures::{counted, listed};
use super::page::page;
use super::read::read;
use super::recordings::{self, Recordings};
use super::{host, walks};
use crate::error::Failure;
use crate::time_model::TimeModels;
use measured::{Comparison, Run};
use serde_json::Value;

/// The page, with what was recorded beside the report.
///
/// # Errors
/// [`Failure::Usage`]: it is not what `compare` writes.
pub(crate) fn comparison(report: &Value, recordings: &Recordings) -> Result<String, Failure> {
    let comparison: Comparison = read(report)?;
    let Comparison { host: model, config, caption, runs } = &comparison;
    let works = by_work(runs);
    let mut hosts = vec![model];
    for other in runs.iter().filter_map(|run| run.host.as_ref()) {
        if !hosts.contains(&other) {
            hosts.push(other);
        }
    }
    let names: Vec<&str> = works.iter().map(|runs| runs[0].workload.as_str()).collect();
    let systems = works.first().map_or(0, |runs| runs.len());
    let guest = runs.first().map_or("no guest", |run| run.guest.as_str());
    let times = TimeModels::of_report(report);
    let walks = walks::limited(recorded(runs));
    Ok(page(Document {
        command: "compare".to_owned(),
        title: format!("What translation costs {}", short_list(&names)),
        lede: format!(
            "{} in the guest {guest}, each under {}. Cycles are by {times}.{}",
            capitalised(&counted(names.len(), "workload")),
            counted(systems, "translation scheme"),
            caption.iter().map(|line| format!(" {}.", capitalised(line))).collect::<String>(),
        ),
        findings: findings::findings(&works),
        sections: [
            sweeps::section(&works),
            Some(overhead::overhead(&works)),
            remarks::section(runs),
            Some(time::time(&works)),
        ]
        .into_iter()
        .flatten()
        .chain(recordings::sections(recordings, &walks))
        .chain(walks::section(walks))
        .chain([events::events(runs), host::section(&hosts, config)])
        .collect(),
    }))
}

/// Runs of the same work, which come one after the other.
fn by_work(runs: &[Run]) -> Vec<&[Run]> {
    runs.chunk_by(|one, other| one.workload == other.workload).collect()
}

/// The walks of a comparison's report; none where it has none.
pub(super) fn recorded_walks(report: &Value) -> Vec<Walk> {
    read::<Comparison>(report).map_or_else(|_| Vec::new(), |comparison| recorded(&comparison.runs))
}

/// The walks that were recorded.
fn recorded(runs: &[Run]) -> Vec<Walk> {
    let of = |run: &Run| walks::walks(&run.workload, &run.scheme, &run.system(), run.recorded_walk.as_ref());
    runs.iter().flat_map(of).collect()
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// Names, if they are few.
fn short_list(names: &[&str]) -> String {
    const FEW: usize = 6;
    if names.len() > FEW { format!("{} workloads", names.len()) } else { listed(names) }
}
