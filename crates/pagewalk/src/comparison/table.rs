//! The comparison as a table for people.

use super::Finished;
use super::report::{native_of, overhead, overhead_ideal};
use crate::table::Table;
use machine::scheme::Scheme;

/// One line for each workload, one column for each scheme: what translation costs.
pub(crate) fn overview(runs: &[Finished], schemes: &[Scheme]) -> Table {
    let names = schemes.iter().map(Scheme::to_string);
    let mut table = Table::new(["workload".to_owned(), "M instr".to_owned()].into_iter().chain(names));
    // Runs come work by work, each under every scheme in its order.
    for runs in runs.chunks(schemes.len()) {
        let costs = runs.iter().map(|run| percent(overhead_ideal(run)));
        table.row([runs[0].work.clone(), millions(runs[0].statistics.instructions)].into_iter().chain(costs));
    }
    table
}

/// One line for each run, with what translation costs it, and why.
pub(crate) fn details(runs: &[Finished]) -> Table {
    let mut table = Table::new([
        "workload",
        "scheme",
        "M instr",
        "M cycles",
        "over native",
        "over ideal",
        "L2 misses/k",
        "refs/walk",
        "exits",
    ]);
    for (index, run) in runs.iter().enumerate() {
        let repeated = index > 0 && runs[index - 1].work == run.work;
        let statistics = &run.statistics;
        let mmu = &statistics.mmu;
        let over_native = native_of(runs, run)
            .filter(|native| native.scheme != run.scheme)
            .map_or_else(|| "-".to_owned(), |native| percent(overhead(run, native)));
        table.row([
            if repeated { String::new() } else { run.work.clone() },
            run.scheme.to_string(),
            millions(statistics.instructions),
            millions(statistics.time.total().0),
            over_native,
            percent(overhead_ideal(run)),
            format!("{:.2}", 1000.0 * mmu.l2_misses as f64 / statistics.instructions.max(1) as f64),
            format!("{:.2}", mmu.refs() as f64 / mmu.walks.max(1) as f64),
            statistics.exits.total().to_string(),
        ]);
    }
    table
}

fn millions(count: u64) -> String {
    format!("{:.1}", count as f64 / 1e6)
}

fn percent(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * ratio)
}
