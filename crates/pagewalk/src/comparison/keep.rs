//! Finished runs that are kept, so that a comparison that was interrupted goes on where it was.

use super::finished::Finished;
use crate::error::Failure;
use crate::observe::Recordings;
use crate::runs::image::Prepared;
use crate::runs::start::Start;
use crate::store::{Key, Store};
use crate::systems::Configured;
use machine::snapshot::Snapshot;
use machine::{BlockConfig, ImageMode, Outcome, Statistics, VirtioKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where one run is kept.
#[derive(Debug)]
pub(super) struct Kept<'s> {
    store: &'s Store,
    key: Key,
}

/// What is kept of a run that came to a good end. One that did not runs again.
#[derive(Serialize, Deserialize)]
struct Run {
    outcome: Good,
    statistics: Statistics,
    output: Vec<u8>,
    refused: (u64, Vec<String>),
    saturated: Option<String>,
    walk: Option<Value>,
    #[serde(default)]
    figures: BTreeMap<String, u64>,
}

/// Good ends.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Good {
    Finished,
    Shutdown,
    Reset,
}

impl<'s> Kept<'s> {
    /// The place of a run; `None` if it depends on more than its image and configuration: on what a disk holds, or a directory.
    ///
    /// # Errors
    /// [`Failure`], as of [`Prepared::image`](crate::runs::image::Prepared::image).
    pub(super) fn place(store: &'s Store, start: &Start, on: &Configured) -> Result<Option<Self>, Failure> {
        Ok(match start {
            Start::Boot(prepared) => Self::of_boot(store, prepared, on)?,
            Start::Snapshot(snapshot) => Self::of_snapshot(store, snapshot, on),
        })
    }

    fn of_snapshot(store: &'s Store, snapshot: &Snapshot, on: &Configured) -> Option<Self> {
        let configuration = serde_json::to_vec(&(&on.config, &on.host)).ok()?;
        let parts: [&[u8]; 3] = [b"run from snapshot", snapshot.digest(), &configuration];
        Some(Self { store, key: store.key(parts) })
    }

    fn of_boot(store: &'s Store, prepared: &Prepared, on: &Configured) -> Result<Option<Self>, Failure> {
        let image = prepared.image(&on.config)?;
        let mut devices = String::new();
        let mut tasks: Vec<&[u8]> = Vec::new();
        for device in &image.devices {
            match device {
                VirtioKind::Block(BlockConfig { mode: ImageMode::Filled { content, .. }, .. }) => tasks.push(content),
                VirtioKind::Block(_) | VirtioKind::Share(_) => return Ok(None),
                other => devices += &format!("{other:?}"),
            }
        }
        let Ok(configuration) = serde_json::to_vec(&(&on.config, &on.host)) else { return Ok(None) };
        let state = prepared.state(&on.config)?;
        let past: &[u8] = state.as_ref().map_or(&[], |state| state.snapshot.digest());
        let files = prepared.files_digest();
        let parts = [b"run", &files[..], image.command_line.as_bytes(), devices.as_bytes(), &configuration, past];
        Ok(Some(Self { store, key: store.key(parts.into_iter().chain(tasks)) }))
    }

    /// The run, if it is kept.
    pub(super) fn find(&self, work: &str, on: &Arc<Configured>) -> Option<Finished> {
        let Run { outcome, statistics, output, refused, saturated, walk, figures } = self.store.get(&self.key)?;
        let outcome = match outcome {
            Good::Finished => Outcome::Finished(0),
            Good::Shutdown => Outcome::Shutdown,
            Good::Reset => Outcome::Reset,
        };
        Some(Finished {
            work: work.to_owned(),
            on: on.clone(),
            outcome,
            failed: None,
            statistics,
            output,
            refused,
            saturated,
            walk,
            recordings: Recordings::default(),
            sections: serde_json::Value::Null,
            figures,
        })
    }

    /// Keeps a run, if it came to a good end.
    ///
    /// # Errors
    /// [`Failure::Run`], as the host's system says.
    pub(super) fn keep(&self, run: &Finished) -> Result<(), Failure> {
        let outcome = match run.outcome {
            _ if run.failed.is_some() => return Ok(()),
            Outcome::Finished(0) => Good::Finished,
            Outcome::Shutdown => Good::Shutdown,
            Outcome::Reset => Good::Reset,
            _ => return Ok(()),
        };
        let (statistics, output) = (run.statistics.clone(), run.output.clone());
        let (refused, saturated) = (run.refused.clone(), run.saturated.clone());
        let (walk, figures) = (run.walk.clone(), run.figures.clone());
        let kept = Run { outcome, statistics, output, refused, saturated, walk, figures };
        self.store
            .put(&self.key, &kept)
            .map_err(|error| Failure::Run(format!("{}: {error}", self.store.directory().display())))
    }
}
