//! Runs a plan's machines on several host threads. Results come in the plan's order, whatever ends first.

use crate::error::Failure;
use crate::image::Prepared;
use crate::progress::Progress;
use crate::quiet::QuietConsole;
use crate::systems::{Configured, named};
use machine::{Machine, Outcome, Statistics};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

/// What is to be run.
pub(crate) struct Plan {
    /// The guests, each with the name of its work.
    pub(crate) works: Vec<(String, Prepared)>,
    /// The systems.
    pub(crate) systems: Vec<Arc<Configured>>,
    /// Host threads.
    pub(crate) threads: usize,
}

/// A run that came to its end.
pub(crate) struct Finished {
    /// The workload, or the command.
    pub(crate) work: String,
    /// What it ran on.
    pub(crate) on: Arc<Configured>,
    /// How the guest ended.
    pub(crate) outcome: Outcome,
    /// What was measured.
    pub(crate) statistics: Statistics,
    /// What the guest printed.
    pub(crate) output: Vec<u8>,
    /// Segments that the guest was refused: how many, and the first of them in words.
    pub(crate) refused: (u64, Vec<String>),
    /// What `--check` found.
    pub(crate) wrong: Vec<String>,
}

/// Runs everything: works in their order, under each the systems in theirs.
///
/// # Errors
/// [`Failure`], if a machine cannot be built. That a guest fails is a result, not an error.
pub(crate) fn execute(plan: &Plan) -> Result<Vec<Finished>, Failure> {
    let jobs: Vec<(&str, &Prepared, &Arc<Configured>)> = plan
        .works
        .iter()
        .flat_map(|(name, prepared)| plan.systems.iter().map(move |on| (name.as_str(), prepared, on)))
        .collect();
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Finished, Failure>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let mut progress = Progress::new();
    progress.count("running", jobs.len() as u64);
    let (done, finished) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..plan.threads.clamp(1, jobs.len().max(1)) {
            let (done, next, jobs, results) = (done.clone(), &next, &jobs, &results);
            scope.spawn(move || {
                while let Some((index, &(work, prepared, on))) = take(next, jobs) {
                    let result = run(work, prepared, on);
                    *results[index].lock().expect("no thread panics with a result in hand") = Some(result);
                    // Nobody listens once the bar is gone.
                    let _ = done.send(());
                }
            });
        }
        drop(done);
        for (count, ()) in finished.iter().enumerate() {
            progress.at(count as u64 + 1);
        }
    });
    results
        .into_iter()
        .map(|result| result.into_inner().expect("no thread panicked").expect("every job was taken"))
        .collect()
}

/// The next job and its index.
fn take<'j, T>(next: &AtomicUsize, jobs: &'j [T]) -> Option<(usize, &'j T)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(index).map(|job| (index, job))
}

fn run(work: &str, prepared: &Prepared, on: &Arc<Configured>) -> Result<Finished, Failure> {
    let config = &on.config;
    let mut machine = Machine::assemble(config, &prepared.image(config)?).map_err(|error| {
        let text = named(&on.system, &error);
        if error.is_usage() { Failure::Usage(text) } else { Failure::Run(text) }
    })?;
    let mut console = QuietConsole::default();
    let outcome = machine.run(&mut console);
    Ok(Finished {
        work: work.to_owned(),
        on: on.clone(),
        outcome,
        statistics: machine.measured(),
        output: console.output,
        refused: {
            let (count, noted) = machine.refused_segments();
            (count, noted.to_vec())
        },
        wrong: machine.check(),
    })
}
