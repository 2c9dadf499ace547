//! What a page reads of a line of `sweep`.

use crate::error::Failure;
use crate::time_model::TimeModel;
use config::toml_problem::plain;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A line of `sweep`, as far as a page reads it.
#[derive(Deserialize, Clone, Debug)]
pub(super) struct Line {
    pub(super) recording: Recording,
    pub(super) time_model: TimeModel,
    pub(super) scheme: String,
    pub(super) settings: Map<String, Value>,
    /// Whether the counts are those of a run, to the unit.
    pub(super) exact: bool,
    pub(super) instructions: u64,
    pub(super) storage_bits: Storage,
    pub(super) tlb: Tlb,
    pub(super) walks: Walks,
    pub(super) time: Time,
}

/// Which recording it is.
#[derive(Deserialize, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Recording {
    pub(super) work: String,
    pub(super) events: u64,
    pub(super) instructions: u64,
    pub(super) imported: Option<Origin>,
}

/// Where a recording of a trace comes from.
#[derive(Deserialize, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Origin {
    pub(super) format: String,
    pub(super) pages: String,
    pub(super) frames: String,
}

#[derive(Deserialize, Clone, Debug)]
pub(super) struct Storage {
    pub(super) total: u64,
}

#[derive(Deserialize, Clone, Debug)]
pub(super) struct Tlb {
    l1d_misses: u64,
    l1i_misses: u64,
    pub(super) l2_misses: u64,
}

#[derive(Deserialize, Clone, Debug)]
pub(super) struct Walks {
    pub(super) count: u64,
}

#[derive(Deserialize, Clone, Debug)]
pub(super) struct Time {
    pub(super) translation: u64,
    #[serde(rename = "monitor")]
    pub(super) hypervisor: u64,
}

impl Line {
    /// Misses of both first-level TLBs.
    pub(super) const fn l1_misses(&self) -> u64 {
        self.tlb.l1d_misses.saturating_add(self.tlb.l1i_misses)
    }

    /// So many in 1000 instructions.
    pub(super) fn in_1000(&self, count: u64) -> f64 {
        1000.0 * count as f64 / self.instructions.max(1) as f64
    }
}

/// Whether a text has lines of `sweep`, as far as its first line tells.
pub(super) fn is_first(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let is_line = |line: &Value| ["recording", "exact", "scheme"].iter().all(|key| line.get(key).is_some());
    serde_json::from_str::<Value>(first).is_ok_and(|line| is_line(&line))
}

/// The lines of a text, in an order that does not depend on theirs: a sweep that was interrupted may have written them in another one.
///
/// # Errors
/// [`Failure::Usage`], naming the line: it is not what `sweep` writes.
pub(super) fn read(text: &str) -> Result<Vec<Line>, Failure> {
    let mut lines: Vec<(String, Line)> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line = serde_json::from_str(line).map_err(|error| {
            // Where in the line it is says nothing to its author.
            let problem = error.to_string();
            let problem = plain(problem.split(" at line ").next().unwrap_or_default());
            Failure::Usage(format!("line {}: not a line of sweep, or one of another version: {problem}", number + 1))
        })?;
        lines.push((Value::from(line.settings.clone()).to_string(), line));
    }
    lines.sort_by(|(settings, line), (other_settings, other)| {
        let key = |line: &Line, settings: &str| (line.recording.clone(), line.scheme.clone(), settings.to_owned());
        key(line, settings).cmp(&key(other, other_settings))
    });
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}
