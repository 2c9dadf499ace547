//! `pagewalk sweep`.

use super::about::{About, Origin};
use super::lines::Lines;
use super::permitted::{check_key, check_system};
use crate::cli::SweepArgs;
use crate::comparison::{Finished, add_beginnings, failure, report};
use crate::error::Failure;
use crate::interrupt::{self, Orderly};
use crate::observe::Recordings;
use crate::progress::{Runs, remark};
use crate::runs::quiet::QuietConsole;
use crate::runs::start::Promise;
use crate::sandbox::Needs;
use crate::side_by_side::{default_threads, side_by_side};
use crate::systems::{Configured, configured, named};
use config::ConfigBuilder;
use config::system::{System, SystemList};
use machine::{Image, Machine, Source};
use recording::{Reader, Summary};
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Schemes that are replayed where none is named.
const SCHEMES: [&str; 4] = ["native", "nested", "shadow", "flat"];

/// A recording, and what is read of it once.
struct Recording<'p> {
    path: &'p Path,
    about: About,
    image: Image,
    summary: Summary,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`]: bad usage, a damaged recording, or a system on which the guest would not do what it did.
pub(in crate::commands) fn run(arguments: &SweepArgs) -> Result<ExitCode, Failure> {
    let recording = read(&arguments.recording)?;
    let systems = systems(arguments, &recording)?;
    for on in &systems {
        check_system(&recording.about, &recording.summary, on)?;
    }
    let mut lines = Lines::open(arguments.output.as_deref())?;
    let threads = arguments.threads.map_or_else(default_threads, |threads| threads as usize);
    let needs = Needs::of_machines(threads).reads(&arguments.recording);
    let needs = systems.iter().fold(needs, |needs, on| needs.configuration(&on.config));
    let _sandbox = needs.enter(arguments.sandbox.sandbox)?;
    let _orderly = Orderly::begin();
    let work = &recording.about.work;
    let jobs: Vec<(usize, &Arc<Configured>)> = systems.iter().enumerate().collect();
    let progress = Runs::new(jobs.iter().map(|_| work.clone()).collect(), threads);
    let begun = Instant::now();
    let kept: Vec<bool> = systems.iter().map(|on| lines.has(&identified(&recording, on))).collect();
    let replays = kept.iter().filter(|&&kept| !kept).count();
    for (number, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
        lines.put(number, None)?;
    }
    let lines = Mutex::new(lines);
    let results = side_by_side(threads, &jobs, |&(number, on)| {
        if kept[number] {
            return Ok(());
        }
        if let Some(signal) = interrupt::requested() {
            return Err(Failure::Interrupted(signal));
        }
        let running = progress.begin(work, &format!("{work} under {}", on.system));
        let line = replay(&recording, on, arguments)?;
        running.finish(None);
        lines.lock().expect("no thread panics while it writes").put(number, Some(&line))
    });
    results.into_iter().collect::<Result<Vec<()>, Failure>>()?;
    let events = recording.summary.events as f64 * replays as f64;
    let seconds = begun.elapsed().as_secs_f64();
    remark(&format!(
        "{replays} replays of {:.1} M events in {seconds:.1} s: {:.1} M events/s",
        recording.summary.events as f64 / 1e6,
        events / 1e6 / seconds.max(1e-9),
    ));
    Ok(ExitCode::SUCCESS)
}

/// Opens the recording for one replay.
fn open(path: &Path) -> Result<Reader<Box<dyn Source>>, Failure> {
    let named = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(|error| named(&error))?;
    Reader::open(Box::new(BufReader::new(file)) as Box<dyn Source>).map_err(|error| named(&error))
}

fn read(path: &Path) -> Result<Recording<'_>, Failure> {
    let reader = open(path)?;
    let damaged = |problem: &dyn std::fmt::Display| Failure::Usage(format!("{}: {problem}", path.display()));
    let about: About = serde_json::from_str(reader.about())
        .map_err(|error| damaged(&format!("its description is damaged: {error}")))?;
    let image = about.image(reader.attachments()).ok_or_else(|| damaged(&"the files of its guest are missing"))?;
    Ok(Recording { path, about, image, summary: reader.summary().clone() })
}

/// The systems, each with the recorded configuration but for what it says itself.
fn systems(arguments: &SweepArgs, recording: &Recording<'_>) -> Result<Vec<Arc<Configured>>, Failure> {
    let usage = |error: config::ConfigError| Failure::Usage(error.to_string());
    let name = recording.path.display().to_string();
    let builder = ConfigBuilder::default().file(&name, &recording.about.config).map_err(usage)?;
    let page = recording.about.page.0;
    let named: Vec<System> = if arguments.schemes.is_empty() {
        let text = SCHEMES.map(|scheme| format!("{scheme}:{page}")).join(",");
        let SystemList(systems) = text.parse().map_err(|error| Failure::Usage(format!("--scheme: {error}")))?;
        systems
    } else {
        arguments.schemes.iter().flat_map(|SystemList(systems)| systems.iter().cloned()).collect()
    };
    let named = named.into_iter().map(|system| with_settings(system, arguments)).collect::<Result<_, _>>()?;
    let systems = configured(&builder, named, &arguments.sweeps)?;
    for on in &systems {
        on.system.settings().keys().try_for_each(|key| check_key(key))?;
    }
    Ok(systems)
}

/// A system with the settings of all, where it has none of its own, so that its line says what it was.
fn with_settings(mut system: System, arguments: &SweepArgs) -> Result<System, Failure> {
    for setting in &arguments.settings {
        if !system.settings().contains_key(&setting.key) {
            let text = format!("{system}/{}={}", setting.key, setting.value);
            system = text.parse().map_err(|error| Failure::Usage(format!("--set {}: {error}", setting.key)))?;
        }
    }
    Ok(system)
}

/// What tells the line of a system from others.
fn identified(recording: &Recording<'_>, on: &Configured) -> Value {
    json!({
        "recording": identity(recording),
        "scheme": on.config.scheme.to_string(),
        "settings": on.system.settings(),
    })
}

/// What a recording is, in a line: its work, events and instructions.
fn identity(recording: &Recording<'_>) -> Value {
    let mut identity = json!({
        "work": recording.about.work,
        "events": recording.summary.events,
        "instructions": recording.summary.instructions,
    });
    if let Some(Origin { format, pages, frames }) = &recording.about.imported {
        identity["imported"] = json!({ "format": format, "pages": pages, "frames": frames });
    }
    identity
}

/// Replays the recording on a system; the line of its results.
fn replay(recording: &Recording<'_>, on: &Arc<Configured>, arguments: &SweepArgs) -> Result<Value, Failure> {
    let About { guest, work, .. } = &recording.about;
    let mut machine =
        Machine::assemble(&on.config, &recording.image).map_err(|error| Failure::Usage(named(&on.system, &error)))?;
    machine.replay(open(recording.path)?);
    let mut console = QuietConsole::default();
    let outcome = machine.run(&mut console);
    if let Some(signal) = interrupt::requested() {
        return Err(Failure::Interrupted(signal));
    }
    if let Some(problem) = machine.take_replay_failure() {
        return Err(Failure::Run(format!("{}: {}: {problem}", recording.path.display(), on.system)));
    }
    if let Some(problem) = failure(&outcome, Promise::Nothing, &[], None) {
        return Err(Failure::Run(format!("{}: {}: {problem}", recording.path.display(), on.system)));
    }
    let rivals = machine.replay_rivals();
    if rivals > 0 && !arguments.inexact {
        return Err(Failure::Run(format!(
            "{}: {}: two entries of an L1 TLB answered one address, {rivals} times, and a recording does not have which of them the hart used; --inexact \
             writes the counts all the same",
            recording.path.display(),
            on.system
        )));
    }
    let finished = Finished {
        work: work.clone(),
        on: on.clone(),
        failed: None,
        outcome,
        statistics: machine.measured(),
        output: Vec::new(),
        refused: (0, Vec::new()),
        walk: None,
        saturated: None,
        recordings: Recordings::default(),
        sections: Value::Null,
    };
    let mut report = report(guest, &on.config, &on.host, &[], std::slice::from_ref(&finished));
    add_beginnings(&mut report, std::slice::from_ref(&finished), None);
    let mut line = report["runs"][0].take();
    line["recording"] = identity(recording);
    line["exact"] = (rivals == 0).into();
    Ok(line)
}
