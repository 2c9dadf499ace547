//! Verdicts to keep: of each claim the verdict, our number, and the hashes of what it was judged by, without what was measured.

use super::claim::Control;
use super::experiment::Scale;
use super::manifest::Hashes;
use super::report::Reproduction;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The verdicts of one paper.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verdicts {
    /// The paper.
    pub(crate) paper: String,
    /// Whether it was measured with `--full`.
    pub(crate) full: bool,
    /// How often measurements that differ in something were made.
    pub(crate) repeats: usize,
    /// Each claim.
    pub(crate) claims: Vec<Kept>,
}

/// What is kept of one claim.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Which claim.
    pub(crate) id: String,
    /// What it was judged by.
    #[serde(flatten)]
    pub(crate) hashes: Hashes,
    /// What became of it.
    pub(crate) verdict: String,
    /// Where it should be.
    pub(crate) band: [f64; 2],
    /// Our number in each repeat.
    pub(crate) ours: Vec<f64>,
    /// Its mean.
    pub(crate) mean: f64,
    /// The ends of its 95 % interval.
    pub(crate) interval: [f64; 2],
    /// The number of the controlled experiment in each repeat, if the claim has one.
    pub(crate) cause: Option<Vec<f64>>,
    /// Whether that is where it should be.
    pub(crate) shown: Option<bool>,
}

impl Verdicts {
    /// Those of a reproduction.
    pub(crate) fn of(reproduction: &Reproduction<'_>) -> Self {
        let experiment = reproduction.experiment;
        let claims = reproduction.claims.iter().map(|judged| Kept {
            id: judged.claim.id.clone(),
            hashes: Hashes::of(experiment, judged.claim, reproduction.scale),
            verdict: judged.verdict.to_string(),
            band: judged.claim.target.band,
            ours: judged.ours.values().to_vec(),
            mean: judged.ours.mean(),
            interval: judged.ours.interval(),
            cause: judged.cause.as_ref().map(|control| control.estimate.values().to_vec()),
            shown: judged.cause.as_ref().map(Control::is_shown),
        });
        Self {
            paper: experiment.paper.clone(),
            full: reproduction.scale == Scale::Full,
            repeats: experiment.repeats(),
            claims: claims.collect(),
        }
    }

    /// As files have them.
    pub(crate) fn json(&self) -> Value {
        serde_json::to_value(self).expect("names and finite numbers")
    }
}

#[cfg(test)]
#[path = "verdicts_tests.rs"]
mod tests;
