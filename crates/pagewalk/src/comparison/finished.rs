//! A run that came to its end.

use crate::observe::{Recordings, RunIdentity};
use crate::profile::NameSources;
use crate::systems::Configured;
use machine::{Outcome, Statistics};
use profiles::{About, Attribution};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Finished {
    /// Its profile, with the names of its guest; `None` of a run without one.
    pub(crate) fn attribution(&self, guest: &str, sources: &NameSources) -> Option<Attribution> {
        let about = About {
            guest: guest.to_owned(),
            work: self.work.clone(),
            system: self.on.system.to_string(),
            settings: json!(self.on.system.settings()),
        };
        self.recordings.profile.as_ref().map(|profile| Attribution::new(about, profile, &sources.names()))
    }

    /// Which run it is: the one of this number in its report.
    pub(crate) fn identity(&self, number: usize, guest: &str) -> RunIdentity {
        RunIdentity {
            run: number,
            guest: guest.to_owned(),
            work: self.work.clone(),
            system: self.on.system.to_string(),
            settings: json!(self.on.system.settings()),
            clock_hz: self.on.host.clock_hz,
        }
    }
}

/// A run that came to its end.
pub(crate) struct Finished {
    /// The workload, or the command.
    pub(crate) work: String,
    /// What it ran on.
    pub(crate) on: Arc<Configured>,
    /// How the guest ended.
    pub(crate) outcome: Outcome,
    /// Why the run failed; `None` of a good one. What a failed run counted is no measurement.
    pub(crate) failed: Option<String>,
    /// What was measured.
    pub(crate) statistics: Statistics,
    /// What the guest printed.
    pub(crate) output: Vec<u8>,
    /// Segments that the guest was refused: how many, and the first of them in words.
    pub(crate) refused: (u64, Vec<String>),
    /// A walk of it, where the user requested one, as its report has it.
    pub(crate) walk: Option<Value>,
    /// That the escape filter of the guest's segment is too small, if it is.
    pub(crate) saturated: Option<String>,
    /// What was recorded of it, as far as the user has requested that.
    pub(crate) recordings: Recordings,
    /// What there was of sections and reserved memory; null of a kept run, which had neither.
    pub(crate) sections: Value,
    /// What the guest reported of itself, by name.
    pub(crate) figures: BTreeMap<String, u64>,
}
