//! The results in experiments/results/: whether they are those of the rules in experiments/, and whether the rules came first.

use super::*;
use crate::reproduce::Experiment;
use crate::reproduce::claim::Place;
use crate::reproduce::interval::Estimate;
use crate::reproduce::rule::Claim;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn results(paper: &str) -> String {
    format!("experiments/results/{paper}.json")
}

/// What is wrong with `results` under the rules of `experiment`.
fn mismatches(experiment: &Experiment, results: &Verdicts) -> Vec<String> {
    let kept = |claim: &Claim| results.claims.iter().find(|kept| kept.id == claim.id);
    let mut wrong: Vec<String> = Vec::new();
    for claim in &experiment.claim {
        let scale = if results.full { Scale::Full } else { Scale::Short };
        let hashes = Hashes::of(experiment, claim, scale);
        match kept(claim) {
            None => wrong.push(format!("{}: no result", claim.id)),
            Some(kept) if kept.hashes.rule != hashes.rule => wrong.push(format!("{}: its rule has changed", claim.id)),
            Some(kept) if kept.hashes.inputs != hashes.inputs => {
                wrong.push(format!("{}: what is measured for it has changed", claim.id));
            }
            Some(_) => {}
        }
    }
    let gone = results.claims.iter().filter(|kept| experiment.claim.iter().all(|claim| claim.id != kept.id));
    wrong.extend(gone.map(|kept| format!("{}: no such claim", kept.id)));
    wrong
}

/// The verdict that follows from the numbers of a result.
fn verdict(claim: &Claim, kept: &Kept) -> &'static str {
    let place = |values: &Vec<f64>, band| Place::of(&Estimate::of(values.clone()).unwrap(), band);
    let known = claim.exact.is_some() || kept.ours.len() > 1;
    let shown = claim.cause.as_ref().zip(kept.cause.as_ref());
    let shown = shown.is_some_and(|(cause, values)| {
        cause.explains.is_none_or(|side| side.has(kept.mean, kept.band))
            && place(values, cause.target().band) == Place::Inside
    });
    match place(&kept.ours, claim.target.band) {
        Place::Inside if known => "holds",
        Place::Outside if known && shown => "refuted",
        _ => "open",
    }
}

#[test]
fn results_are_those_of_the_rules() {
    for paper in Experiment::names() {
        let experiment = Experiment::load(paper).unwrap();
        let file = root().join(results(paper));
        let Ok(text) = std::fs::read(&file) else {
            assert!(experiment.pending.is_some(), "{}: no results, and no `pending` that says why", file.display());
            continue;
        };
        assert_eq!(experiment.pending, None, "{paper} has results");
        let results: Verdicts = serde_json::from_slice(&text).unwrap();
        assert_eq!(mismatches(&experiment, &results), [""; 0], "{paper}: run pagewalk reproduce {paper} --verdicts");
        for (claim, kept) in experiment.claim.iter().zip(&results.claims) {
            assert_eq!(kept.verdict, verdict(claim, kept), "{paper}, {}", kept.id);
        }
    }
}

#[test]
fn full_results_are_those_of_the_rules() {
    for paper in Experiment::names() {
        let experiment = Experiment::load(paper).unwrap();
        let Ok(text) = std::fs::read(root().join(results(&format!("full/{paper}")))) else { continue };
        let results: Verdicts = serde_json::from_slice(&text).unwrap();
        assert!(results.full, "{paper}");
        assert_eq!(
            mismatches(&experiment, &results),
            [""; 0],
            "{paper}: run pagewalk reproduce {paper} --full --verdicts"
        );
    }
}

#[test]
fn a_paper_claims_numbers() {
    for paper in Experiment::names() {
        for claim in Experiment::load(paper).unwrap().claim {
            assert!(!claim.paper.is_empty(), "{paper}, {}: no number of the paper's", claim.id);
            assert!(claim.axis != "truth", "{paper}, {}: a rule that is true or false", claim.id);
            assert!(claim.target.because.len() > 20, "{paper}, {}: no reason for the band", claim.id);
            assert!(!claim.target.ours.contains(" or "), "{paper}, {}: an `or` between halves of a claim", claim.id);
        }
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).current_dir(root()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn rules_are_older_than_the_results_that_they_judge() {
    for paper in Experiment::names() {
        let (file, rules) = (results(paper), format!("experiments/{paper}.toml"));
        // Sources without history, or without this much of it, cannot be asked.
        let Some(commits) = git(&["log", "--format=%H", "--", &file]) else { return };
        let commits: Vec<&str> = commits.lines().collect();
        let Some(last) = commits.first() else { continue };
        let Some(text) = git(&["show", &format!("{last}:{file}")]) else { continue };
        let Some(before) = git(&["show", &format!("{last}^:{rules}")]) else { continue };
        let judged: Verdicts = serde_json::from_str(&text).unwrap();
        let before = Experiment::read(&rules, &before);
        let before = before.unwrap_or_else(|error| panic!("{paper}: before its results were committed: {error}"));
        assert_eq!(mismatches(&before, &judged), [""; 0], "{paper}: the rule came with its result, in {last}");
        let experiment = Experiment::load(paper).unwrap();
        for earlier in &commits[1..] {
            let Some(text) = git(&["show", &format!("{earlier}:{file}")]) else { continue };
            let Ok(earlier) = serde_json::from_str::<Verdicts>(&text) else { continue };
            for claim in &experiment.claim {
                let other = |kept: &&Kept| {
                    kept.id == claim.id && kept.hashes.rule != Hashes::of(&experiment, claim, Scale::Short).rule
                };
                let changed = earlier.claims.iter().find(other);
                assert!(
                    changed.is_none() || claim.revised.is_some(),
                    "{paper}, {}: its rule changed after a result of it was committed, and no `revised` says why",
                    claim.id
                );
            }
        }
    }
}

#[test]
fn a_rule_that_changed_after_its_result_is_seen() {
    let text = |band: &str, updates: &str| {
        format!(
            r#"
paper = "p"
title = "t"
citation = "c"
[[measure]]
id = "m"
command = "compare --append updates={updates}"
[[claim]]
id = "c"
claim = "more"
source = "page 1"
axis = "times"
paper = 2
ours = "m.x"
band = [1.5, {band}]
because = "rounding"
"#
        )
    };
    let read = |band: &str, updates: &str| Experiment::read("p.toml", &text(band, updates)).unwrap();
    let experiment = read("2.5", "1");
    let kept = Kept {
        id: "c".to_owned(),
        hashes: Hashes::of(&experiment, &experiment.claim[0], Scale::Short),
        verdict: "holds".to_owned(),
        band: [1.5, 2.5],
        ours: vec![2.0],
        mean: 2.0,
        interval: [2.0, 2.0],
        cause: None,
        shown: None,
    };
    let results = Verdicts { paper: "p".to_owned(), full: false, repeats: 1, claims: vec![kept] };
    let read_again: Verdicts = serde_json::from_value(results.json()).unwrap();
    assert_eq!(read_again, results);
    assert_eq!(mismatches(&experiment, &results), [""; 0]);
    assert_eq!(mismatches(&read("9.9", "1"), &results), ["c: its rule has changed"]);
    assert_eq!(mismatches(&read("2.5", "2"), &results), ["c: what is measured for it has changed"]);
    let none = Verdicts { claims: Vec::new(), ..results };
    assert_eq!(mismatches(&experiment, &none), ["c: no result"]);
}
