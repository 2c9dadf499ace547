//! Curves over the values of a setting, such as the number of shadow tables in the 1985 paper's figures.

use super::measured::Run;
use crate::html::charts::{self, Curve};
use crate::html::document::{Block, Chart, Charts, DataTable, Section};
use crate::html::figures::{listed, signed_percent};
use crate::html::palette;
use serde_json::{Value, json};

/// What is drawn over a setting, and how it reads.
struct Figure {
    title: &'static str,
    axis: &'static str,
    of: fn(&Run) -> Option<f64>,
    text: fn(f64) -> String,
}

const FIGURES: [Figure; 2] = [
    Figure { title: "Overhead", axis: "overhead, %", of: |run| run.overhead_ideal, text: signed_percent },
    Figure {
        title: "References not in the TLB",
        axis: "not in the TLB, %",
        of: |run| run.shadow.as_ref().map(|shadow| shadow.not_in_tlb_ratio),
        text: |ratio| format!("{:.3} %", 100.0 * ratio),
    },
];

/// A section with charts for each key that has several values; `None` if no key has.
pub(super) fn section(works: &[&[Run]]) -> Option<Section> {
    let keys = swept(works);
    let blocks: Vec<Block> =
        keys.iter().flat_map(|key| FIGURES.iter().filter_map(|figure| block(works, key, figure))).collect();
    (!blocks.is_empty()).then(|| Section {
        id: "sweep",
        title: format!("Over {}", listed(&keys)),
        intro: vec!["Overhead is the additional cycles over those of the same run with free translation.".to_owned()],
        blocks,
    })
}

/// Keys with several values under the same scheme.
fn swept(works: &[&[Run]]) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for run in works.iter().flat_map(|runs| runs.iter()) {
        for (key, value) in &run.settings {
            let differs =
                |other: &Run| other.scheme == run.scheme && other.settings.get(key).is_some_and(|other| other != value);
            if !keys.contains(key) && works.iter().flat_map(|runs| runs.iter()).any(differs) {
                keys.push(key.clone());
            }
        }
    }
    keys
}

fn block(works: &[&[Run]], key: &str, figure: &Figure) -> Option<Block> {
    let caption = format!("{} over {key}", figure.title);
    let mut table = DataTable::new(&caption, &["workload", "system", key, &format!("#{}", figure.title)]);
    let mut charts = Vec::new();
    for runs in works {
        let mut curves: Vec<Curve> = Vec::new();
        for run in *runs {
            let value = (figure.of)(run).filter(|_| run.is_good());
            let (Some(at), Some(value)) = (run.settings.get(key), value) else { continue };
            let at = number(at);
            let (name, colour) = (run.system_without(key), palette::of_series(curves.len()));
            table.row([run.workload.clone(), name.clone(), text(&at), (figure.text)(value)]);
            let point = (at, 100.0 * value);
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve { name, points: vec![point], colour, quoted: false }),
            }
        }
        if curves.iter().any(|curve| curve.points.len() > 1) {
            let workload = &runs[0].workload;
            let description = format!("Curves: {} of {workload} over {key}; the table has the numbers", figure.title);
            let spec = charts::lines(&description, &curves, key, figure.axis);
            charts.push(Chart { title: workload.clone(), description, spec });
        }
    }
    let group = Charts { caption, legend: Vec::new(), charts, table };
    (!group.charts.is_empty()).then(|| Block::Figure { notes: Vec::new(), group })
}

/// A value as a number, if it is one.
fn number(value: &Value) -> Value {
    let read = |text: &String| text.parse::<f64>().ok().map(|number| json!(number));
    match value {
        Value::String(text) => read(text).unwrap_or_else(|| value.clone()),
        other => other.clone(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string()),
        other => other.to_string(),
    }
}
