//! A paper's figures, with what was measured beside what it says.

use crate::html::charts::{
    self, At, Axis, Bar, Bars, Curve, Group, Lines, Numbers, Point, Shape, Spacing, Stroke, Vertical,
};
use crate::html::document::{Block, Chart, Charts, DataTable, Heading, Section};
use crate::html::{legend, palette};
use serde::Deserialize;
use serde_json::Value;

/// A figure.
#[derive(Deserialize)]
pub(super) struct Figure {
    title: String,
    source: String,
    unit: Option<String>,
    kind: String,
    x_label: String,
    x: Vec<Value>,
    digits: Option<usize>,
    series: Vec<Series>,
    note: Option<String>,
}

#[derive(Deserialize)]
struct Series {
    name: String,
    #[serde(default)]
    paper: Vec<Option<f64>>,
    #[serde(default)]
    ours: Vec<Option<f64>>,
}

/// The section with all figures; `None` if there are none.
pub(super) fn section(figures: &[Figure]) -> Option<Section> {
    (!figures.is_empty()).then(|| Section {
        id: "figures".into(),
        title: "The paper's figures, and ours".to_owned(),
        intro: Vec::new(),
        blocks: figures.iter().map(Figure::block).collect(),
    })
}

impl Figure {
    fn block(&self) -> Block {
        let table = self.table();
        let mut notes = vec![format!("{}.", self.source.trim_end_matches('.'))];
        notes.extend(self.note.clone());
        let (legend, charts) = match self.kind.as_str() {
            "bars" => {
                let paired = self.series.iter().any(|series| series.paper.iter().any(Option::is_some));
                let keys = || vec![legend::key(palette::PAPER, "the paper's"), legend::key(palette::SIMULATED, "ours")];
                (if paired { keys() } else { Vec::new() }, self.bars())
            }
            "lines" => {
                let curves = self.curves();
                (legend::of_curves(&curves), vec![self.lines(&curves)])
            }
            _ => Default::default(),
        };
        let caption = match &self.unit {
            Some(unit) if !unit.is_empty() => format!("{}, {unit}", self.title),
            _ => self.title.clone(),
        };
        Block::Figure { notes, group: Charts { caption, legend, charts, table } }
    }

    /// Digits behind the point; no number here tells more than twelve.
    fn digits(&self) -> usize {
        self.digits.unwrap_or(1).min(12)
    }

    fn number(&self, value: Option<&Option<f64>>) -> String {
        let digits = self.digits();
        value.copied().flatten().map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
    }

    fn at(&self, index: usize) -> String {
        match &self.x[index] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    fn table(&self) -> DataTable {
        let mut table = DataTable::new(&self.title, &[&self.x_label]);
        for series in &self.series {
            for (whose, values) in [("paper", &series.paper), ("ours", &series.ours)] {
                if !values.is_empty() {
                    table.headings.push(Heading {
                        text: format!("{}, {whose}", series.name),
                        numeric: true,
                        term: None,
                    });
                }
            }
        }
        for index in 0..self.x.len() {
            let mut row = vec![self.at(index)];
            for series in &self.series {
                for values in [&series.paper, &series.ours].into_iter().filter(|values| !values.is_empty()) {
                    row.push(self.number(values.get(index)));
                }
            }
            table.row(row);
        }
        table
    }

    /// Pairs of bars. There is a chart for each series, or for each point, whichever are fewer.
    fn bars(&self) -> Vec<Chart> {
        let panels: Vec<(String, Vec<Group>)> = if self.series.len() <= self.x.len() {
            let of = |series: &Series| (0..self.x.len()).map(|at| self.pair(self.at(at), series, at)).collect();
            self.series.iter().map(|series| (series.name.clone(), of(series))).collect()
        } else {
            let of = |at: usize| self.series.iter().map(|series| self.pair(series.name.clone(), series, at)).collect();
            (0..self.x.len()).map(|at| (self.at(at), of(at))).collect()
        };
        let values = panels.iter().flat_map(|(_, groups)| groups).flat_map(|group| &group.bars).map(|bar| bar.value);
        // A scale on which numbers that read as nothing look like nothing.
        let least = 10_f64.powi(1 - self.digits() as i32);
        let end = charts::cut(values).max(least);
        let chart = |(title, groups): (String, Vec<Group>)| {
            let spoken = charts::spoken(&groups);
            let description = format!("Pairs of bars: {}, {title}: the paper's and ours. {spoken}", self.title);
            let bars = Bars { description: &description, groups: &groups, end, numbers: Numbers::Plain };
            Chart { svg: bars.svg(), title }
        };
        panels.into_iter().map(chart).collect()
    }

    /// The paper's number and ours, as far as there are such.
    fn pair(&self, name: String, series: &Series, index: usize) -> Group {
        let sides = [("the paper's", &series.paper, palette::PAPER), ("ours", &series.ours, palette::SIMULATED)];
        let bar = |(whose, values, colour): (_, &Vec<Option<f64>>, _)| {
            let value = values.get(index).copied().flatten()?;
            Some(Bar { whose, value, label: self.number(Some(&Some(value))), exact: value.to_string(), colour })
        };
        Group { name, bars: sides.into_iter().filter_map(bar).collect() }
    }

    fn curves(&self) -> Vec<Curve> {
        let mut curves = Vec::new();
        let only = self.series.iter().all(|series| series.paper.iter().all(Option::is_none));
        for (number, series) in self.series.iter().enumerate() {
            let sides = [("the paper's", &series.paper, Stroke::Dashed), ("ours", &series.ours, Stroke::Solid)];
            for (whose, values, stroke) in sides {
                let points: Vec<Point> =
                    self.x.iter().zip(values).filter_map(|(at, value)| Some(point(at, (*value)?))).collect();
                if points.is_empty() {
                    continue;
                }
                let name = if only { series.name.clone() } else { format!("{}, {whose}", series.name) };
                let (colour, shape) = (palette::of_series(&series.name, number), Shape::of_series(curves.len()));
                curves.push(Curve { name, points, colour, shape, stroke });
            }
        }
        curves
    }

    fn lines(&self, curves: &[Curve]) -> Chart {
        let description = format!("Curves: {} over {}; the table has the numbers", self.title, self.x_label);
        let x = Axis { title: &self.x_label, spacing: Spacing::Even };
        let y = Vertical { title: self.unit.as_deref().unwrap_or_default(), numbers: Numbers::Plain, end: None };
        Chart { title: String::new(), svg: Lines { description: &description, curves, x, y }.svg() }
    }
}

fn point(at: &Value, value: f64) -> Point {
    let at = match at {
        Value::String(text) => At::Text(text.clone()),
        number => number.as_f64().map_or_else(|| At::Text(number.to_string()), At::Number),
    };
    Point { at, value, range: None, exact: value.to_string() }
}
