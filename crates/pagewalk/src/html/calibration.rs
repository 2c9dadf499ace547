//! The report of `calibrate`: what was measured, with the staircases and the levels that were found in them.

use super::charts::{At, Axis, Curve, Lines, Numbers, Point as Mark, Shape, Spacing, Stroke, Vertical};
use super::document::{Block, Chart, Charts, DataTable, Document, Finding, Section};
use super::page::page;
use super::read::read;
use super::{legend, palette};
use crate::error::Failure;
use serde::Deserialize;
use serde_json::Value;

/// What `calibrate` writes, as far as the report reads it.
#[derive(Deserialize)]
struct Calibration {
    machine: Machine,
    base: String,
    warnings: Vec<String>,
    quantities: Vec<Quantity>,
    staircases: Vec<Staircase>,
    model: String,
}

#[derive(Deserialize)]
struct Machine {
    processor: String,
}

#[derive(Deserialize)]
struct Quantity {
    key: String,
    name: String,
    how: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    sure: String,
    /// Why there is no number.
    not: Option<String>,
}

#[derive(Deserialize)]
struct Staircase {
    title: String,
    axis: String,
    points: Vec<Point>,
    levels: Vec<Level>,
}

#[derive(Deserialize)]
struct Point {
    size: u64,
    ns: f64,
    low: f64,
    high: f64,
}

#[derive(Deserialize)]
struct Level {
    ns: f64,
    first: u64,
    last: u64,
}

/// The page.
///
/// # Errors
/// [`Failure::Usage`]: it is not what `calibrate` writes.
pub(crate) fn calibration(report: &Value) -> Result<String, Failure> {
    let calibration: Calibration = read(report)?;
    let mut sections = vec![numbers(&calibration)];
    sections.push(Section {
        id: "staircases".into(),
        title: "Staircases".to_owned(),
        intro: vec!["Each point is the median of repeats. Dashes are the levels that were found.".to_owned()],
        blocks: calibration.staircases.iter().map(staircase).collect(),
    });
    sections.push(model(&calibration));
    Ok(page(Document {
        command: "calibrate".to_owned(),
        title: "A machine, measured".to_owned(),
        lede: format!("{}. What could not be measured comes from {}.", calibration.machine.processor, calibration.base),
        findings: findings(&calibration),
        sections,
    }))
}

fn findings(calibration: &Calibration) -> Vec<Finding> {
    const MAIN: [&str; 4] = ["clock", "memory.latency", "tlb.4k.2.entries", "outstanding.memory"];
    let known = calibration.quantities.iter().filter(|quantity| quantity.not.is_none());
    let main = known.filter(|quantity| MAIN.contains(&quantity.key.as_str()));
    let finding = |quantity: &Quantity| Finding {
        number: quantity.text.split(',').next().unwrap_or_default().to_owned(),
        text: quantity.name.clone(),
    };
    main.map(finding).collect()
}

fn numbers(calibration: &Calibration) -> Section {
    let mut table = DataTable::new("Measured", &["quantity", "value", "how sure", "how it was measured"]);
    for quantity in &calibration.quantities {
        let (value, sure) = match &quantity.not {
            Some(reason) => (format!("not measured: {reason}"), String::new()),
            None => (quantity.text.clone(), quantity.sure.clone()),
        };
        table.row([quantity.name.clone(), value, sure, quantity.how.clone()]);
    }
    Section {
        id: "numbers".into(),
        title: "Numbers".to_owned(),
        intro: calibration.warnings.clone(),
        blocks: vec![Block::Table(table)],
    }
}

/// Points, and the levels that were found in them.
fn staircase(staircase: &Staircase) -> Block {
    let mut curves = vec![measured(staircase)];
    curves.extend((1..).zip(&staircase.levels).map(|(number, level)| found(number, level)));
    let description = format!("Curve: nanoseconds by {}; {} levels found", staircase.axis, staircase.levels.len());
    let x = Axis { title: &staircase.axis, spacing: Spacing::Doublings };
    let y = Vertical { title: "nanoseconds", numbers: Numbers::Plain, end: None };
    let svg = Lines { description: &description, curves: &curves, x, y }.svg();
    let mut table = DataTable::new(
        &staircase.title,
        &[&format!("#{}", staircase.axis), "#ns", "#first quartile", "#third quartile"],
    );
    for point in &staircase.points {
        let number = |value: f64| format!("{value:.2}");
        table.row([point.size.to_string(), number(point.ns), number(point.low), number(point.high)]);
    }
    let chart = Chart { title: staircase.title.clone(), svg };
    let legend = legend::of_curves(&curves);
    Block::Charts(Charts { caption: staircase.title.clone(), legend, charts: vec![chart], table })
}

/// The points, with their quartiles.
fn measured(staircase: &Staircase) -> Curve {
    let point = |point: &Point| Mark {
        at: At::Number(point.size as f64),
        value: point.ns,
        range: Some([point.low, point.high]),
        exact: format!("{:.2} ns, quartiles {:.2} and {:.2}", point.ns, point.low, point.high),
    };
    Curve {
        name: "measured".to_owned(),
        points: staircase.points.iter().map(point).collect(),
        colour: palette::MEASURED,
        shape: Shape::of_series(0),
        stroke: Stroke::Solid,
    }
}

/// A level that was found.
fn found(number: usize, level: &Level) -> Curve {
    let exact = || format!("{:.2} ns from {} to {}", level.ns, level.first, level.last);
    let point = |at: u64| Mark { at: At::Number(at as f64), value: level.ns, range: None, exact: exact() };
    Curve {
        name: format!("level {number}: {:.1} ns", level.ns),
        points: vec![point(level.first), point(level.last)],
        colour: palette::FOUND,
        shape: Shape::of_series(number),
        stroke: Stroke::Dashed,
    }
}

fn model(calibration: &Calibration) -> Section {
    let mut table = DataTable::new("Host model", &["line"]);
    calibration.model.lines().for_each(|line| table.row([line.to_owned()]));
    Section {
        id: "model".into(),
        title: "Host model".to_owned(),
        intro: Vec::new(),
        blocks: vec![Block::Folded { summary: "The host model that was written".to_owned(), table }],
    }
}
