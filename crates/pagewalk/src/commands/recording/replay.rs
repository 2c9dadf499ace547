//! A recording, replayed on one system, and the line of its results.

use super::about::{About, Origin};
use crate::comparison::{Finished, add_beginnings, failure, report};
use crate::error::Failure;
use crate::interrupt;
use crate::observe::Recordings;
use crate::runs::quiet::QuietConsole;
use crate::runs::start::Promise;
use crate::systems::{Configured, named};
use crate::time_model::TimeModel;
use machine::{Image, Machine, Outcome, Source, Statistics};
use recording::{Reader, Summary};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

/// A recording, and what is read of it once.
pub(super) struct Recording<'p> {
    pub(super) path: &'p Path,
    pub(super) about: About,
    image: Image,
    pub(super) summary: Summary,
}

/// What a replay has come to.
pub(super) struct Replayed {
    pub(super) machine: Machine,
    pub(super) outcome: Outcome,
    /// How often an L1 had two entries for an address.
    pub(super) rivals: u64,
}

impl<'p> Recording<'p> {
    /// Reads what a file says of itself.
    pub(super) fn read(path: &'p Path) -> Result<Self, Failure> {
        let reader = open(path)?;
        let damaged = |problem: &dyn std::fmt::Display| Failure::Usage(format!("{}: {problem}", path.display()));
        let about: About = serde_json::from_str(reader.about())
            .map_err(|error| damaged(&format!("its description is damaged: {error}")))?;
        let image = about.image(reader.attachments()).ok_or_else(|| damaged(&"the files of its guest are missing"))?;
        Ok(Self { path, about, image, summary: reader.summary().clone() })
    }

    /// Opens it for one pass.
    pub(super) fn open(&self) -> Result<Reader<Box<dyn Source>>, Failure> {
        open(self.path)
    }

    /// What tells the line of a system from others.
    pub(super) fn identified(&self, on: &Configured) -> Value {
        json!({
            "recording": self.identity(),
            "scheme": on.config.scheme.to_string(),
            "settings": on.system.settings(),
        })
    }

    /// What it is, in a line: its work, events and instructions.
    fn identity(&self) -> Value {
        let mut identity = json!({
            "work": self.about.work,
            "events": self.summary.events,
            "instructions": self.summary.instructions,
        });
        if let Some(Origin { format, pages, frames }) = &self.about.imported {
            identity["imported"] = json!({ "format": format, "pages": pages, "frames": frames });
        }
        identity
    }

    /// Replays it on a system.
    pub(super) fn replay(&self, on: &Configured) -> Result<Replayed, Failure> {
        let mut machine =
            Machine::assemble(&on.config, &self.image).map_err(|error| Failure::Usage(named(&on.system, &error)))?;
        machine.replay(self.open()?);
        let mut console = QuietConsole::default();
        let outcome = machine.run(&mut console);
        if let Some(signal) = interrupt::requested() {
            return Err(Failure::Interrupted(signal));
        }
        let failed = |problem: &dyn std::fmt::Display| {
            Failure::Run(format!("{}: {}: {problem}", self.path.display(), on.system))
        };
        if let Some(problem) = machine.take_replay_failure() {
            return Err(failed(&problem));
        }
        if let Some(problem) = failure(&outcome, Promise::Nothing, &[], None) {
            return Err(failed(&problem));
        }
        let rivals = machine.replay_rivals();
        Ok(Replayed { machine, outcome, rivals })
    }

    /// Replays it on a system; the line of its results. A replay that may differ from a run is refused, unless `inexact`.
    pub(super) fn replayed_line(&self, on: &Arc<Configured>, inexact: bool) -> Result<Value, Failure> {
        let Replayed { machine, outcome, rivals } = self.replay(on)?;
        if rivals > 0 && !inexact {
            return Err(Failure::Run(format!(
                "{}: {}: two entries of an L1 TLB answered one address, {rivals} times, and a recording does not have which of them the hart used; --inexact \
                 writes the counts all the same",
                self.path.display(),
                on.system
            )));
        }
        Ok(self.line(on, (outcome, machine.measured()), rivals == 0))
    }

    /// The line of a system that has measured this.
    pub(super) fn line(
        &self,
        on: &Arc<Configured>,
        (outcome, statistics): (Outcome, Statistics),
        exact: bool,
    ) -> Value {
        let About { guest, work, .. } = &self.about;
        let finished = Finished {
            work: work.clone(),
            on: on.clone(),
            failed: None,
            outcome,
            statistics,
            output: Vec::new(),
            refused: (0, Vec::new()),
            walk: None,
            saturated: None,
            recordings: Recordings::default(),
            sections: Value::Null,
            figures: BTreeMap::new(),
        };
        let mut report = report(guest, &on.config, &on.host, &[], std::slice::from_ref(&finished));
        add_beginnings(&mut report, std::slice::from_ref(&finished), None);
        let mut line = report["runs"][0].take();
        line["recording"] = self.identity();
        line["exact"] = exact.into();
        line["time_model"] = json!(TimeModel::of_system(on));
        line
    }
}

fn open(path: &Path) -> Result<Reader<Box<dyn Source>>, Failure> {
    let named = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(|error| named(&error))?;
    Reader::open(Box::new(BufReader::new(file)) as Box<dyn Source>).map_err(|error| named(&error))
}
