//! The report of `reproduce`: a paper's claims with a verdict on each, its figures with ours beside them, and what was measured.

mod claims;
mod figures;

use super::document::{Block, DataTable, Document, Finding, Section, Walk};
use super::figures::counted;
use super::page::page;
use super::read::read;
use super::{comparison, host};
use crate::error::Failure;
use claims::Claim;
use figures::Figure;
use serde::Deserialize;
use serde_json::Value;

/// What `reproduce` writes, as far as the report reads it.
#[derive(Deserialize)]
struct Reproduction {
    paper: String,
    title: String,
    citation: String,
    note: Option<String>,
    full: bool,
    measurements: Vec<Measurement>,
    figures: Vec<Figure>,
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
struct Measurement {
    id: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    commands: Vec<String>,
    result: Value,
}

impl Measurement {
    /// The reports of its commands: one, or one for each of several texts.
    fn reports(&self) -> Vec<&Value> {
        let is_one = |value: &Value| ["runs", "guests", "figure_4"].iter().any(|key| value.get(key).is_some());
        match &self.result {
            one if is_one(one) => vec![one],
            Value::Object(several) => several.values().filter(|value| is_one(value)).collect(),
            _ => Vec::new(),
        }
    }
}

/// The page.
///
/// # Errors
/// [`Failure::Usage`]: it is not what `reproduce` writes.
pub(crate) fn reproduction(report: &Value) -> Result<String, Failure> {
    let reproduction: Reproduction = read(report)?;
    let Reproduction { paper, title, citation, note, full, measurements, figures, claims } = &reproduction;
    let scale = if *full {
        "As near to the paper's sizes as the machine allowed."
    } else {
        "In small; --full comes nearer to the paper's sizes."
    };
    let mut sections = vec![claims::section(claims)];
    sections.extend(figures::section(figures));
    sections.extend(super::walks::section(super::walks::limited(walks(measurements))));
    sections.push(commands(measurements));
    sections.push(host::section(&hosts(measurements), &Value::Null));
    Ok(page(Document {
        command: format!("reproduce {paper}"),
        title: title.clone(),
        lede: [citation.as_str(), ". ", scale, " ", note.as_deref().unwrap_or_default()].concat(),
        findings: findings(claims),
        sections,
    }))
}

/// How many claims came out how.
fn findings(claims: &[Claim]) -> Vec<Finding> {
    claims::VERDICTS
        .iter()
        .map(|(verdict, _, phrase)| (phrase, claims.iter().filter(|claim| claim.verdict == *verdict).count()))
        .filter(|&(_, count)| count > 0)
        .map(|(phrase, count)| Finding {
            number: count.to_string(),
            text: format!("of {} {phrase}", counted(claims.len(), "claim")),
        })
        .collect()
}

/// The walks that comparisons have recorded.
fn walks(measurements: &[Measurement]) -> Vec<Walk> {
    measurements.iter().flat_map(Measurement::reports).flat_map(comparison::recorded_walks).collect()
}

/// The hosts of all measurements, each once.
fn hosts(measurements: &[Measurement]) -> Vec<&Value> {
    let mut hosts: Vec<&Value> = Vec::new();
    for report in measurements.iter().flat_map(Measurement::reports) {
        let of_runs = report.get("runs").and_then(Value::as_array).into_iter().flatten();
        for host in [report.get("host")].into_iter().chain(of_runs.map(|run| run.get("host"))).flatten() {
            if host.is_object() && !hosts.contains(&host) {
                hosts.push(host);
            }
        }
    }
    hosts
}

/// What was run.
fn commands(measurements: &[Measurement]) -> Section {
    let mut table = DataTable::new("Measurements", &["measurement", "what", "command"]);
    for Measurement { id, about, commands, .. } in measurements {
        table.row([id.clone(), about.clone(), commands.join("\n")]);
    }
    Section {
        id: "measurements",
        title: "What was measured".to_owned(),
        intro: vec!["Each command gives the same numbers again.".to_owned()],
        blocks: vec![Block::Table(table)],
    }
}
