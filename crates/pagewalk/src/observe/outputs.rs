//! The files that recordings go to.

use super::identity::RunIdentity;
use super::lines;
use super::pages;
use super::perfetto;
use super::recorded::{Recorded, Recordings};
use crate::cli::{HeatmapCounts, ObserveArgs};
use crate::error::Failure;
use crate::output::{Output, json, warn};
use crate::sandbox::Needs;
use machine::{HeatmapOf, IntervalLength, PageRequest, ProfileDetail};
use serde_json::Value;
use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::Path;

/// The intervals of a trace's counters, where the user requests no others.
const OF_TRACE: IntervalLength = IntervalLength::Microseconds(100);

/// Whether a file of this name is one for Perfetto, where there are other traces too.
pub(crate) fn is_perfetto(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["pftrace", "perfetto-trace"].contains(&extension))
}

/// The files that a user has requested, opened before the work for them begins.
#[derive(Debug)]
pub(crate) struct ObserveOutputs {
    intervals: Option<(IntervalLength, Output)>,
    trace: Option<Output>,
    reuse: Option<Output>,
    heatmap: Option<(HeatmapCounts, Output)>,
}

impl ObserveOutputs {
    /// Opens them, and `trace`.
    ///
    /// # Errors
    /// [`Failure::Run`], naming the file that cannot be written.
    pub(crate) fn open(arguments: &ObserveArgs, trace: Option<&Path>) -> Result<Self, Failure> {
        let open = |path: &Path| Output::open(path).map_err(|error| unwritten(path, &error));
        let file = arguments.interval_file.as_deref().map(open).transpose()?;
        let trace = trace.map(open).transpose()?;
        let reuse = arguments.reuse.as_deref().map(open).transpose()?;
        let heatmap = arguments.heatmap.as_deref().map(open).transpose()?;
        Ok(Self {
            intervals: arguments.interval.zip(file),
            trace,
            reuse,
            heatmap: heatmap.map(|output| (arguments.heatmap_of, output)),
        })
    }

    /// What runs have to record for them, and for a profile if there is one.
    pub(crate) fn recorded(&self, profile: Option<ProfileDetail>) -> Recorded {
        let asked = self.intervals.as_ref().map(|(length, _)| *length);
        let intervals = asked.or(self.trace.as_ref().map(|_| OF_TRACE));
        let heatmap = self.heatmap.as_ref().map(|(counts, _)| match counts {
            HeatmapCounts::Misses => HeatmapOf::Misses,
            HeatmapCounts::References => HeatmapOf::References,
        });
        let pages = PageRequest { reuse: self.reuse.is_some(), heatmap };
        Recorded { profile, intervals, trace: self.trace.is_some(), pages }
    }

    /// Adds what they need of the host.
    pub(crate) fn needs(&self, needs: Needs) -> Needs {
        let needs = needs.output(self.intervals.as_ref().map(|(_, output)| output)).output(self.trace.as_ref());
        needs.output(self.reuse.as_ref()).output(self.heatmap.as_ref().map(|(_, output)| output))
    }

    /// What the files will have, for a page: all but the trace.
    ///
    /// # Errors
    /// [`Failure::Run`]: a count has no form in JSON.
    pub(crate) fn documents<R: Borrow<Recordings>>(&self, runs: &[(RunIdentity, R)]) -> Result<Documents, Failure> {
        let mut lines = Vec::new();
        if self.intervals.is_some() {
            let mut with = runs.iter().filter_map(|(about, run)| Some((about, run.borrow().intervals.as_ref()?)));
            let written = with.try_for_each(|(about, intervals)| lines::write(&mut lines, about, intervals));
            written.map_err(|error| Failure::Run(error.to_string()))?;
        }
        let reuse = self.reuse.as_ref().map(|_| reuse(runs));
        let heatmap = self.heatmap.as_ref().map(|(counts, _)| heatmap(*counts, runs));
        Ok(Documents { intervals: lines, others: reuse.into_iter().chain(heatmap).collect() })
    }

    /// Writes what was recorded of each guest's run.
    ///
    /// # Errors
    /// [`Failure::Run`], naming the file.
    pub(crate) fn write<R: Borrow<Recordings>>(self, runs: &[(RunIdentity, R)]) -> Result<(), Failure> {
        if let Some((_, output)) = self.intervals {
            write_with(output, |to| {
                let mut with = runs.iter().filter_map(|(about, run)| Some((about, run.borrow().intervals.as_ref()?)));
                with.try_for_each(|(about, intervals)| lines::write(to, about, intervals))
            })?;
        }
        if let Some(output) = self.trace {
            warn_of_lost(output.name(), runs);
            write_with(output, |to| perfetto::write(to, runs))?;
        }
        if let Some(output) = self.reuse {
            write_json(output, &reuse(runs))?;
        }
        if let Some((counts, output)) = self.heatmap {
            write_json(output, &heatmap(counts, runs))?;
        }
        Ok(())
    }
}

/// Recordings over time as JSON.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    /// Counters over time as JSON Lines; empty if there are none.
    pub(crate) intervals: Vec<u8>,
    /// Reuse distances, and the map.
    pub(crate) others: Vec<Value>,
}

/// The document of reuse distances.
fn reuse<R: Borrow<Recordings>>(runs: &[(RunIdentity, R)]) -> Value {
    let of = |(about, run): &(RunIdentity, R)| Some(pages::reuse(about, run.borrow().reuse.as_ref()?));
    pages::document("pagewalk-reuse", &runs.iter().filter_map(of).collect::<Vec<_>>())
}

/// The document of maps.
fn heatmap<R: Borrow<Recordings>>(counts: HeatmapCounts, runs: &[(RunIdentity, R)]) -> Value {
    let of = |(about, run): &(RunIdentity, R)| Some(pages::heatmap(about, counts, run.borrow().heatmap.as_ref()?));
    pages::document("pagewalk-heatmap", &runs.iter().filter_map(of).collect::<Vec<_>>())
}

/// Says of which runs a trace has not all events.
fn warn_of_lost<R: Borrow<Recordings>>(path: &Path, runs: &[(RunIdentity, R)]) {
    for (identity, run) in runs {
        let lost = run.borrow().trace.as_ref().map_or(0, |trace| trace.lost);
        if lost > 0 {
            let RunIdentity { work, system, .. } = identity;
            warn(&format!("{}: {work} under {system}: the last {lost} events are not in the trace", path.display()));
        }
    }
}

fn write_json(output: Output, document: &Value) -> Result<(), Failure> {
    let name = output.name().to_owned();
    json(document).and_then(|text| output.write(&text)).map_err(|error| unwritten(&name, &error))
}

fn write_with(output: Output, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let name = output.name().to_owned();
    let buffered = |file: &std::fs::File| {
        let mut file = io::BufWriter::new(file);
        write(&mut file)?;
        file.flush()
    };
    output.write_with(buffered).map_err(|error| unwritten(&name, &error))
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::Run(format!("{}: {error}", path.display()))
}
