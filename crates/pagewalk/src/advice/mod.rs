//! Advice from what was measured: which scheme and page sizes serve a workload best, which spin method serves a host, and which obstacles there are. It
//! ranks the runs of reports, and guesses nothing: what was not run is not advised.

mod obstacle;
mod spin;
mod translation;

use crate::time_model::TimeModels;
use serde_json::Value;

pub(crate) use spin::SpinAdvice;
pub(crate) use translation::{Goal, TranslationAdvice};

/// What the reports of commands advise.
#[derive(Debug, Default)]
pub(crate) struct Advice {
    /// For each workload of comparisons.
    pub(crate) translation: Vec<TranslationAdvice>,
    /// For each host whose spin methods were compared.
    pub(crate) spin: Vec<SpinAdvice>,
}

/// Why a report has no advice in it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdviceError {
    /// Another command's, or no command's.
    #[error("not a report of `compare`, or of `run` with several methods after --spin")]
    OtherReport,
    /// Nothing to choose from.
    #[error("{0}: the report must have at least two virtualized systems")]
    TooFew(String),
}

impl Advice {
    /// Adds what a report advises; `name` is the report's.
    ///
    /// # Errors
    /// [`AdviceError`].
    pub(crate) fn add(&mut self, name: &str, report: &Value) -> Result<(), AdviceError> {
        let runs = report["runs"].as_array().filter(|runs| !runs.is_empty()).ok_or(AdviceError::OtherReport)?;
        if runs.iter().all(|run| run["total"]["spin"].is_string()) {
            self.spin.push(SpinAdvice::of(name, runs));
            return Ok(());
        }
        if !runs.iter().all(|run| run["workload"].is_string() && run["scheme"].is_string()) {
            return Err(AdviceError::OtherReport);
        }
        let mut workloads: Vec<&str> = Vec::new();
        for workload in runs.iter().filter_map(|run| run["workload"].as_str()) {
            if !workloads.contains(&workload) {
                workloads.push(workload);
            }
        }
        let times = TimeModels::shared(report);
        for workload in workloads {
            let of_this: Vec<&Value> = runs.iter().filter(|run| run["workload"] == workload).collect();
            let advice = TranslationAdvice::of(workload, &times, &of_this);
            self.translation.push(advice.ok_or_else(|| AdviceError::TooFew(workload.to_owned()))?);
        }
        Ok(())
    }

    /// The advice as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "workloads": self.translation.iter().map(TranslationAdvice::json).collect::<Vec<_>>(),
            "hosts": self.spin.iter().map(SpinAdvice::json).collect::<Vec<_>>(),
        })
    }
}
