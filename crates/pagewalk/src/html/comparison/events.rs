//! What was counted.

use super::measured::Run;
use crate::html::document::{Block, DataTable, Section};
use crate::html::figures::{grouped, millions};

/// Misses, references and exits of each run.
pub(super) fn events(runs: &[Run]) -> Section {
    let mut table = DataTable::new(
        "Events by run",
        &[
            "workload",
            "scheme",
            "#M instructions",
            "#L2 misses / 1000",
            "#walks",
            "#references / walk",
            "#most of one",
            "#exits",
        ],
    );
    for run in runs.iter().filter(|run| run.is_good()) {
        let per = |count: u64, of: u64| format!("{:.2}", count as f64 / of.max(1) as f64);
        table.row([
            run.workload.clone(),
            run.system(),
            millions(run.instructions),
            per(1000 * run.tlb.l2_misses, run.instructions),
            grouped(run.walks.count),
            per(run.walks.guest_refs + run.walks.host_refs, run.walks.count),
            run.walks.max_refs.to_string(),
            grouped(run.exits()),
        ]);
    }
    Section {
        id: "events".into(),
        title: "Misses, references and exits".to_owned(),
        intro: vec![
            "A walk reads one entry of a table with each of its references, in the guest's dimension and the host's together.".to_owned(),
            outcomes(runs),
        ],
        blocks: vec![Block::Table(table)],
    }
}

/// How the guests ended: in a sentence if all did alike, and else by name those that are not like the first.
fn outcomes(runs: &[Run]) -> String {
    let Some(first) = runs.first() else { return "Nothing was run.".to_owned() };
    let others: Vec<String> = runs
        .iter()
        .filter(|run| run.outcome != first.outcome)
        .map(|run| format!("{} under {}: {}", run.workload, run.system(), run.outcome))
        .collect();
    if others.is_empty() {
        return format!("How every run ended: {}.", first.outcome);
    }
    format!("How the runs ended: {}; but {}.", first.outcome, others.join("; "))
}
