//! Runs a plan's machines on several host threads. Results come in the plan's order, whatever ends first.

use super::keep::Kept;
use crate::error::Failure;
use crate::hosting::report::sections_of_one;
use crate::quiet::QuietConsole;
use crate::shared_memory::{SharedMemory, warn_of_refusals};
use crate::side_by_side::side_by_side;
use crate::start::Start;
use crate::store::Store;
use crate::systems::Configured;
use crate::walks;
use machine::{Outcome, Statistics};
use serde_json::Value;
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
    /// Where finished runs are kept, and found.
    pub(crate) keep: Option<Store>,
    /// What the guests have of sections, and reserved memory.
    pub(crate) shared: SharedMemory,
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
    /// A walk of it, where that was asked, as its report has it.
    pub(crate) walk: Option<Value>,
    /// That the escape filter of the guest's segment is too small, if it is.
    pub(crate) saturated: Option<String>,
    /// What `--check` found.
    pub(crate) wrong: Vec<String>,
    /// What there was of sections and reserved memory; null of a kept run, which had neither.
    pub(crate) sections: Value,
}

/// Runs everything: works in their order, under each the systems in theirs.
///
/// # Errors
/// [`Failure`], if a machine cannot be built. That a guest fails is a result, not an error.
pub(crate) fn execute(plan: &Plan) -> Result<Vec<Finished>, Failure> {
    let jobs: Vec<(&str, &Start, &Arc<Configured>)> = plan
        .works
        .iter()
        .flat_map(|(name, start)| plan.systems.iter().map(move |on| (name.as_str(), start, on)))
        .collect();
    let run = |&(work, start, on): &(&str, &Start, &Arc<Configured>)| run(plan, work, start, on);
    side_by_side(plan.threads, &jobs, run).into_iter().collect()
}

fn run(plan: &Plan, work: &str, start: &Start, on: &Arc<Configured>) -> Result<Finished, Failure> {
    // What is kept is found by its configuration, which says nothing of these.
    let keep = plan.keep.as_ref().filter(|_| plan.shared.is_empty());
    let kept = match keep {
        Some(store) => Kept::place(store, start, on)?,
        None => None,
    };
    if let Some(found) = kept.as_ref().and_then(|kept| kept.find(work, on))
        && (found.walk.is_some() || !plan.walks)
    {
        return Ok(Finished { walk: found.walk.filter(|_| plan.walks), ..found });
    }
    let mut machine = start.machine(on, &plan.shared)?;
    if plan.walks {
        machine.record_walks();
    }
    let mut console = QuietConsole::default();
    let outcome = machine.run(&mut console);
    let finished = Finished {
        work: work.to_owned(),
        on: on.clone(),
        outcome,
        statistics: machine.measured(),
        output: console.output,
        refused: {
            let (count, noted) = machine.refused_segments();
            (count, noted.to_vec())
        },
        walk: machine.recorded_walk(0).map(walks::value),
        saturated: machine.saturated_filter().map(|filter| filter.to_string()),
        wrong: machine.check(),
        sections: sections_of_one(&machine),
    };
    warn_of_refusals(&machine);
    if let Some(kept) = kept {
        kept.keep(&finished)?;
    }
    Ok(finished)
}
