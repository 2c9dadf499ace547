//! Overhead by workload and scheme.

use super::measured::Run;
use crate::html::charts::{self, Bars, Group, Numbers};
use crate::html::document::{Block, Chart, Charts, DataTable, Section};
use crate::html::figures::{grouped, percent, signed_percent};
use crate::html::palette;

/// Overhead by workload and scheme, as the figures of the 2014 paper have it.
pub(super) fn overhead(works: &[&[Run]]) -> Section {
    let longest = charts::cut(works.iter().flat_map(|runs| runs.iter()).filter_map(|run| run.overhead_ideal));
    let mut table = DataTable::new(
        "Overhead by workload and scheme",
        &["workload", "scheme", "#over free translation", "#over native"],
    );
    let mut charts = Vec::new();
    for runs in works {
        let groups: Vec<Group> = runs.iter().filter(|run| run.is_good()).map(bar).collect();
        let workload = &runs[0].workload;
        let description = format!("Bars: overhead of {workload} over free translation. {}", charts::spoken(&groups));
        let bars = Bars { description: &description, groups: &groups, end: longest, numbers: Numbers::Ratios };
        charts.push(Chart { title: workload.clone(), svg: bars.svg() });
        for run in *runs {
            let over_native = run.overhead.map_or_else(|| "–".to_owned(), signed_percent);
            let over_ideal = run.overhead_ideal.map_or_else(|| "failed".to_owned(), signed_percent);
            table.row([workload.clone(), run.system(), over_ideal, over_native]);
        }
    }
    let mut intro = vec![
        "Additional cycles over those of the same run with free translation. They come from walks, hits of the second TLB level, and the hypervisor's work. All workloads have the same scale.".to_owned(),
    ];
    if works.iter().flat_map(|runs| runs.iter()).any(|run| run.over_ideal() > longest) {
        intro.push(format!(
            "A bar that is marked ▸ is cut at {}: it would make all others too small to see.",
            percent(longest)
        ));
    }
    Section {
        id: "overhead".into(),
        title: "Overhead of translation".to_owned(),
        intro,
        blocks: vec![Block::Charts(Charts {
            caption: "Overhead by workload and scheme".to_owned(),
            legend: Vec::new(),
            charts,
            table,
        })],
    }
}

/// The bar of a run.
fn bar(run: &Run) -> Group {
    let overhead = run.over_ideal();
    let group = Group::single(run.system(), overhead, percent(overhead), palette::of_scheme(&run.scheme));
    let native = run.overhead.map_or_else(String::new, |ratio| format!(", {} over native", signed_percent(ratio)));
    group.exactly(&format!("{:+.3} % over free translation{native}, {} cycles", 100.0 * overhead, grouped(run.cycles)))
}
