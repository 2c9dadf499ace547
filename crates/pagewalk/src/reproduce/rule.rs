//! A claim as an experiment file states it: the paper's number, the band around it, and how ours is read from what was measured.

use serde::{Deserialize, Serialize};

/// What the paper claims, and when we say that it holds.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct Claim {
    /// A name without spaces.
    pub(crate) id: String,
    /// The claim, in words.
    pub(crate) claim: String,
    /// Where the paper makes it.
    pub(crate) source: String,
    /// What the number is.
    pub(crate) axis: String,
    /// The paper's number, or the ends of its range; none in an experiment that follows no paper.
    pub(crate) paper: Vec<f64>,
    /// The number's place.
    pub(crate) target: Target,
    /// Why no repeat can change the number: then one is enough.
    pub(crate) exact: Option<String>,
    /// Digits behind the point, in the text.
    pub(crate) digits: usize,
    /// The controlled experiment that shows why the number is outside of the band.
    pub(crate) cause: Option<Cause>,
    /// What a reader should know, by verdict.
    pub(crate) explanation: Explanation,
    /// Why the rule is not the one that the first committed result was judged by.
    pub(crate) revised: Option<String>,
}

/// A number of ours, and where it should be.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Target {
    /// The least and the most.
    pub(crate) band: [f64; 2],
    /// Why the band is this and no other.
    pub(crate) because: String,
    /// The expression that gives the number.
    pub(crate) ours: String,
}

/// A controlled experiment: what is changed, and what must come out if that is the cause.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cause {
    /// The cause, and how the experiment isolates it.
    pub(crate) shows: String,
    /// The expression that gives the experiment's number.
    ours: String,
    /// The least and the most that it may be, if the cause is this; an end may be infinite.
    band: [f64; 2],
    /// Why.
    because: String,
    /// The side of the claim's band that the cause leads to; either one, if the file does not say.
    pub(crate) explains: Option<Side>,
}

/// A side of a band.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    /// Above its upper end.
    Above,
    /// Below its lower end.
    Below,
}

impl Side {
    /// Whether `number` is on this side of `band`.
    pub(crate) fn has(self, number: f64, band: [f64; 2]) -> bool {
        match self {
            Self::Above => number > band[1],
            Self::Below => number < band[0],
        }
    }
}

impl Cause {
    /// The experiment's number, and where it should be.
    pub(crate) fn target(&self) -> Target {
        Target { ours: self.ours.clone(), band: self.band, because: self.because.clone() }
    }
}

/// Text that goes with a verdict, so that nothing is explained that did not come out.
#[derive(Clone, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explanation {
    #[serde(default)]
    pub(crate) holds: String,
    #[serde(default)]
    pub(crate) refuted: String,
    #[serde(default)]
    pub(crate) open: String,
}

/// A claim as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    claim: String,
    source: String,
    axis: Option<String>,
    paper: Option<Number>,
    ours: Option<String>,
    band: Option<[f64; 2]>,
    because: Option<String>,
    exact: Option<String>,
    digits: Option<usize>,
    cause: Option<Cause>,
    #[serde(default)]
    explanation: Text,
    revised: Option<String>,
    /// In place of `ours` and `band`, of an experiment that follows no paper.
    holds: Option<String>,
    /// Of files from before the verdicts had intervals: the number and its band are the evidence now.
    #[serde(rename = "evidence")]
    _evidence: Option<String>,
    /// No key any more; named so that the message can say what to do.
    direction: Option<String>,
}

/// A number, or the ends of a range.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    One(f64),
    Range([f64; 2]),
}

/// Text for every verdict, or for each.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    All(String),
    Each(Explanation),
}

impl Default for Text {
    fn default() -> Self {
        Self::Each(Explanation::default())
    }
}

impl TryFrom<Written> for Claim {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { id, claim, source, exact, digits, cause, revised, .. } = written;
        if written.direction.is_some() {
            return Err(format!("claim `{id}`: there is no `direction`: a claim is inside its `band` or not"));
        }
        let (axis, target) = match (written.holds, written.axis, written.ours, written.band, written.because) {
            (None, Some(axis), Some(ours), Some(band), Some(because)) => (axis, Target { ours, band, because }),
            (Some(rule), None, None, None, None) => {
                let because = "the claim is true or not".to_owned();
                ("truth".to_owned(), Target { ours: format!("1 if ({rule}) else 0"), band: [1.0, 1.0], because })
            }
            _ => return Err(format!("claim `{id}`: it needs `axis`, `ours`, `band` and `because`, or `holds` alone")),
        };
        if !is_ordered(target.band) || !target.band.iter().all(|end| end.is_finite()) {
            return Err(format!("claim `{id}`: `band` is not two numbers, the lesser one first"));
        }
        if let Some(cause) = &cause
            && !is_ordered(cause.band)
        {
            return Err(format!("claim `{id}`: the cause's `band` is not two numbers, the lesser one first"));
        }
        let paper = match written.paper {
            None => Vec::new(),
            Some(Number::One(number)) => vec![number],
            Some(Number::Range(ends)) => ends.to_vec(),
        };
        let explanation = match written.explanation {
            Text::All(text) => Explanation { holds: text.clone(), refuted: text.clone(), open: text },
            Text::Each(each) => each,
        };
        Ok(Self {
            id,
            claim,
            source,
            axis,
            paper,
            target,
            exact,
            digits: digits.unwrap_or(2),
            cause,
            explanation,
            revised,
        })
    }
}

/// Whether the lesser end comes first; no end is `nan` then.
fn is_ordered(band: [f64; 2]) -> bool {
    band[0] <= band[1]
}
