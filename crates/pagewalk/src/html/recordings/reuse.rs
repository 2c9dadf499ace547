//! Reuse distances: how many accesses a TLB of so many entries misses.

use super::room::shortened;
use crate::html::charts::{At, Axis, Curve, Lines, Numbers, Point, Shape, Spacing, Stroke, Vertical};
use crate::html::document::{Block, Chart, Charts, DataTable, Section};
use crate::html::figures::{grouped, listed};
use crate::html::palette;
use serde::Deserialize;

/// The most curves of a page.
const MOST: usize = 16;

/// The reuse distances of a command's runs.
#[derive(Deserialize, Debug)]
pub(super) struct Reuse {
    runs: Vec<Run>,
}

/// A run; other keys of docs/json-keys.md are not read.
#[derive(Deserialize, Debug)]
struct Run {
    workload: String,
    scheme: String,
    all: Distances,
}

/// What all harts together have.
#[derive(Deserialize, PartialEq, Debug)]
struct Distances {
    accesses: u64,
    first_uses: u64,
    lru_misses: Vec<[u64; 2]>,
}

impl Distances {
    fn ratio(&self, misses: u64) -> f64 {
        misses as f64 / self.accesses.max(1) as f64
    }
}

/// The systems of a curve: the rows of the table repeat them, and a sweep can have hundreds.
fn systems(schemes: &[String]) -> String {
    const NAMED: usize = 6;
    match schemes.len() {
        0..=NAMED => listed(schemes),
        all => format!("{} and {} more", schemes[..NAMED].join(", "), all - NAMED),
    }
}

/// The section; `None` if there is no run in it.
pub(super) fn section(Reuse { runs }: &Reuse) -> Option<Section> {
    // The guest does mostly the same under all schemes, and then the curves are one.
    let mut curves: Vec<(&Run, Vec<String>)> = Vec::new();
    for run in runs {
        match curves.iter_mut().find(|(other, _)| other.workload == run.workload && other.all == run.all) {
            Some((_, schemes)) => schemes.push(run.scheme.clone()),
            None => curves.push((run, vec![run.scheme.clone()])),
        }
    }
    let mut table = DataTable::new(
        "Misses of a TLB that replaces the entry used least recently",
        &["workload", "system", "#entries", "#misses", "#accesses that miss", "#accesses"],
    );
    let mut charts: Vec<Chart> = Vec::new();
    for (run, schemes) in curves.iter().take(MOST) {
        let (name, workload) = (systems(schemes), shortened(&run.workload).into_owned());
        let points = |[entries, misses]: &[u64; 2]| {
            let missing = format!("{:.3} %", 100.0 * run.all.ratio(*misses));
            let exact = format!("{} of {} accesses miss, {missing}", grouped(*misses), grouped(run.all.accesses));
            Point { at: At::Number(*entries as f64), value: run.all.ratio(*misses), range: None, exact }
        };
        for [entries, misses] in &run.all.lru_misses {
            let missing = format!("{:.3} %", 100.0 * run.all.ratio(*misses));
            let all = grouped(run.all.accesses);
            table.row([workload.clone(), name.clone(), entries.to_string(), grouped(*misses), missing, all]);
        }
        let curve = Curve {
            name: workload.clone(),
            points: run.all.lru_misses.iter().map(points).collect(),
            colour: palette::SIMULATED,
            shape: Shape::of_series(0),
            stroke: Stroke::Solid,
        };
        let description =
            format!("Curve: accesses of {workload} that miss, by entries of a TLB; the table has the numbers");
        let lines = Lines {
            description: &description,
            curves: &[curve],
            x: Axis { title: "entries", spacing: Spacing::Doublings },
            y: Vertical { title: "accesses that miss", numbers: Numbers::Ratios, end: Some(1.0) },
        };
        charts.push(Chart { title: format!("{workload} under {name}"), svg: lines.svg() });
    }
    let left_out = (curves.len() > MOST).then(|| {
        format!("The page has the first {MOST} of {} curves. The file of the recording has all of them.", curves.len())
    });
    let intro = "The loads and stores that miss a fully associative TLB of so many entries, which replaces the entry used least recently. They come from exact reuse distances of pages of 4 KiB. The first use of each page always misses.".to_owned();
    (!charts.is_empty()).then(|| Section {
        id: "reuse".into(),
        title: "How many entries a TLB needs".to_owned(),
        intro: std::iter::once(intro).chain(left_out).collect(),
        blocks: vec![Block::Charts(Charts { caption: table.caption.clone(), legend: Vec::new(), charts, table })],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run_of(scheme: &str, misses: u64) -> serde_json::Value {
        let all = json!({ "accesses": 200, "first_uses": 0, "lru_misses": [[1, 200], [2, misses], [4, 0]] });
        json!({ "workload": "w", "scheme": scheme, "all": all })
    }

    #[test]
    fn runs_that_use_pages_alike_are_one_curve() {
        let runs = json!({ "runs": [run_of("native", 50), run_of("nested", 50), run_of("shadow", 60)] });
        let section = section(&serde_json::from_value(runs).unwrap()).unwrap();
        let Block::Charts(Charts { charts, table, .. }) = &section.blocks[0] else { panic!("charts") };
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["w under native and nested", "w under shadow"]);
        assert!(charts[0].svg.contains("entries 2: 50 of 200 accesses miss, 25.000 %"), "{}", charts[0].svg);
        assert_eq!((table.rows.len(), table.rows[1][4].as_str()), (6, "25.000 %"));
    }

    #[test]
    fn a_page_says_what_it_leaves_out() {
        let runs: Vec<_> = (0..30).map(|run| run_of(&format!("s{run}"), run)).collect();
        let section = section(&serde_json::from_value(json!({ "runs": runs })).unwrap()).unwrap();
        assert!(section.intro.iter().any(|text| text.contains("the first 16 of 30 curves")), "{:?}", section.intro);
        let names: Vec<String> = (0..9).map(|run| format!("s{run}")).collect();
        assert_eq!(systems(&names), "s0, s1, s2, s3, s4, s5 and 3 more");
        assert_eq!(systems(&names[..2]), "s0 and s1");
    }
}
