//! A reproduction: all of a paper's figures and claims, as JSON. docs/reproduce.md has the keys.

use super::claim::{Judged, Verdict};
use super::experiment::{Experiment, Numbers, Scale};
use super::expression::Measured;
use super::figure::Filled;
use super::interval::Estimate;
use super::manifest::Hashes;
use super::measure::Done;
use super::rule::Target;
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
        let repeats: Vec<Measured> = (0..experiment.repeats())
            .map(|repeat| measured(experiment, scale, &measurements, repeat))
            .collect::<Result<_, _>>()?;
        let figures = experiment.figure.iter().map(|figure| Filled::of(figure, &repeats)).collect::<Result<_, _>>()?;
        let claims = experiment.claim.iter().map(|claim| Judged::of(claim, &repeats)).collect::<Result<_, _>>()?;
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
            "repeats": self.experiment.repeats(),
            "pending": self.experiment.pending,
            "claims": self.claims.iter().map(|judged| claim(self.experiment, self.scale, judged)).collect::<Vec<_>>(),
        })
    }
}

/// The reports of several papers as JSON.
pub(crate) fn together(papers: &[Reproduction<'_>], scale: Scale) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "full": scale == Scale::Full,
        "papers": papers.iter().map(Reproduction::json).collect::<Vec<_>>(),
    })
}

/// What was measured in one repeat, with the definitions over it.
fn measured(experiment: &Experiment, scale: Scale, measurements: &[Done], repeat: usize) -> Result<Measured, Failure> {
    let mut measured = Measured::new();
    measured.insert("full", (scale == Scale::Full).into());
    for done in measurements {
        measured.insert_result(&done.id, done.result(repeat));
    }
    for define in &experiment.define {
        let value = measured.evaluate(&define.value);
        let failed = |error| Failure::Usage(format!("define `{}`: {error}", define.name));
        measured.insert(&define.name, value.map_err(failed)?);
    }
    Ok(measured)
}

fn measurement(done: &Done) -> Value {
    let Done { id, about, commands, kind, results } = done;
    // All of them where there are several; readers of one result have the first.
    let repeats = if results.len() > 1 { &results[..] } else { &[] };
    json!({ "id": id, "about": about, "commands": commands, "kind": kind, "result": results[0], "repeats": repeats })
}

fn figure(filled: &Filled) -> Value {
    let figure = filled.figure;
    let series = filled.columns.iter().map(|column| {
        let expressions = match &column.series.ours {
            None | Some(Numbers::List(_)) => Value::Null,
            Some(Numbers::Each(one)) => one.as_str().into(),
            Some(Numbers::Expressions(list)) => list.clone().into(),
        };
        let ours = |of: &dyn Fn(&Estimate) -> Value| {
            column.ours.iter().map(|number| number.as_ref().map_or(Value::Null, of)).collect::<Vec<_>>()
        };
        json!({
            "name": column.series.name,
            "paper": column.paper,
            "ours": ours(&|number| number.mean().into()),
            "interval": ours(&|number| number.margin().map_or(Value::Null, |_| number.interval().to_vec().into())),
            "expression": expressions,
        })
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

fn claim(experiment: &Experiment, scale: Scale, judged: &Judged) -> Value {
    let claim = judged.claim;
    let Target { ours, band, because } = &claim.target;
    let [low, high] = band.map(|end| end.to_string());
    let hashes = Hashes::of(experiment, claim, scale);
    let cause = claim.cause.as_ref().zip(judged.cause.as_ref()).map(|(cause, control)| {
        let target = cause.target();
        json!({
            "shows": cause.shows,
            "ours": control.estimate.json(),
            "expression": target.ours,
            "band": target.band.map(|end| end.is_finite().then_some(end)),
            "because": target.because,
            "shown": control.is_shown(),
        })
    });
    json!({
        "id": claim.id,
        "claim": claim.claim,
        "source": claim.source,
        "axis": claim.axis,
        "paper": claim.paper,
        "band": band,
        "because": because,
        "exact": claim.exact,
        "ours": judged.ours.json(),
        "expression": ours,
        "rule": format!("holds if {low} <= {ours} <= {high}: {because}"),
        "rule_hash": hashes.rule,
        "inputs_hash": hashes.inputs,
        "revised": claim.revised,
        "verdict": judged.verdict.to_string(),
        "evidence": judged.evidence(),
        "cause": cause,
        "shown": judged.shown(),
        "explanation": judged.explanation(),
    })
}
