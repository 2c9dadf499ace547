//! Runs a plan's machines on several host threads. Results come in the plan's order, whatever ends first.

use crate::error::Failure;
use crate::image::Prepared;
use crate::progress::Progress;
use crate::quiet::QuietConsole;
use machine::config::Config;
use machine::scheme::Scheme;
use machine::{Machine, Outcome, Statistics};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

/// What is to be run.
pub(crate) struct Plan<'p> {
    /// The configuration of every run, but for the scheme.
    pub(crate) config: &'p Config,
    /// The guests, each with the name of its work.
    pub(crate) works: Vec<(String, Prepared)>,
    /// The schemes.
    pub(crate) schemes: Vec<Scheme>,
    /// Host threads.
    pub(crate) threads: usize,
}

/// A run that came to its end.
pub(crate) struct Finished {
    /// The workload, or the command.
    pub(crate) work: String,
    /// The scheme.
    pub(crate) scheme: Scheme,
    /// How the guest ended.
    pub(crate) outcome: Outcome,
    /// What was measured.
    pub(crate) statistics: Statistics,
    /// What the guest printed.
    pub(crate) output: Vec<u8>,
}

/// Runs everything: works in their order, under each the schemes in theirs.
///
/// # Errors
/// [`Failure`], if a machine cannot be built. That a guest fails is a result, not an error.
pub(crate) fn execute(plan: &Plan<'_>) -> Result<Vec<Finished>, Failure> {
    let jobs: Vec<(&str, &Prepared, Scheme)> = plan
        .works
        .iter()
        .flat_map(|(name, prepared)| plan.schemes.iter().map(move |&scheme| (name.as_str(), prepared, scheme)))
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
                while let Some((index, &(work, prepared, scheme))) = take(next, jobs) {
                    let result = run(plan.config, work, prepared, scheme);
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

fn run(config: &Config, work: &str, prepared: &Prepared, scheme: Scheme) -> Result<Finished, Failure> {
    let config = Config { scheme, ..config.clone() };
    let mut machine = Machine::assemble(&config, &prepared.image(&config))?;
    let mut console = QuietConsole::default();
    let outcome = machine.run(&mut console);
    Ok(Finished { work: work.to_owned(), scheme, outcome, statistics: machine.measured(), output: console.output })
}
