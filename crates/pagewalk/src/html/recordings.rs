//! What was recorded of a command's runs beside its report, on the same page. Each is read from what the command writes into its own file,
//! whether it comes from there or not.

mod heatmap;
mod intervals;
mod profile;
mod profile_counts;
mod profile_graph;
mod reuse;
mod room;

use super::document::{Section, Walk};
use config::toml_problem::plain;
use heatmap::Heatmaps;
use intervals::Intervals;
use profile::Profiles;
use reuse::Reuse;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What was recorded beside a report. What was not is `None`.
#[derive(Debug, Default)]
pub(crate) struct Recordings {
    profile: Option<Profiles>,
    intervals: Option<Intervals>,
    heatmap: Option<Heatmaps>,
    reuse: Option<Reuse>,
}

/// That a file is none that goes with a report.
const NO_RECORDING: &str = "not what --profile writes as JSON, nor what --interval-file, --heatmap or --reuse write";

impl Recordings {
    /// Adds what is in a file that a command wrote.
    ///
    /// # Errors
    /// What is wrong with it, in words: it is of no format that a page has, or there is one of its kind already.
    pub(crate) fn add_file(&mut self, text: &[u8]) -> Result<(), String> {
        match std::str::from_utf8(text) {
            Ok(text) if Intervals::begins(text) => self.add_intervals(text),
            _ => self.add(serde_json::from_slice(text).map_err(|_| NO_RECORDING.to_owned())?),
        }
    }

    /// Adds what a command writes as JSON.
    ///
    /// # Errors
    /// As [`Self::add_file`].
    pub(crate) fn add(&mut self, document: Value) -> Result<(), String> {
        match document.get("format").and_then(Value::as_str) {
            Some("pagewalk-profile") => fill(&mut self.profile, document, "profile"),
            Some("pagewalk-heatmap") => fill(&mut self.heatmap, document, "heatmap"),
            Some("pagewalk-reuse") => fill(&mut self.reuse, document, "file of reuse distances"),
            _ => Err(NO_RECORDING.to_owned()),
        }
    }

    /// Adds counters over time, as JSON Lines.
    fn add_intervals(&mut self, lines: &str) -> Result<(), String> {
        put(&mut self.intervals, Intervals::read(lines)?, "file of intervals")
    }

    /// Whether anything was recorded.
    pub(super) const fn any(&self) -> bool {
        self.profile.is_some() || self.intervals.is_some() || self.heatmap.is_some() || self.reuse.is_some()
    }
}

fn fill<T: DeserializeOwned>(place: &mut Option<T>, document: Value, what: &str) -> Result<(), String> {
    let read = serde_json::from_value(document);
    let read = read.map_err(|error| format!("a {what} of another version: {}", plain(&error.to_string())))?;
    put(place, read, what)
}

fn put<T>(place: &mut Option<T>, read: T, what: &str) -> Result<(), String> {
    if place.replace(read).is_some() { Err(format!("a second {what}; a page has one")) } else { Ok(()) }
}

/// The sections of a page with these walks, in their order.
pub(super) fn sections(recordings: &Recordings, walks: &[Walk]) -> Vec<Section> {
    let Recordings { profile, intervals, heatmap, reuse } = recordings;
    [
        profile.as_ref().and_then(|profile| profile::section(profile, walks)),
        intervals.as_ref().and_then(intervals::section),
        heatmap.as_ref().and_then(heatmap::section),
        reuse.as_ref().and_then(reuse::section),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_recording_is_known_by_its_format_and_there_once() {
        let mut recordings = Recordings::default();
        assert!(!recordings.any());
        for wrong in ["", "text", "{}", r#"{"format": "pagewalk-other"}"#] {
            assert_eq!(recordings.add_file(wrong.as_bytes()), Err(NO_RECORDING.to_owned()), "{wrong}");
        }
        let profile = json!({ "format": "pagewalk-profile", "runs": [] });
        assert_eq!(recordings.add(profile.clone()), Ok(()));
        assert!(recordings.any());
        assert!(recordings.add(profile).is_err_and(|problem| problem.contains("second profile")));
        let old = json!({ "format": "pagewalk-profile", "runs": 3 });
        assert!(Recordings::default().add(old).is_err_and(|problem| problem.contains("`3` is not a list")));
    }
}
