//! The comparison as a table for people.

use super::Finished;
use super::work::{differs, instructions, native_of, overhead, overhead_ideal};
use crate::systems::Configured;
use crate::text::table::Table;
use std::ptr;
use std::sync::Arc;

/// What a run's cycles are set against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Over {
    /// Cycles of the same run on a machine whose translation costs nothing.
    Ideal,
    /// Cycles of the same work on the native machine. Such a table has no native systems.
    Native,
}

/// What translation, or the hypervisor, costs: one line for each workload, one column for each scheme. Systems with settings of their own have
/// long names, and are then the lines.
pub(crate) fn overview(runs: &[Finished], systems: &[Arc<Configured>], over: Over) -> Table {
    let shown = |on: &Configured| over == Over::Ideal || !on.is_native();
    let cost = |run: &Finished| {
        if run.failed.is_some() {
            return FAILED.to_owned();
        }
        let cost = match over {
            Over::Ideal => percent(overhead_ideal(run)),
            Over::Native => native_of(runs, run).map_or_else(missing, |native| percent(overhead(run, native))),
        };
        // The column of instructions, if there is one, is not this run's.
        let own = differs(runs, run).then(|| format!(" ({} M instr)", millions(run.statistics.instructions)));
        cost + &own.unwrap_or_default()
    };
    let works: Vec<&[Finished]> = runs.chunks(systems.len()).collect();
    if systems.iter().any(|on| on.system.has_settings()) {
        let mut table =
            Table::new(["system".to_owned()].into_iter().chain(works.iter().map(|runs| brief(&runs[0].work))));
        for (index, on) in systems.iter().enumerate().filter(|(_, on)| shown(on)) {
            let costs = works.iter().map(|runs| cost(&runs[index]));
            table.row([on.system.to_string()].into_iter().chain(costs));
        }
        return table;
    }
    let names = systems.iter().filter(|on| shown(on)).map(|on| on.system.to_string());
    let mut table = Table::new(["workload".to_owned(), "M instr".to_owned()].into_iter().chain(names));
    for runs in works {
        let costs = runs.iter().filter(|run| shown(&run.on)).map(cost);
        let good = runs.iter().find(|run| run.failed.is_none());
        let count = good.map_or_else(missing, |run| millions(run.statistics.instructions));
        table.row([brief(&runs[0].work), count].into_iter().chain(costs));
    }
    table
}

/// One line for each run, with what translation costs it, and why.
pub(crate) fn details(runs: &[Finished]) -> Table {
    let mut headings = vec![
        "workload",
        "scheme",
        "M instr",
        "M cycles",
        "over native",
        "over ideal",
        "L2 misses/k",
        "refs/walk",
        "exits",
    ];
    let unequal = runs.iter().any(|run| differs(runs, run));
    headings.extend(unequal.then_some("instr over native"));
    headings.extend(runs.iter().any(|run| run.failed.is_some()).then_some("why"));
    let mut table = Table::new(headings);
    for (index, run) in runs.iter().enumerate() {
        let repeated = index > 0 && runs[index - 1].work == run.work;
        let work = if repeated { String::new() } else { brief(&run.work) };
        let statistics = &run.statistics;
        let mmu = &statistics.mmu;
        if let Some(why) = &run.failed {
            let row = [work, run.on.system.to_string(), missing(), missing(), FAILED.to_owned()];
            let others = std::iter::repeat_n(missing(), 4 + usize::from(unequal));
            table.row(row.into_iter().chain(others).chain([why.clone()]));
            continue;
        }
        let over_native = native_of(runs, run)
            .filter(|native| !ptr::eq(*native, run))
            .map_or_else(missing, |native| percent(overhead(run, native)));
        let over_instructions = native_of(runs, run).map_or_else(missing, |native| percent(instructions(run, native)));
        let row = [
            work,
            run.on.system.to_string(),
            millions(statistics.instructions),
            millions(statistics.time.total().0),
            over_native,
            percent(overhead_ideal(run)),
            format!("{:.2}", 1000.0 * mmu.l2_misses as f64 / statistics.instructions.max(1) as f64),
            format!("{:.2}", mmu.refs() as f64 / mmu.walks.max(1) as f64),
            statistics.exits.total().to_string(),
        ];
        table.row(row.into_iter().chain(unequal.then_some(over_instructions)));
    }
    table
}

/// Whether some overhead over native is unknown, because the native machine was not run.
pub(crate) fn lacks_natives(runs: &[Finished]) -> bool {
    let has_one = |run: &Finished| runs.iter().any(|other| other.work == run.work && other.on.is_native_of(&run.on));
    runs.iter().any(|run| run.failed.is_none() && !has_one(run))
}

/// The text of a cell whose run has failed.
const FAILED: &str = "failed";

/// The text of a cell that has no figure.
fn missing() -> String {
    "-".to_owned()
}

/// The name of a work, so short that a table stays one; a command without a name of its own may be a page long.
pub(super) fn brief(work: &str) -> String {
    const LONGEST: usize = 48;
    match work.char_indices().nth(LONGEST) {
        None => work.to_owned(),
        Some(_) => work.chars().take(LONGEST - 1).chain(['…']).collect(),
    }
}

pub(super) fn millions(count: u64) -> String {
    format!("{:.1}", count as f64 / 1e6)
}

fn percent(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * ratio)
}
