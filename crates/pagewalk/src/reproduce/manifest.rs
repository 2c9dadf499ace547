//! What claims were judged by, as hashes: a rule that changes after its result has another hash than the result names.
//!
//! | hash | over |
//! |---|---|
//! | `rule` | the claim with its source, number, band, their reasons and its controlled experiment, and the definitions that its expressions use |
//! | `inputs` | the measurements that these use: commands, files, repeats and the sizes of the run, and the further words of a full one |
//!
//! Each is a SHA-256 of JSON without spaces, its keys in alphabetical order.

use super::experiment::{Definition, Experiment, Measure, Scale};
use super::rule::{Claim, Target};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// The hashes of one claim.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Hashes {
    /// What it is judged by.
    pub(crate) rule: String,
    /// What is measured for it.
    pub(crate) inputs: String,
}

impl Hashes {
    /// Those of `claim` in its file, for a run as large as `scale`.
    pub(crate) fn of(experiment: &Experiment, claim: &Claim, scale: Scale) -> Self {
        let targets: Vec<Target> =
            [claim.target.clone()].into_iter().chain(claim.cause.as_ref().map(super::rule::Cause::target)).collect();
        let names = names_used(experiment, targets.iter().map(|target| target.ours.as_str()));
        let defines = experiment.define.iter().filter(|define| names.contains(define.name.as_str()));
        let defines: Vec<Value> = defines.map(|Definition { name, value }| json!([name, value])).collect();
        let rule = json!({
            "axis": claim.axis,
            "claim": claim.claim,
            "define": defines,
            "exact": claim.exact,
            "id": claim.id,
            "paper": claim.paper,
            "shows": claim.cause.as_ref().map(|cause| match cause.explains {
                None => json!(cause.shows),
                Some(side) => json!([cause.shows, side]),
            }),
            "source": claim.source,
            "targets": targets,
        });
        let measures = experiment.measure.iter().filter(|measure| names.contains(measure.id.as_str()));
        let inputs: Vec<Value> = measures.map(|measure| input(experiment, measure, scale)).collect();
        Self { rule: hash(&rule), inputs: hash(&inputs.into()) }
    }
}

/// A measurement without what it is for.
fn input(experiment: &Experiment, measure: &Measure, scale: Scale) -> Value {
    let Measure { id, command, each, file, .. } = measure;
    let file = file.as_ref().map(ToString::to_string);
    let used = |name: &str| {
        let name = format!("{{{name}}}");
        command.contains(&name) || file.as_ref().is_some_and(|file| file.contains(&name))
    };
    let sizes = experiment.size.iter().filter(|(name, _)| used(name));
    let sizes: Vec<Value> = sizes.map(|(name, size)| json!([name, size.at(scale)])).collect();
    let repeats = measure.is_repeated().then(|| experiment.repeats_of(measure));
    let mut input =
        json!({ "command": command, "each": each, "file": file, "id": id, "repeats": repeats, "size": sizes });
    let further = experiment.further_words(measure, scale);
    if !further.is_empty() {
        // The last key in alphabetical order.
        input["words"] = further.into();
    }
    input
}

/// The measurements and definitions that expressions name, and those that these name.
fn names_used<'e>(experiment: &'e Experiment, expressions: impl Iterator<Item = &'e str>) -> BTreeSet<&'e str> {
    let mut used = BTreeSet::new();
    let mut left: Vec<&str> = expressions.collect();
    while let Some(expression) = left.pop() {
        let words: BTreeSet<&str> = words(expression).collect();
        for measure in experiment.measure.iter().filter(|measure| words.contains(measure.id.as_str())) {
            used.insert(measure.id.as_str());
        }
        for define in experiment.define.iter().filter(|define| words.contains(define.name.as_str())) {
            if used.insert(define.name.as_str()) {
                left.push(&define.value);
            }
        }
    }
    used
}

/// Names in an expression: also those in its texts, which may be expressions themselves.
fn words(expression: &str) -> impl Iterator<Item = &str> {
    expression.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).filter(|word| !word.is_empty())
}

fn hash(value: &Value) -> String {
    // All keys above are in alphabetical order, whichever order `serde_json` keeps.
    Sha256::digest(value.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
paper = "p"
title = "t"
citation = "c"
repeats = ["1", "2"]
[size]
n = { short = "1", full = "2" }
[[measure]]
id = "m"
command = "compare --workload gups:{n}M"
[[measure]]
id = "other"
command = "vlm"
[[define]]
name = "d"
value = "m.x"
[[define]]
name = "unused"
value = "other.x"
[[claim]]
id = "c"
claim = "more"
source = "page 1"
axis = "times"
paper = 2
ours = "each([1], 'd')[0]"
band = [1.5, 2.5]
because = "rounding"
"#;

    fn hashes_at(scale: Scale, from: &str, to: &str) -> Hashes {
        assert!(FILE.contains(from), "{from}");
        let experiment = Experiment::read("file.toml", &FILE.replace(from, to)).unwrap();
        Hashes::of(&experiment, &experiment.claim[0], scale)
    }

    fn hashes(from: &str, to: &str) -> Hashes {
        hashes_at(Scale::Short, from, to)
    }

    #[test]
    fn a_rule_has_another_hash_when_anything_that_judges_changes() {
        let first = hashes("2.5", "2.5");
        assert_eq!(first.rule.len(), 64);
        for (from, to) in [
            ("2.5]", "2.6]"),
            ("\"rounding\"", "\"spread\""),
            ("paper = 2\n", "paper = 3\n"),
            ("m.x", "m.y"),
            ("claim = \"more\"", "claim = \"less\""),
            ("\"page 1\"", "\"page 2\""),
        ] {
            let changed = hashes(from, to);
            assert!(changed.rule != first.rule && changed.inputs == first.inputs, "{from} to {to}");
        }
    }

    #[test]
    fn inputs_have_another_hash_when_a_measurement_that_is_used_changes() {
        let first = hashes("2.5", "2.5");
        for (from, to) in [("gups:{n}M", "gups:{n}G"), ("short = \"1\"", "short = \"3\"")] {
            let changed = hashes(from, to);
            assert!(changed.inputs != first.inputs && changed.rule == first.rule, "{from} to {to}");
        }
        // What the claim does not use is nothing to it.
        assert_eq!(hashes("\"vlm\"", "\"vlm --full\""), first);
        assert_eq!(hashes("other.x", "other.y"), first);
    }

    #[test]
    fn a_size_is_an_input_of_the_run_that_uses_it() {
        let of = |scale, to| hashes_at(scale, "full = \"2\"", to).inputs;
        let (same, other) = ("full = \"2\"", "full = \"3\"");
        assert_eq!(of(Scale::Short, same), of(Scale::Short, other));
        assert_ne!(of(Scale::Full, same), of(Scale::Full, other));
        assert_ne!(of(Scale::Short, same), of(Scale::Full, same));
    }

    #[test]
    fn further_words_of_a_full_run_are_inputs_of_it_alone() {
        let (plain, full) = (hashes("2.5", "2.5"), hashes_at(Scale::Full, "2.5", "2.5"));
        for (from, to) in [
            ("repeats = [", "full_compare = \"--warm\"\nrepeats = ["),
            ("id = \"m\"\n", "id = \"m\"\nfull = \"--warm\"\n"),
        ] {
            assert_eq!(hashes(from, to), plain, "{to}");
            let further = hashes_at(Scale::Full, from, to);
            assert!(further.inputs != full.inputs && further.rule == full.rule, "{to}");
        }
    }
}
