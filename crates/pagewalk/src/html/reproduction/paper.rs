//! The page of one paper.

use super::claims::{self, Claim};
use super::figures::{self, Figure};
use crate::html::document::{Block, DataTable, Document, Finding, Section, Walk};
use crate::html::figures::counted;
use crate::html::page::page;
use crate::html::{comparison, host, walks as explorer};
use serde::Deserialize;
use serde_json::Value;

/// What `reproduce` writes, as far as the report reads it.
#[derive(Deserialize)]
pub(super) struct Reproduction {
    pub(super) paper: String,
    pub(super) title: String,
    pub(super) citation: String,
    pub(super) note: Option<String>,
    pub(super) full: bool,
    pub(super) measurements: Vec<Measurement>,
    pub(super) figures: Vec<Figure>,
    pub(super) claims: Vec<Claim>,
}

#[derive(Deserialize)]
pub(super) struct Measurement {
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

/// How near to the papers' sizes it is.
pub(super) const fn scale(full: bool) -> &'static str {
    if full {
        "As near to the paper's sizes as the machine allowed."
    } else {
        "In small; --full comes nearer to the paper's sizes."
    }
}

/// The page of one paper.
pub(super) fn page_of(reproduction: &Reproduction) -> String {
    let Reproduction { paper, title, citation, note, full, measurements, figures, claims } = reproduction;
    let mut sections = vec![claims::section(claims)];
    sections.extend(figures::section(figures));
    sections.extend(explorer::section(explorer::limited(walks(measurements))));
    sections.push(commands(measurements));
    sections.push(host::section(&hosts(measurements), &Value::Null));
    page(Document {
        command: format!("reproduce {paper}"),
        title: title.clone(),
        lede: [citation.as_str(), ". ", scale(*full), " ", note.as_deref().unwrap_or_default()].concat(),
        findings: findings(&claims.iter().collect::<Vec<_>>()),
        sections,
    })
}

/// How many claims came out how.
pub(super) fn findings(claims: &[&Claim]) -> Vec<Finding> {
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
pub(super) fn walks(measurements: &[Measurement]) -> Vec<Walk> {
    measurements.iter().flat_map(Measurement::reports).flat_map(comparison::recorded_walks).collect()
}

/// The hosts of all measurements, each once.
pub(super) fn hosts<'m>(measurements: impl IntoIterator<Item = &'m Measurement>) -> Vec<&'m Value> {
    let mut hosts: Vec<&Value> = Vec::new();
    for report in measurements.into_iter().flat_map(Measurement::reports) {
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
pub(super) fn commands(measurements: &[Measurement]) -> Section {
    let mut table = DataTable::new("Measurements", &["measurement", "what", "command"]);
    for Measurement { id, about, commands, .. } in measurements {
        table.row([id.clone(), about.clone(), commands.join("\n")]);
    }
    Section {
        id: "measurements".into(),
        title: "What was measured".to_owned(),
        intro: vec!["Each command gives the same numbers again.".to_owned()],
        blocks: vec![Block::Table(table)],
    }
}
