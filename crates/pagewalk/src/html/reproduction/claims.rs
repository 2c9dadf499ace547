//! A paper's claims and what became of them.

use crate::html::document::{Block, Section, Verdict};
use serde::Deserialize;

/// Verdicts in the order of their goodness: how the style sheet calls each, and what this many claims do.
pub(super) const VERDICTS: [(&str, &str, &str); 6] = [
    ("holds", "good", "hold"),
    ("refuted", "bad", "are refuted"),
    ("open", "fair", "are open"),
    // Of reports from before the verdicts above.
    ("holds in direction", "fair", "hold in direction"),
    ("does not hold", "bad", "do not hold"),
    ("not measured", "none", "were not measured"),
];

/// A claim.
#[derive(Deserialize)]
pub(super) struct Claim {
    claim: String,
    source: String,
    rule: String,
    pub(super) verdict: String,
    evidence: Option<String>,
    /// What the claim's controlled experiment shows.
    shown: Option<String>,
    explanation: Option<String>,
}

/// What a verdict follows from.
pub(super) const INTRODUCTION: &str = "Each verdict follows from a band that was in the experiment's file before anything was measured: a claim holds where the 95 % interval of our number is inside, is refuted where it is outside and a controlled experiment shows the cause, and is open otherwise.";

/// The section.
pub(super) fn section(claims: &[Claim]) -> Section {
    let verdict = |claim: &Claim| Verdict {
        claim: claim.claim.clone(),
        verdict: claim.verdict.clone(),
        class: VERDICTS.iter().find(|(verdict, ..)| *verdict == claim.verdict).map_or("none", |(_, class, _)| class),
        source: claim.source.clone(),
        rule: claim.rule.clone(),
        evidence: claim.evidence.clone().unwrap_or_default(),
        cause: claim.shown.clone().unwrap_or_default(),
        explanation: claim.explanation.clone().unwrap_or_default(),
    };
    Section {
        id: "claims".into(),
        title: "The paper's claims".to_owned(),
        intro: vec![INTRODUCTION.to_owned()],
        blocks: vec![Block::Verdicts { verdicts: claims.iter().map(verdict).collect() }],
    }
}
