//! Claims of a paper, judged by rules that were written to its file before anything was measured.

use super::experiment::Claim;
use super::expression::Measured;
use crate::error::Failure;
use minijinja::value::ValueKind;
use std::fmt;

/// What becomes of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// By the rule.
    Holds,
    /// By the weaker rule: what is more is more, but not by as much.
    InDirection,
    /// By neither.
    DoesNotHold,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::InDirection => "holds in direction",
            Self::DoesNotHold => "does not hold",
        })
    }
}

/// A claim with its verdict.
#[derive(Clone, Debug)]
pub(crate) struct Judged<'e> {
    /// What the file says of it.
    pub(crate) claim: &'e Claim,
    /// What becomes of it.
    pub(crate) verdict: Verdict,
    /// The numbers that it rests on.
    pub(crate) evidence: String,
}

impl<'e> Judged<'e> {
    /// Judges `claim` by what was measured.
    ///
    /// # Errors
    /// [`Failure::Usage`]: a rule that does not read, or is neither true nor false.
    pub(crate) fn of(claim: &'e Claim, measured: &Measured) -> Result<Self, Failure> {
        let failed = |key: &str, problem: String| Failure::Usage(format!("claim `{}`, {key}: {problem}", claim.id));
        let is_true = |key: &str, rule: &str| {
            let value = measured.evaluate(rule).map_err(|error| failed(key, error.to_string()))?;
            match value.kind() {
                ValueKind::Bool => Ok(value.is_true()),
                other => Err(failed(key, format!("neither true nor false but a {other}"))),
            }
        };
        let verdict = if is_true("holds", &claim.holds)? {
            Verdict::Holds
        } else if claim.direction.as_ref().map_or(Ok(false), |rule| is_true("direction", rule))? {
            Verdict::InDirection
        } else {
            Verdict::DoesNotHold
        };
        let evidence = measured.render(&claim.evidence).map_err(|error| failed("evidence", error.to_string()))?;
        Ok(Self { claim, verdict, evidence })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::Value;

    fn verdict(holds: &str, direction: Option<&str>) -> Result<Verdict, Failure> {
        let mut measured = Measured::new();
        measured.insert("a", Value::from(3));
        let claim = Claim {
            id: "c".to_owned(),
            claim: String::new(),
            source: String::new(),
            holds: holds.to_owned(),
            direction: direction.map(ToOwned::to_owned),
            evidence: "{{ a }}".to_owned(),
            explanation: String::new(),
        };
        Judged::of(&claim, &measured).map(|judged| judged.verdict)
    }

    #[test]
    fn the_stronger_rule_that_is_true_decides() {
        assert_eq!(verdict("a > 2", Some("a > 1")).unwrap(), Verdict::Holds);
        assert_eq!(verdict("a > 3", Some("a > 1")).unwrap(), Verdict::InDirection);
        assert_eq!(verdict("a > 3", Some("a > 4")).unwrap(), Verdict::DoesNotHold);
        assert_eq!(verdict("a > 3", None).unwrap(), Verdict::DoesNotHold);
    }

    #[test]
    fn a_rule_that_cannot_be_judged_is_named() {
        for rule in ["a >", "b > 1", "a + 1"] {
            let line = verdict(rule, None).unwrap_err().line();
            assert!(line.contains("claim `c`, holds"), "{line}");
        }
    }
}
