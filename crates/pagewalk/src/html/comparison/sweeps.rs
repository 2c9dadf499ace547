//! Curves over the values of a setting, such as the number of shadow tables in the 1985 paper's figures.

use super::measured::Run;
use crate::html::charts::{self, At, Axis, Curve, Lines, Numbers, Point, Shape, Spacing, Stroke, Vertical};
use crate::html::document::{Block, Chart, Charts, DataTable, Section};
use crate::html::figures::{listed, signed_percent};
use crate::html::{legend, palette};
use serde_json::Value;

/// What is drawn over a setting, and how it reads.
struct Figure {
    title: &'static str,
    axis: &'static str,
    of: fn(&Run) -> Option<f64>,
    text: fn(f64) -> String,
}

const FIGURES: [Figure; 2] = [
    Figure { title: "Overhead", axis: "overhead", of: |run| run.overhead_ideal, text: signed_percent },
    Figure {
        title: "References not in the TLB",
        axis: "not in the TLB",
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
        id: "sweep".into(),
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
    let names = names(works, key);
    let mut panels: Vec<(&str, Vec<Curve>)> = Vec::new();
    for runs in works {
        let mut curves: Vec<Curve> = Vec::new();
        for run in *runs {
            let value = (figure.of)(run).filter(|_| run.is_good());
            let (Some(at), Some(value)) = (run.settings.get(key), value) else { continue };
            let (at, name) = (place(at), run.system_without(key));
            table.row([run.workload.clone(), name.clone(), at.text(), (figure.text)(value)]);
            let point = Point { at, value, range: None, exact: (figure.text)(value) };
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push(point),
                None => curves.push(curve(name, &names, point)),
            }
        }
        if curves.iter().any(|curve| curve.points.len() > 1) {
            panels.push((&runs[0].workload, curves));
        }
    }
    let greatest =
        |curves: &[Curve]| curves.iter().flat_map(|curve| &curve.points).map(|point| point.value).fold(0.0, f64::max);
    let end = charts::shared(panels.iter().map(|(_, curves)| greatest(curves)));
    let chart = |(workload, curves): &(&str, Vec<Curve>)| {
        let description = format!("Curves: {} of {workload} over {key}; the table has the numbers", figure.title);
        let x = Axis { title: key, spacing: Spacing::Even };
        let y = Vertical { title: figure.axis, numbers: Numbers::Ratios, end };
        Chart { title: (*workload).to_owned(), svg: Lines { description: &description, curves, x, y }.svg() }
    };
    let legend = legend::of_curves(panels.iter().flat_map(|(_, curves)| curves));
    let notes = match end {
        None if panels.len() > 1 => {
            vec!["Each workload has a scale of its own, because they differ too much.".to_owned()]
        }
        _ => Vec::new(),
    };
    let group = Charts { caption, legend, charts: panels.iter().map(chart).collect(), table };
    (!group.charts.is_empty()).then_some(Block::Figure { notes, group })
}

/// The systems that have curves, in their order: a system looks the same on each panel.
fn names(works: &[&[Run]], key: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for run in works.iter().flat_map(|runs| runs.iter()).filter(|run| run.settings.contains_key(key)) {
        let name = run.system_without(key);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A curve that has the colour of its scheme, in a shade of its own where several systems have that scheme, and the shape of its number.
fn curve(name: String, names: &[String], point: Point) -> Curve {
    let index = names.iter().position(|known| *known == name).unwrap_or(0);
    let colour = palette::of_scheme(&name);
    let alike = names[..index].iter().filter(|other| palette::of_scheme(other) == colour).count();
    let shape = Shape::of_series(index);
    Curve { name, points: vec![point], colour: colour.shade(alike), shape, stroke: Stroke::Solid }
}

/// A value as a number, if it is one.
fn place(value: &Value) -> At {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.parse().ok().filter(|number: &f64| number.is_finite()).map_or(At::Text(text), At::Number)
}
