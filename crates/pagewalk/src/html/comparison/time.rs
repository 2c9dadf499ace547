//! Where the time goes.

use super::measured::Run;
use crate::html::charts::{self, Part, Stack, Stacked};
use crate::html::document::{Block, Chart, Charts, DataTable, Section};
use crate::html::figures::{grouped, millions, percent};
use crate::html::{legend, palette};

/// Cycles of the guest, of translation and of the hypervisor.
pub(super) fn time(works: &[&[Run]]) -> Section {
    let mut table = DataTable::new(
        "Time in millions of cycles",
        &["workload", "scheme", "#guest", "#translation", "#hypervisor", "#all"],
    );
    let mut charts = Vec::new();
    let good = |run: &&Run| run.is_good();
    let greatest = |runs: &&[Run]| runs.iter().filter(good).map(|run| run.cycles).max().unwrap_or(0) as f64;
    let end = charts::shared(works.iter().map(greatest));
    for runs in works {
        let workload = &runs[0].workload;
        let stacks: Vec<Stack> = runs.iter().filter(good).map(stack).collect();
        let description = format!(
            "Stacked bars: cycles of {workload} by scheme, of the guest's instructions, of translation and of the hypervisor"
        );
        let stacked = Stacked { description: &description, stacks: &stacks, end: end.unwrap_or(greatest(runs)) };
        charts.push(Chart { title: workload.clone(), svg: stacked.svg() });
        for run in runs.iter().filter(|run| run.is_good()) {
            table.row([
                workload.clone(),
                run.system(),
                millions(run.time.guest),
                millions(run.time.translation),
                millions(run.time.hypervisor),
                millions(run.cycles),
            ]);
        }
    }
    Section {
        id: "time".into(),
        title: "Where the time goes".to_owned(),
        intro: vec![
            "Cycles of all processors together. Translation is walks, refills and hits of the second TLB level; the hypervisor's time has exits, entries and its work.".to_owned(),
            if end.is_some() {
                "All workloads have the same scale."
            } else {
                "Each workload has a scale of its own, because they differ too much."
            }
            .to_owned(),
        ],
        blocks: vec![Block::Charts(Charts {
            caption: "Time by workload and scheme".to_owned(),
            legend: legend::of_times(),
            charts,
            table,
        })],
    }
}

/// The bar of a run.
fn stack(run: &Run) -> Stack {
    let cycles = [run.time.guest, run.time.translation, run.time.hypervisor];
    let part = |(cycles, (what, colour)): (u64, (&str, _))| Part {
        value: cycles as f64,
        exact: format!("{what}, {} cycles, {}", grouped(cycles), percent(cycles as f64 / run.cycles.max(1) as f64)),
        colour,
    };
    Stack {
        name: run.system(),
        parts: cycles.into_iter().zip(palette::TIMES).map(part).collect(),
        label: charts::short(run.cycles as f64),
    }
}
