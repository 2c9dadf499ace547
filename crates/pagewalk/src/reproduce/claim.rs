//! Claims of a paper, judged by bands that were written to its file before anything was measured.

use super::expression::Measured;
use super::interval::{Estimate, text};
use super::rule::{Cause, Claim, Target};
use crate::error::Failure;
use std::fmt;

/// What becomes of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// All of the interval is inside the band.
    Holds,
    /// All of it is outside, and the controlled experiment of the claim shows why.
    Refuted,
    /// Neither: outside for a cause that is not shown, or with an interval across an end of the band, or without an interval.
    Open,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::Refuted => "refuted",
            Self::Open => "open",
        })
    }
}

/// Where an interval is, as seen from a band.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// All of it inside.
    Inside,
    /// All of it outside.
    Outside,
    /// Across an end: what was measured cannot tell.
    Across,
}

impl Place {
    /// Where the interval of `estimate` is.
    pub(crate) fn of(estimate: &Estimate, band: [f64; 2]) -> Self {
        let [low, high] = estimate.interval();
        if low >= band[0] && high <= band[1] {
            Self::Inside
        } else if high < band[0] || low > band[1] {
            Self::Outside
        } else {
            Self::Across
        }
    }
}

/// A claim with its verdict.
#[derive(Clone, Debug)]
pub(crate) struct Judged<'e> {
    /// What the file says of it.
    pub(crate) claim: &'e Claim,
    /// What becomes of it.
    pub(crate) verdict: Verdict,
    /// Our number.
    pub(crate) ours: Estimate,
    /// What came out of the controlled experiment, if the claim has one.
    pub(crate) cause: Option<Control>,
}

/// What came out of a controlled experiment.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    /// Its number.
    pub(crate) estimate: Estimate,
    /// What that says.
    pub(crate) outcome: Outcome,
}

/// What a controlled experiment says of a cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Its number is where the file predicts it.
    Shown,
    /// It is elsewhere.
    NotShown,
    /// Its interval lies across an end.
    Undecided,
    /// The claim's number is on a side of its band that the cause does not lead to.
    OtherSide,
}

impl Control {
    /// Whether the cause is shown.
    pub(crate) fn is_shown(&self) -> bool {
        self.outcome == Outcome::Shown
    }
}

impl<'e> Judged<'e> {
    /// Judges `claim` by what was measured in each repeat.
    ///
    /// # Errors
    /// [`Failure::Usage`]: an expression that does not read, or is no finite number.
    pub(crate) fn of(claim: &'e Claim, repeats: &[Measured]) -> Result<Self, Failure> {
        let estimate = |key: &str, target: &Target| {
            let failed =
                |problem: String| Failure::Usage(format!("claim `{}`, {key}: {problem}: {}", claim.id, target.ours));
            let number = |measured: &Measured| {
                let value = measured.evaluate(&target.ours).map_err(|error| failed(error.to_string()))?;
                f64::try_from(value).map_err(|error| failed(error.to_string()))
            };
            let values = repeats.iter().map(number).collect::<Result<Vec<_>, _>>()?;
            let place = |estimate: Estimate| (Place::of(&estimate, target.band), estimate);
            Estimate::of(values).map(place).ok_or_else(|| failed("no finite number".to_owned()))
        };
        let (place, ours) = estimate("ours", &claim.target)?;
        let control = |cause: &Cause| {
            let (place, estimate) = estimate("cause", &cause.target())?;
            let explained = cause.explains.is_none_or(|side| side.has(ours.mean(), claim.target.band));
            let outcome = match place {
                _ if !explained => Outcome::OtherSide,
                Place::Inside => Outcome::Shown,
                Place::Outside => Outcome::NotShown,
                Place::Across => Outcome::Undecided,
            };
            Ok::<Control, Failure>(Control { estimate, outcome })
        };
        let cause = claim.cause.as_ref().map(control).transpose()?;
        let known = claim.exact.is_some() || ours.margin().is_some();
        let shown = cause.as_ref().is_some_and(Control::is_shown);
        let verdict = match place {
            Place::Inside if known => Verdict::Holds,
            Place::Outside if known && shown => Verdict::Refuted,
            Place::Inside | Place::Outside | Place::Across => Verdict::Open,
        };
        Ok(Self { claim, verdict, ours, cause })
    }

    /// The number with its interval, the paper's, and the band.
    pub(crate) fn evidence(&self) -> String {
        let Claim { axis, digits, target, .. } = self.claim;
        let digits = *digits;
        let paper = match self.claim.paper[..] {
            [] => String::new(),
            [one] => format!("; the paper has {}", text(one, digits)),
            [low, high, ..] => format!("; the paper has {} to {}", text(low, digits), text(high, digits)),
        };
        format!("{axis}: {}{paper}; band {}", self.ours.text(digits), band(target.band, digits))
    }

    /// What the controlled experiment shows, if the verdict needs one.
    pub(crate) fn shown(&self) -> String {
        let (Some(cause), Some(Control { estimate, outcome })) = (&self.claim.cause, &self.cause) else {
            return String::new();
        };
        let Claim { digits, .. } = self.claim;
        let outcome = match outcome {
            Outcome::Shown => "so it is",
            Outcome::NotShown => "it is not so",
            Outcome::Undecided => "the runs cannot tell",
            Outcome::OtherSide => "our number is on the other side of the band, which this does not explain",
        };
        let target = cause.target();
        let (ours, band) = (estimate.text(*digits), band(target.band, *digits));
        format!("Cause: {} Measured {ours}, predicted {band}: {outcome}.", cause.shows)
    }

    /// The explanation that goes with the verdict.
    pub(crate) fn explanation(&self) -> &str {
        let explanation = &self.claim.explanation;
        match self.verdict {
            Verdict::Holds => &explanation.holds,
            Verdict::Refuted => &explanation.refuted,
            Verdict::Open => &explanation.open,
        }
    }
}

/// `1.0 to 2.0`, or what is left of it where an end is infinite.
pub(crate) fn band(band: [f64; 2], digits: usize) -> String {
    match band.map(f64::is_finite) {
        [true, true] if band[0].total_cmp(&band[1]).is_eq() => text(band[0], digits),
        [true, true] => format!("{} to {}", text(band[0], digits), text(band[1], digits)),
        [true, false] => format!("{} or more", text(band[0], digits)),
        [false, true] => format!("{} or less", text(band[1], digits)),
        [false, false] => "anything".to_owned(),
    }
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
