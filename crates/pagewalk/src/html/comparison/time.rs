//! Where the time goes.

use super::measured::Run;
use crate::html::charts;
use crate::html::document::{Block, Chart, Charts, DataTable, Section};
use crate::html::figures::millions;
use crate::html::palette;

/// Cycles of the guest, of translation and of the hypervisor.
pub(super) fn time(works: &[&[Run]]) -> Section {
    let mut table = DataTable::new(
        "Time in millions of cycles",
        &["workload", "scheme", "#guest", "#translation", "#hypervisor", "#all"],
    );
    let mut charts = Vec::new();
    for runs in works {
        let workload = &runs[0].workload;
        let millions_of = |run: &Run| {
            [run.time.guest, run.time.translation, run.time.hypervisor].map(|cycles| cycles as f64 / 1e6).to_vec()
        };
        let bars: Vec<(String, Vec<f64>)> =
            runs.iter().filter(|run| run.is_good()).map(|run| (run.system(), millions_of(run))).collect();
        let description = format!(
            "Stacked bars: millions of cycles of {workload} by scheme, of the guest's instructions, of translation and of the hypervisor"
        );
        let spec = charts::stacked(&description, &bars, &palette::TIMES, "million cycles");
        charts.push(Chart { title: workload.clone(), description, spec });
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
        id: "time",
        title: "Where the time goes".to_owned(),
        intro: vec![
            "Cycles of all processors together. Translation is walks, refills and hits of the second TLB level; the hypervisor's time has exits, entries and its work.".to_owned(),
        ],
        blocks: vec![Block::Charts(Charts {
            caption: "Time by workload and scheme".to_owned(),
            legend: palette::legend_of_times(),
            charts,
            table,
        })],
    }
}
