//! A paper's figures, with what was measured beside what it says.

use crate::html::charts::{self, Curve, Pair};
use crate::html::document::{Block, Chart, Charts, DataTable, Heading, Key, Section};
use crate::html::palette;
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

/// The paper's and ours.
const PAPER: &str = "var(--c-paper)";
const OURS: &str = "var(--c-nested)";

/// The section with all figures; `None` if there are none.
pub(super) fn section(figures: &[Figure]) -> Option<Section> {
    (!figures.is_empty()).then(|| Section {
        id: "figures",
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
        let charts = match self.kind.as_str() {
            "bars" => self.bars(),
            "lines" => vec![self.lines()],
            _ => Vec::new(),
        };
        let caption = match &self.unit {
            Some(unit) if !unit.is_empty() => format!("{}, {unit}", self.title),
            _ => self.title.clone(),
        };
        let paired = self.kind == "bars" && self.series.iter().any(|series| series.paper.iter().any(Option::is_some));
        let key = |colour, name: &str| Key { colour, name: name.to_owned() };
        let legend = if paired { vec![key(PAPER, "the paper's"), key(OURS, "ours")] } else { Vec::new() };
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
                        meaning: None,
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
        let pair = |name: &str, series: &Series, index: usize| {
            let (paper, ours) = (series.paper.get(index), series.ours.get(index));
            let of = |value: Option<&Option<f64>>| value.copied().flatten().map(|number| (number, self.number(value)));
            Pair { name: name.to_owned(), paper: of(paper), ours: of(ours) }
        };
        let groups: Vec<(String, Vec<Pair>)> = if self.series.len() <= self.x.len() {
            let of = |series: &Series| (0..self.x.len()).map(|index| pair(&self.at(index), series, index)).collect();
            self.series.iter().map(|series| (series.name.clone(), of(series))).collect()
        } else {
            let of = |index: usize| self.series.iter().map(|series| pair(&series.name, series, index)).collect();
            (0..self.x.len()).map(|index| (self.at(index), of(index))).collect()
        };
        let values = groups.iter().flat_map(|(_, pairs)| pairs.iter().flat_map(Pair::values));
        // A scale on which numbers that read as nothing look like nothing.
        let least = 10_f64.powi(1 - self.digits() as i32);
        let longest = charts::cut(values).max(least);
        groups
            .into_iter()
            .map(|(title, pairs)| {
                let description = format!(
                    "Pairs of bars: {}, {title}: the paper's and ours. {}",
                    self.title,
                    charts::spoken_pairs(&pairs)
                );
                Chart { spec: charts::pairs(&description, &pairs, longest, [PAPER, OURS]), title, description }
            })
            .collect()
    }

    fn lines(&self) -> Chart {
        let mut curves = Vec::new();
        for (number, series) in self.series.iter().enumerate() {
            let only = self.series.iter().all(|series| series.paper.iter().all(Option::is_none));
            for (whose, values, quoted) in [("the paper's", &series.paper, true), ("ours", &series.ours, false)] {
                let points: Vec<(Value, f64)> =
                    self.x.iter().zip(values).filter_map(|(x, value)| Some((x.clone(), (*value)?))).collect();
                if points.is_empty() {
                    continue;
                }
                let name = if only { series.name.clone() } else { format!("{}, {whose}", series.name) };
                curves.push(Curve { name, points, colour: palette::of_series(number), quoted });
            }
        }
        let description = format!("Curves: {} over {}; the table has the numbers", self.title, self.x_label);
        Chart {
            title: String::new(),
            spec: charts::lines(&description, &curves, &self.x_label, self.unit.as_deref().unwrap_or_default()),
            description,
        }
    }
}
