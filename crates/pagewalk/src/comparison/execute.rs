//! Runs a plan's machines on several host threads. Results come in the plan's order, whatever ends first.

use super::finished::Finished;
use super::keep::Kept;
use super::outcome::failure;
use crate::error::Failure;
use crate::interrupt::{self, Orderly, Signal};
use crate::multi_vm::report::sections_of_one;
use crate::observe::{Recorded, Recordings};
use crate::progress::Runs;
use crate::runs::network::Opened;
use crate::runs::quiet::QuietConsole;
use crate::runs::start::Start;
use crate::shared_memory::{SharedMemory, warn_of_refusals};
use crate::side_by_side::side_by_side;
use crate::store::Store;
use crate::systems::Configured;
use crate::walks;
use machine::card_address;
use std::sync::Arc;

/// What is to be run.
pub(crate) struct Plan {
    /// The guests, each with the name of its work.
    pub(crate) works: Vec<(String, Start)>,
    /// The systems.
    pub(crate) systems: Vec<Arc<Configured>>,
    /// Host threads.
    pub(crate) threads: usize,
    /// Whether a walk of each run is recorded.
    pub(crate) walks: bool,
    /// What is recorded of runs. What is kept of a run has no recordings: each runs again for them.
    pub(crate) recorded: Recorded,
    /// Where finished runs are kept, and found.
    pub(crate) keep: Option<Store>,
    /// What the guests have of sections, and reserved memory.
    pub(crate) shared: SharedMemory,
    /// The host's sockets, if each guest has a network that leads out through them.
    pub(crate) network: Option<Opened>,
}

impl Plan {
    /// Where finished runs are kept, if they are.
    pub(super) fn kept_in(&self) -> Option<&Store> {
        // What is kept is found by its configuration, which says nothing of what guests share, or of what comes through a network.
        self.keep.as_ref().filter(|_| self.shared.is_empty() && self.network.is_none())
    }
}

/// A run that did not come to its end.
pub(crate) struct Missing {
    /// The workload, or the command.
    pub(crate) work: String,
    /// What it was to run on.
    pub(crate) on: Arc<Configured>,
}

/// How the runs of a plan ended.
pub(crate) enum Execution {
    /// All came to their end, in the plan's order.
    Whole(Vec<Finished>),
    /// A signal came first.
    Interrupted {
        /// The signal.
        signal: Signal,
        /// The runs that had come to their end, in the plan's order.
        finished: Vec<Finished>,
        /// The others, in the same order.
        missing: Vec<Missing>,
    },
}

/// Runs everything: works in their order, under each the systems in theirs.
///
/// # Errors
/// [`Failure`], if a machine cannot be built. That a guest fails is a result, not an error; so is a signal.
pub(crate) fn execute(plan: &Plan) -> Result<Execution, Failure> {
    // Held between runs, too, so that a signal does not lose what is finished.
    let _orderly = Orderly::begin();
    let jobs: Vec<(&str, &Start, &Arc<Configured>)> = plan
        .works
        .iter()
        .flat_map(|(name, start)| plan.systems.iter().map(move |on| (name.as_str(), start, on)))
        .collect();
    // A workload does about the same work on every system.
    let progress = Runs::new(jobs.iter().map(|(work, ..)| (*work).to_owned()).collect(), plan.threads);
    let run = |&(work, start, on): &(&str, &Start, &Arc<Configured>)| run(plan, &progress, (work, start), on);
    let (mut finished, mut missing, mut interrupted) = (Vec::new(), Vec::new(), None);
    for (&(work, _, on), result) in jobs.iter().zip(side_by_side(plan.threads, &jobs, run)) {
        match result {
            Ok(run) => finished.push(run),
            Err(Failure::Interrupted(signal)) => {
                interrupted = Some(signal);
                missing.push(Missing { work: work.to_owned(), on: on.clone() });
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(match interrupted {
        Some(signal) => Execution::Interrupted { signal, finished, missing },
        None => Execution::Whole(finished),
    })
}

fn run(plan: &Plan, progress: &Runs, (work, start): (&str, &Start), on: &Arc<Configured>) -> Result<Finished, Failure> {
    if let Some(signal) = interrupt::requested() {
        return Err(Failure::Interrupted(signal));
    }
    let name = format!("{work} under {}", on.system);
    let kept = match plan.kept_in() {
        Some(store) => Kept::place(store, start, on)?,
        None => None,
    };
    if !plan.recorded.any()
        && let Some(found) = kept.as_ref().and_then(|kept| kept.find(work, on))
        && (found.walk.is_some() || !plan.walks)
    {
        progress.kept(work, &name);
        return Ok(Finished { walk: found.walk.filter(|_| plan.walks), ..found });
    }
    let running = progress.begin(work, &name);
    let mut machine = start.machine(on, &plan.shared)?;
    machine.show_on(running.gauge());
    if plan.walks {
        machine.record_walks();
    }
    plan.recorded.begin(&mut machine);
    let network = plan.network.as_ref().map(|opened| opened.alone().network(card_address(0)));
    if let Some(network) = &network {
        machine.connect(0, Box::new(network.clone()));
    }
    let mut console = QuietConsole { network, ..QuietConsole::default() };
    let outcome = machine.run(&mut console);
    if let Some(signal) = interrupt::requested() {
        return Err(Failure::Interrupted(signal));
    }
    let outcome = console.panic.judge(outcome);
    let wrong = machine.check();
    let finished = Finished {
        work: work.to_owned(),
        on: on.clone(),
        failed: failure(&outcome, start.promise(), &wrong, Some(&console.output)),
        outcome,
        statistics: machine.measured(),
        output: console.output,
        refused: {
            let (count, noted) = machine.refused_segments();
            (count, noted.to_vec())
        },
        walk: machine.recorded_walks(0).map(walks::of_run),
        saturated: machine.saturated_filter().map(|filter| filter.to_string()),
        recordings: Recordings::of(&machine, 0),
        sections: sections_of_one(&machine),
        figures: machine.figures_of(0).values().clone(),
    };
    warn_of_refusals(&machine);
    running.finish(finished.failed.as_deref());
    if let Some(kept) = kept {
        kept.keep(&finished)?;
    }
    Ok(finished)
}
