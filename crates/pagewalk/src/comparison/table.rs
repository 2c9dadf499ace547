//! The comparison as a table for people.

use super::Finished;
use super::work::{differs, instructions, native_of, overhead, overhead_ideal};
use crate::systems::Configured;
use crate::text::cell::Cell;
use crate::text::table::{Column, Table};
use crate::time_model::fidelity_name;
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
            return failed();
        }
        let cost = match over {
            Over::Ideal => Cell::change(overhead_ideal(run)),
            Over::Native => {
                native_of(runs, run).map_or_else(Cell::missing, |native| Cell::change(overhead(run, native)))
            }
        };
        // The column of instructions, if there is one, is not this run's.
        if !differs(runs, run) {
            return cost;
        }
        let own = format!("{} ({} M instr)", cost.shown(), millions(run.statistics.instructions));
        Cell::new(own, cost.value().clone())
    };
    let ratio = |name: String| Column::new(&name, format!("{name} ratio"));
    let name = match over {
        Over::Ideal => "translation_overhead",
        Over::Native => "virtualization_overhead",
    };
    let works: Vec<&[Finished]> = runs.chunks(systems.len()).collect();
    if systems.iter().any(|on| on.system.has_settings()) {
        let works_columns = works.iter().map(|runs| ratio(brief(&runs[0].work)));
        let mut table = Table::new(name, [Column::from(("system", "system"))].into_iter().chain(works_columns));
        for (index, on) in systems.iter().enumerate().filter(|(_, on)| shown(on)) {
            let costs = works.iter().map(|runs| cost(&runs[index]));
            table.row([Cell::text(on.system.to_string())].into_iter().chain(costs));
        }
        return table;
    }
    let names = systems.iter().filter(|on| shown(on)).map(|on| ratio(on.system.to_string()));
    let first = [("workload", "workload"), ("M instr", "instructions")].map(Column::from);
    let mut table = Table::new(name, first.into_iter().chain(names));
    for runs in works {
        let costs = runs.iter().filter(|run| shown(&run.on)).map(cost);
        let good = runs.iter().find(|run| run.failed.is_none());
        let count = good.map_or_else(Cell::missing, |run| Cell::millions(run.statistics.instructions));
        table.row([Cell::text(brief(&runs[0].work)), count].into_iter().chain(costs));
    }
    table
}

/// One line for each run, with what translation costs it, and why.
pub(crate) fn details(runs: &[Finished]) -> Table {
    let mut columns = [
        ("workload", "workload"),
        ("scheme", "scheme"),
        ("M instr", "instructions"),
        ("M cycles", "cycles"),
        ("over native", "over_native_ratio"),
        ("over ideal", "over_ideal_ratio"),
        ("L2 misses/k", "l2_misses_per_1000_instructions"),
        ("refs/walk", "references_per_walk"),
        ("exits", "exits"),
    ]
    .map(Column::from)
    .to_vec();
    let unequal = runs.iter().any(|run| differs(runs, run));
    columns.extend(unequal.then(|| ("instr over native", "instructions_over_native_ratio").into()));
    columns.extend(runs.iter().any(|run| run.failed.is_some()).then(|| ("why", "failed").into()));
    columns.extend(["host_model", "fidelity"].map(Column::exact));
    let count = columns.len();
    let mut table = Table::new("runs", columns);
    for (index, run) in runs.iter().enumerate() {
        let repeated = index > 0 && runs[index - 1].work == run.work;
        let work = if repeated { Cell::repeated(&run.work) } else { Cell::new(brief(&run.work), run.work.as_str()) };
        let mut row = vec![work, Cell::text(run.on.system.to_string())];
        match &run.failed {
            Some(why) => {
                row.extend([Cell::missing(), Cell::missing(), failed()]);
                row.extend(std::iter::repeat_n(Cell::missing(), 4 + usize::from(unequal)));
                row.push(Cell::text(why));
            }
            None => row.extend(measured(runs, run, unequal)),
        }
        row.resize(count - 2, Cell::default());
        let host = Cell::exact(run.on.host.name.as_str());
        table.row(row.into_iter().chain([host, Cell::exact(fidelity_name(run.on.config.fidelity))]));
    }
    table
}

/// The cells of a run that did not fail.
fn measured(runs: &[Finished], run: &Finished, unequal: bool) -> Vec<Cell> {
    let statistics = &run.statistics;
    let mmu = &statistics.mmu;
    let native = native_of(runs, run);
    let over_native = native
        .filter(|native| !ptr::eq(*native, run))
        .map_or_else(Cell::missing, |native| Cell::change(overhead(run, native)));
    let mut cells = vec![
        Cell::millions(statistics.instructions),
        Cell::millions(statistics.time.total().0),
        over_native,
        Cell::change(overhead_ideal(run)),
        Cell::fixed(1000.0 * mmu.l2_misses as f64 / statistics.instructions.max(1) as f64, 2),
        Cell::fixed(mmu.refs() as f64 / mmu.walks.max(1) as f64, 2),
        Cell::count(statistics.exits.total()),
    ];
    let over_instructions = native.map_or_else(Cell::missing, |native| Cell::change(instructions(run, native)));
    cells.extend(unequal.then_some(over_instructions));
    cells
}

/// Whether some overhead over native is unknown, because the native machine was not run.
pub(crate) fn lacks_natives(runs: &[Finished]) -> bool {
    let has_one = |run: &Finished| runs.iter().any(|other| other.work == run.work && other.on.is_native_of(&run.on));
    runs.iter().any(|run| run.failed.is_none() && !has_one(run))
}

/// The cell of a run that has failed.
fn failed() -> Cell {
    Cell::new("failed", serde_json::Value::Null)
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
