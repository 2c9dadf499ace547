//! `pagewalk sweep`.

use super::jobs::{Job, jobs};
use super::lines::Lines;
use super::permitted::{check_key, check_system};
use super::products::Products;
use super::replay::Recording;
use super::study::{self, Study};
use crate::cli::SweepArgs;
use crate::error::Failure;
use crate::interrupt::{self, Orderly};
use crate::progress::{Runs, remark};
use crate::sandbox::Needs;
use crate::side_by_side::{default_threads, side_by_side};
use crate::systems::{Configured, configured};
use config::ConfigBuilder;
use config::system::{System, SystemList};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Schemes that are replayed where none is named.
const SCHEMES: [&str; 4] = ["native", "nested", "shadow", "flat"];

/// Runs the command.
///
/// # Errors
/// [`Failure`]: bad usage, a damaged recording, or a system on which the guest would not do what it did.
pub(in crate::commands) fn run(arguments: &SweepArgs) -> Result<ExitCode, Failure> {
    let Study { path, arguments } = study::read(arguments)?;
    let arguments = &arguments;
    let recording = Recording::read(&path)?;
    let systems = systems(arguments, &recording)?;
    for on in &systems {
        check_system(&recording.about, &recording.summary, on)?;
    }
    let products = Products::open(arguments)?;
    let mut lines = Lines::open(arguments.output.as_deref(), &products)?;
    let threads = arguments.threads.map_or_else(default_threads, |threads| threads as usize);
    let needs = products.needs(Needs::of_machines(threads).reads(&path));
    let needs = systems.iter().fold(needs, |needs, on| needs.configuration(&on.config));
    let _sandbox = needs.enter(arguments.sandbox.sandbox)?;
    let _orderly = Orderly::begin();
    let work = &recording.about.work;
    let kept = |number: &usize| lines.has(&recording.identified(&systems[*number]));
    let (kept, wanted): (Vec<usize>, Vec<usize>) = (0..systems.len()).partition(kept);
    for number in kept {
        lines.put(number, None)?;
    }
    let jobs = if arguments.one_by_one {
        wanted.iter().map(|&number| Job::Replay(number)).collect()
    } else {
        jobs(&systems, &wanted, threads)
    };
    let progress = Runs::new(jobs.iter().map(|_| work.clone()).collect(), threads);
    let begun = Instant::now();
    let passed = AtomicUsize::new(0);
    let lines = Mutex::new(lines);
    let results = side_by_side(threads, &jobs, |job| {
        if let Some(signal) = interrupt::requested() {
            return Err(Failure::Interrupted(signal));
        }
        let running = progress.begin(work, &format!("{work} under {}", job.name(&systems)));
        let (done, counted) = job.run(&recording, &systems, arguments.inexact)?;
        passed.fetch_add(counted, Ordering::Relaxed);
        running.finish(None);
        let mut lines = lines.lock().expect("no thread panics while it writes");
        done.iter().try_for_each(|(number, line)| lines.put(*number, Some(line)))
    });
    let done = results.into_iter().collect::<Result<Vec<()>, Failure>>();
    let mut lines = lines.into_inner().expect("no thread panics while it writes");
    if done.is_err() {
        lines.give_up()?;
    }
    done?;
    products.write(&lines.kept())?;
    let events = recording.summary.events as f64 * wanted.len() as f64;
    let seconds = begun.elapsed().as_secs_f64();
    remark(&format!(
        "{} replays of {:.1} M events in {seconds:.1} s, {} of them in common passes: {:.1} M events/s",
        wanted.len(),
        recording.summary.events as f64 / 1e6,
        passed.into_inner(),
        events / 1e6 / seconds.max(1e-9),
    ));
    Ok(ExitCode::SUCCESS)
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
