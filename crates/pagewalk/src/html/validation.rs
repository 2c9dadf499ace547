//! The report of `validate`: predicted against measured.

use super::charts::{self, Bar, Bars, Group, Numbers};
use super::document::{Block, Chart, Charts, DataTable, Document, Finding, Section};
use super::figures::{percent, signed_percent};
use super::page::page;
use super::read::read;
use super::{host, legend, palette};
use crate::error::Failure;
use crate::validation::{frames, last_level, noisy};
use serde::Deserialize;
use serde_json::Value;

/// What `validate` writes, as far as the report reads it.
#[derive(Deserialize)]
struct Validation {
    machine: Machine,
    host: Value,
    config: Value,
    systems: [String; 2],
    /// Absent from what earlier versions wrote, as `not_scattered` is.
    scattered_over: Option<u64>,
    not_scattered: Option<String>,
    fidelity: String,
    summary: Option<Summary>,
    validation: Vec<Point>,
}

#[derive(Deserialize)]
struct Machine {
    processor: String,
    hypervisor: Option<String>,
}

#[derive(Deserialize)]
struct Summary {
    median_error: f64,
    worst_error: f64,
    median_factor: f64,
    worst_split_error: Option<f64>,
}

#[derive(Deserialize)]
struct Point {
    program: String,
    size: String,
    operation: String,
    held_out: bool,
    measured: Measured,
    predicted: Predicted,
    ratio_error: f64,
    split_error: Option<f64>,
    time_factor: f64,
}

#[derive(Deserialize)]
struct Measured {
    ns_4k: Spread,
    ns_2m: Spread,
    ratio: Spread,
    ns_split: Option<Spread>,
    split_ratio: Option<Spread>,
    last_level_bytes: Option<Spread>,
    #[serde(default = "once")]
    times: u32,
}

/// Earlier versions measured no point again.
const fn once() -> u32 {
    1
}

impl Measured {
    /// The greatest interquartile range of its times, as a share of the median.
    fn spread(&self) -> f64 {
        let times = [Some(&self.ns_4k), Some(&self.ns_2m), self.ns_split.as_ref()];
        times.into_iter().flatten().map(|time| (time.high - time.low) / time.median).fold(0.0, f64::max)
    }
}

#[derive(Deserialize)]
struct Spread {
    median: f64,
    low: f64,
    high: f64,
}

#[derive(Deserialize)]
struct Predicted {
    ns_4k: f64,
    ns_2m: f64,
    ratio: f64,
    split_ratio: Option<f64>,
}

/// The page.
///
/// # Errors
/// [`Failure::Usage`]: it is not what `validate` writes.
pub(crate) fn validation(report: &Value) -> Result<String, Failure> {
    let validation: Validation = read(report)?;
    let machine = &validation.machine;
    let nested = machine
        .hypervisor
        .as_ref()
        .map_or_else(String::new, |name| format!(" It is virtual ({name}): its walks are nested."));
    Ok(page(Document {
        command: "validate".to_owned(),
        title: "Predicted and measured".to_owned(),
        lede: format!(
            "Programs on {}, and what {} and {} predict with fidelity {}.{nested}",
            machine.processor, validation.systems[0], validation.systems[1], validation.fidelity
        ),
        findings: validation.summary.as_ref().map(findings).unwrap_or_default(),
        sections: vec![points(&validation), host::section(&[&validation.host], &validation.config)],
    }))
}

fn findings(summary: &Summary) -> Vec<Finding> {
    let split = summary.worst_split_error.map(|error| Finding {
        number: percent(error),
        text: "worst error of 4K over 2M with the same frames".to_owned(),
    });
    let errors = [
        Finding { number: percent(summary.median_error), text: "median error of 4K over 2M".to_owned() },
        Finding { number: percent(summary.worst_error), text: "worst error of 4K over 2M".to_owned() },
    ];
    let factor = Finding {
        number: format!("{:.2} ×", summary.median_factor),
        text: "median factor between predicted and measured times".to_owned(),
    };
    errors.into_iter().chain(split).chain([factor]).collect()
}

fn points(validation: &Validation) -> Section {
    const TITLE: &str = "How much longer with 4K pages";
    let mut table = DataTable::new(
        TITLE,
        &[
            "program",
            "size",
            "#4K, ns",
            "#2M, ns",
            "#4K/2M",
            "#quartiles",
            "#predicted",
            "#error",
            "#4K/2M, same frames",
            "#predicted there",
            "#error there",
            "#predicted 4K, ns",
            "#predicted 2M, ns",
            "#factor",
            "operation",
            "tuning",
        ],
    );
    let mut groups = Vec::new();
    for point in &validation.validation {
        let Measured { ns_4k, ns_2m, ratio, split_ratio, .. } = &point.measured;
        let number = |value: f64| format!("{value:.2}");
        table.row([
            point.program.clone(),
            point.size.clone(),
            number(ns_4k.median),
            number(ns_2m.median),
            number(ratio.median),
            format!("{:.2} to {:.2}", ratio.low, ratio.high),
            number(point.predicted.ratio),
            signed_percent(point.ratio_error),
            split_ratio.as_ref().map_or_else(String::new, |split| number(split.median)),
            point.predicted.split_ratio.map_or_else(String::new, number),
            point.split_error.map_or_else(String::new, signed_percent),
            number(point.predicted.ns_4k),
            number(point.predicted.ns_2m),
            number(point.time_factor),
            point.operation.clone(),
            if point.held_out { "held out" } else { "" }.to_owned(),
        ]);
        let name = format!("{} {}", point.program, point.size);
        let bar = |whose, value, exact, colour| Bar { whose, value, label: number(value), exact, colour };
        let quartiles = format!("{:.3}, quartiles {:.3} and {:.3}", ratio.median, ratio.low, ratio.high);
        let predicted = format!("{:.3}, error {}", point.predicted.ratio, signed_percent(point.ratio_error));
        let bars = vec![
            bar("measured", ratio.median, quartiles, palette::MEASURED),
            bar("predicted", point.predicted.ratio, predicted, palette::SIMULATED),
        ];
        groups.push(Group { name, bars });
    }
    let description = format!("Bars: time with 4K pages over time with 2M pages. {}", charts::spoken(&groups));
    let end = charts::cut(groups.iter().flat_map(|group| &group.bars).map(|bar| bar.value));
    let bars = Bars { description: &description, groups: &groups, end, numbers: Numbers::Plain };
    let chart = Chart { title: TITLE.to_owned(), svg: bars.svg() };
    Section {
        id: "points".into(),
        title: TITLE.to_owned(),
        intro: intro(validation),
        blocks: vec![Block::Charts(Charts {
            caption: TITLE.to_owned(),
            legend: vec![legend::key(palette::MEASURED, "measured"), legend::key(palette::SIMULATED, "predicted")],
            charts: vec![chart],
            table,
        })],
    }
}

/// How the points were measured.
fn intro(validation: &Validation) -> Vec<String> {
    let order = "The greatest error first. Programs that are held out are those that no model is tuned by. With the same frames, entries of 4K map the \
                 frames of 2M pages.";
    let scattered = validation.scattered_over.map(Ok).or_else(|| validation.not_scattered.as_deref().map(Err));
    let kept = validation.validation.iter().filter_map(|point| Some(point.measured.last_level_bytes.as_ref()?.median));
    let again = noisy(validation.validation.iter().map(|point| (point.measured.times, point.measured.spread())));
    [Some(order.to_owned()), scattered.map(frames), last_level(kept), again].into_iter().flatten().collect()
}
