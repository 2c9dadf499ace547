//! Predicted and measured as JSON.

use super::compared::{Compared, Summary};
use super::programs::Tuning;
use calibrate::{Host, Spread};
use config::Config;
use config::host_model::HostModel;
use serde_json::{Value, json};

/// How the predictions were made.
pub(crate) struct Made<'m> {
    pub(crate) config: &'m Config,
    pub(crate) model: &'m HostModel,
    /// The systems with 4K pages and with 2M pages.
    pub(crate) systems: [String; 2],
    /// The number of placements of each system.
    pub(crate) layouts: [usize; 2],
    /// Bytes that this machine's frames of 4K were scattered over, or why they were not.
    pub(crate) scattered_over: Result<u64, String>,
}

impl Made<'_> {
    /// The fidelity's name.
    pub(crate) fn fidelity(&self) -> String {
        json!(self.config).get("fidelity").and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

/// The report.
pub(crate) fn report(compared: &[Compared], host: &Host, made: &Made<'_>) -> Value {
    let summary = Summary::of(compared).map(|summary| {
        json!({
            "median_error": summary.median_error, "worst_error": summary.worst_error, "median_factor": summary.median_factor,
            "median_split_error": summary.median_split_error, "worst_split_error": summary.worst_split_error,
        })
    });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "machine": { "processor": host.processor, "hypervisor": host.hypervisor },
        "host": made.model.as_used(made.config.footprint),
        "config": made.config,
        "systems": made.systems,
        "scattered_over": made.scattered_over.as_ref().ok(),
        "not_scattered": made.scattered_over.as_ref().err(),
        "layouts": made.layouts,
        "fidelity": made.fidelity(),
        "summary": summary,
        "validation": compared.iter().map(one).collect::<Vec<_>>(),
    })
}

fn one(compared: &Compared) -> Value {
    let program = compared.point.program;
    let (predicted, ratio, split_ratio) =
        (&compared.predicted, compared.predicted_ratio(), compared.predicted_split_ratio());
    json!({
        "program": program.name,
        "about": program.about,
        "size": compared.point.size,
        "operation": program.operation,
        "held_out": program.tuning == Tuning::HeldOut,
        "measured": {
            "ns_4k": spread(&compared.measured.base), "ns_2m": spread(&compared.measured.huge), "ratio": spread(&compared.measured_ratio()),
            "ns_split": spread(&compared.measured.split), "split_ratio": spread(&compared.split_ratio()),
            "last_level_bytes": compared.measured.last_level.as_ref().map(spread),
            "times": compared.measured.times,
        },
        "predicted": {
            "ns_4k": predicted.base.median, "ns_2m": predicted.huge.median, "ratio": ratio.median,
            "ns_split": predicted.split.median, "split_ratio": split_ratio.median,
            "ranges": {
                "ns_4k": spread(&predicted.base), "ns_2m": spread(&predicted.huge), "ratio": spread(&ratio),
                "ns_split": spread(&predicted.split), "split_ratio": spread(&split_ratio),
            },
        },
        "ratio_error": compared.ratio_error(),
        "split_error": compared.split_error(),
        "time_factor": compared.time_factor(),
    })
}

fn spread(spread: &Spread) -> Value {
    json!({ "median": spread.median, "low": spread.low, "high": spread.high })
}
