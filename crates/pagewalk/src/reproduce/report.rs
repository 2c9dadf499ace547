//! A reproduction: all of a paper's figures and claims, as JSON. docs/reproduce.md has the keys.

use super::claim::{Judged, Verdict};
use super::experiment::{Experiment, Numbers};
use super::expression::Measured;
use super::figure::Filled;
use super::measure::{Done, Scale};
use crate::error::Failure;
use serde_json::{Value, json};

/// A paper's evaluation, with all that was measured for it.
#[derive(Clone, Debug)]
pub(crate) struct Reproduction<'e> {
    /// The file.
    pub(crate) experiment: &'e Experiment,
    /// How large it was.
    pub(crate) scale: Scale,
    /// What was measured.
    pub(crate) measurements: Vec<Done>,
    /// The paper's figures.
    pub(crate) figures: Vec<Filled<'e>>,
    /// The paper's claims.
    pub(crate) claims: Vec<Judged<'e>>,
}

impl<'e> Reproduction<'e> {
    /// Evaluates what was measured.
    ///
    /// # Errors
    /// [`Failure::Usage`]: an expression of the file that does not read.
    pub(crate) fn of(experiment: &'e Experiment, scale: Scale, measurements: Vec<Done>) -> Result<Self, Failure> {
        let mut measured = Measured::new();
        measured.insert("full", (scale == Scale::Full).into());
        for done in &measurements {
            measured.insert_result(&done.id, &done.result);
        }
        for define in &experiment.define {
            let value = measured.evaluate(&define.value);
            let failed = |error| Failure::Usage(format!("define `{}`: {error}", define.name));
            measured.insert(&define.name, value.map_err(failed)?);
        }
        let figures = experiment.figure.iter().map(|figure| Filled::of(figure, &measured)).collect::<Result<_, _>>()?;
        let claims = experiment.claim.iter().map(|claim| Judged::of(claim, &measured)).collect::<Result<_, _>>()?;
        Ok(Self { experiment, scale, measurements, figures, claims })
    }

    /// How many claims came out so.
    pub(crate) fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|judged| judged.verdict == verdict).count()
    }

    /// The report as JSON.
    pub(crate) fn json(&self) -> Value {
        let Experiment { paper, title, citation, note, .. } = self.experiment;
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "paper": paper,
            "title": title,
            "citation": citation,
            "note": note,
            "full": self.scale == Scale::Full,
            "measurements": self.measurements.iter().map(measurement).collect::<Vec<_>>(),
            "figures": self.figures.iter().map(figure).collect::<Vec<_>>(),
            "claims": self.claims.iter().map(claim).collect::<Vec<_>>(),
        })
    }
}

fn measurement(done: &Done) -> Value {
    let Done { id, about, commands, kind, result } = done;
    json!({ "id": id, "about": about, "commands": commands, "kind": kind, "result": result })
}

fn figure(filled: &Filled) -> Value {
    let figure = filled.figure;
    let series = filled.columns.iter().map(|column| {
        let expressions = match &column.series.ours {
            None | Some(Numbers::List(_)) => Value::Null,
            Some(Numbers::Each(one)) => one.as_str().into(),
            Some(Numbers::Expressions(list)) => list.clone().into(),
        };
        json!({ "name": column.series.name, "paper": column.paper, "ours": column.ours, "expression": expressions })
    });
    json!({
        "id": figure.id,
        "title": figure.title,
        "source": figure.source,
        "unit": figure.unit,
        "kind": figure.kind.name(),
        "x_label": figure.x_label,
        "x": filled.x,
        "digits": figure.digits,
        "series": series.collect::<Vec<_>>(),
        "note": figure.note,
    })
}

fn claim(judged: &Judged) -> Value {
    let claim = judged.claim;
    let rule = match &claim.direction {
        Some(direction) => format!("holds if {}; in direction if {direction}", claim.holds),
        None => format!("holds if {}", claim.holds),
    };
    json!({
        "id": claim.id,
        "claim": claim.claim,
        "source": claim.source,
        "rule": rule,
        "verdict": judged.verdict.to_string(),
        "evidence": judged.evidence,
        "explanation": claim.explanation,
    })
}
