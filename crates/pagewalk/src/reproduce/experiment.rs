//! The experiment file: what is measured, and what the paper says of it. docs/reproduce.md has its keys.

use super::expression::Measured;
use super::rule::Claim;
use crate::input;
use config::toml_problem;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The experiments that are built in: the name of the paper, and the file.
const BUILT_IN: [(&str, &str); 5] = [
    ("umeno1985", include_str!("../../../../experiments/umeno1985.toml")),
    ("umeno1995", include_str!("../../../../experiments/umeno1995.toml")),
    ("gandhi2014", include_str!("../../../../experiments/gandhi2014.toml")),
    ("noel1998", include_str!("../../../../experiments/noel1998.toml")),
    ("sha2022", include_str!("../../../../experiments/sha2022.toml")),
];

/// The command that runs guests on several systems, and uses all of the host's processors by itself.
pub(crate) const COMPARISON: &str = "compare";

/// The name of all of these papers together.
pub(crate) const ALL: &str = "all";

/// A paper's evaluation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Experiment {
    /// What the command calls it.
    pub(crate) paper: String,
    /// The paper's title.
    pub(crate) title: String,
    /// Authors, where it appeared, year.
    pub(crate) citation: String,
    /// What is unlike the paper in all of it.
    #[serde(default)]
    pub(crate) note: String,
    /// Why there are no results of it in experiments/results/, if there are none.
    #[serde(default)]
    pub(crate) pending: Option<String>,
    /// What the runs of one measurement differ in, one for each repeat: `{repeat}` in a command or its file is replaced by each.
    #[serde(default)]
    pub(crate) repeats: Vec<String>,
    /// Values that differ between the short and the full run; `{name}` in a command is replaced by one.
    #[serde(default)]
    pub(crate) size: BTreeMap<String, Size>,
    /// Words that each `compare` has with `--full` behind its own.
    #[serde(default)]
    pub(crate) full_compare: String,
    /// Measurements, in the order in which they run.
    pub(crate) measure: Vec<Measure>,
    /// Names for expressions that are used often, in the order in which they may use each other.
    #[serde(default)]
    pub(crate) define: Vec<Definition>,
    /// The paper's tables and figures.
    #[serde(default)]
    pub(crate) figure: Vec<Figure>,
    /// What the paper claims.
    pub(crate) claim: Vec<Claim>,
}

/// How large the run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scale {
    /// Minutes.
    Short,
    /// As near to the paper as the host allows.
    Full,
}

/// A value of the short and of the full run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Size {
    /// Without `--full`.
    pub(crate) short: String,
    /// With it.
    pub(crate) full: String,
}

impl Size {
    /// That of a run as large as `scale`.
    pub(crate) fn at(&self, scale: Scale) -> &str {
        match scale {
            Scale::Short => &self.short,
            Scale::Full => &self.full,
        }
    }
}

/// One command of Pagewalk, or one for each of several values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measure {
    /// What expressions call its result.
    pub(crate) id: String,
    /// What it is for.
    #[serde(default)]
    pub(crate) about: String,
    /// The command line as a shell reads it, without the program's name and without `--json`.
    pub(crate) command: String,
    /// Words behind it with `--full`.
    #[serde(default)]
    pub(crate) full: String,
    /// `{each}` in the command is replaced by each of these; the result is then a map from value to result.
    #[serde(default)]
    pub(crate) each: Vec<String>,
    /// In place of the experiment's repeats, as many of its own.
    #[serde(default)]
    pub(crate) repeats: Vec<String>,
    /// A configuration file of the command's: its path is the command's last argument.
    #[serde(default)]
    pub(crate) file: Option<toml::Table>,
}

impl Measure {
    /// Whether it is a comparison, which uses all of the host's processors by itself.
    pub(crate) fn is_comparison(&self) -> bool {
        self.command.split_whitespace().next() == Some(COMPARISON)
    }

    /// Whether it runs once for each repeat: its words name what these differ in.
    pub(crate) fn is_repeated(&self) -> bool {
        let named = |text: &str| text.contains("{repeat}");
        named(&self.command) || self.file.as_ref().is_some_and(|file| named(&file.to_string()))
    }
}

/// A name for an expression.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definition {
    /// The name.
    pub(crate) name: String,
    /// The expression.
    pub(crate) value: String,
}

/// A table or figure of the paper's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure {
    /// A name without spaces.
    pub(crate) id: String,
    /// What it shows.
    pub(crate) title: String,
    /// Table, figure, section, slide or page of the paper.
    pub(crate) source: String,
    /// Unit of all its numbers; empty if they have none.
    #[serde(default)]
    pub(crate) unit: String,
    /// How it is drawn.
    pub(crate) kind: FigureKind,
    /// What `x` is.
    pub(crate) x_label: String,
    /// Its rows, or points: labels or numbers; or an expression that gives them.
    pub(crate) x: Points,
    /// Its columns, or lines.
    pub(crate) series: Vec<Series>,
    /// Digits behind the point, in the text.
    #[serde(default = "one")]
    pub(crate) digits: usize,
    /// What a reader has to know.
    #[serde(default)]
    pub(crate) note: String,
}

const fn one() -> usize {
    1
}

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FigureKind {
    /// Bars, in groups.
    Bars,
    /// Lines over `x`, which are numbers.
    Lines,
    /// Not at all.
    Table,
}

impl FigureKind {
    /// As in files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bars => "bars",
            Self::Lines => "lines",
            Self::Table => "table",
        }
    }
}

/// A column of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Series {
    /// Its name.
    pub(crate) name: String,
    /// The paper's numbers. Without it the column is ours alone.
    #[serde(default)]
    pub(crate) paper: Option<Numbers>,
    /// Ours. Without it the column is the paper's alone.
    #[serde(default)]
    pub(crate) ours: Option<Numbers>,
}

/// The points of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Points {
    /// As they stand.
    List(Vec<toml::Value>),
    /// An expression whose value is a list.
    Expression(String),
}

/// Numbers, one for each point.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Numbers {
    /// As they stand; `nan` where there is none.
    List(Vec<f64>),
    /// An expression of the point `x` and its index `i`, from 0 on; `none` where there is none.
    Each(String),
    /// An expression for each.
    Expressions(Vec<String>),
}

impl Numbers {
    fn length(&self) -> Option<usize> {
        match self {
            Self::List(list) => Some(list.len()),
            Self::Expressions(list) => Some(list.len()),
            Self::Each(_) => None,
        }
    }

    fn expressions(&self) -> &[String] {
        match self {
            Self::List(_) => &[],
            Self::Each(one) => std::slice::from_ref(one),
            Self::Expressions(list) => list,
        }
    }
}

/// Why there is no such experiment.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExperimentError {
    /// Neither a paper nor a file.
    #[error("{0}")]
    Unknown(String),
    /// The file does not read.
    #[error("{file}: {problem}")]
    Format {
        /// Its name.
        file: String,
        /// Line and key.
        problem: String,
    },
}

impl Experiment {
    /// The papers that are built in.
    pub(crate) fn names() -> [&'static str; BUILT_IN.len()] {
        BUILT_IN.map(|(name, _)| name)
    }

    /// Words behind the command of `measure` in a run as large as `scale`.
    pub(crate) fn further_words(&self, measure: &Measure, scale: Scale) -> String {
        match scale {
            Scale::Full if measure.is_comparison() => {
                format!("{} {}", measure.full, self.full_compare).trim().to_owned()
            }
            Scale::Full => measure.full.clone(),
            Scale::Short => String::new(),
        }
    }

    /// With no more than the first `count` repeats of each measurement.
    pub(crate) fn with_repeats(mut self, count: usize) -> Self {
        self.repeats.truncate(count);
        self.measure.iter_mut().for_each(|measure| measure.repeats.truncate(count));
        self
    }

    /// What the repeats of `measure` differ in.
    pub(crate) fn repeats_of<'e>(&'e self, measure: &'e Measure) -> &'e [String] {
        if measure.repeats.is_empty() { &self.repeats } else { &measure.repeats }
    }

    /// How often measurements that differ in something are made; 1 where none does.
    pub(crate) fn repeats(&self) -> usize {
        let repeated = self.measure.iter().filter(|measure| measure.is_repeated());
        repeated.map(|measure| self.repeats_of(measure).len()).max().unwrap_or(1)
    }

    /// The experiment of that name, or in that file.
    ///
    /// # Errors
    /// [`ExperimentError`].
    pub(crate) fn load(name: &str) -> Result<Self, ExperimentError> {
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Self::read(name, text);
        }
        if !name.ends_with(".toml") {
            let problem = keys::suggestion::unknown("paper", name, Self::names().into_iter().chain([ALL]));
            return Err(ExperimentError::Unknown(format!("{problem}; your own experiment is a file *.toml")));
        }
        let text = input::toml(name.as_ref()).map_err(|failure| ExperimentError::Unknown(failure.to_string()))?;
        Self::read(name, &text)
    }

    /// The experiment in `text`, the content of the file that errors call `file`.
    ///
    /// # Errors
    /// [`ExperimentError::Format`].
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, ExperimentError> {
        let format = |problem: String| ExperimentError::Format { file: file.to_owned(), problem };
        let experiment: Self = toml::from_str(text).map_err(|error| format(toml_problem::of_text(text, &error)))?;
        experiment.check().map_err(format)?;
        Ok(experiment)
    }

    /// What the format cannot say: lengths that agree, names that are there once.
    fn check(&self) -> Result<(), String> {
        let names = self.measure.iter().map(|measure| &measure.id).chain(self.define.iter().map(|define| &define.name));
        once("measure and define", names)?;
        once("figure", self.figure.iter().map(|figure| &figure.id))?;
        once("claim", self.claim.iter().map(|claim| &claim.id))?;
        self.check_repeats()?;
        for figure in &self.figure {
            let points = match &figure.x {
                Points::List(list) => Some(list.len()),
                Points::Expression(text) => {
                    reads(&format!("figure `{}`, x", figure.id), [text])?;
                    None
                }
            };
            for series in &figure.series {
                let place = format!("figure `{}`, series `{}`", figure.id, series.name);
                for (key, numbers) in [("paper", &series.paper), ("ours", &series.ours)] {
                    let Some(numbers) = numbers else { continue };
                    if let (Some(points), Some(length)) = (points, numbers.length())
                        && points != length
                    {
                        return Err(format!("{place}: {key} has not {points} values, one for each x"));
                    }
                    reads(&place, numbers.expressions())?;
                }
            }
        }
        for define in &self.define {
            reads(&format!("define `{}`", define.name), [&define.value])?;
        }
        for claim in &self.claim {
            let cause = claim.cause.as_ref().map(super::rule::Cause::target);
            reads(
                &format!("claim `{}`", claim.id),
                [&claim.target].into_iter().chain(&cause).map(|target| &target.ours),
            )?;
        }
        Ok(())
    }

    /// All repeated measurements have as many repeats, and only those have any of their own.
    fn check_repeats(&self) -> Result<(), String> {
        let repeats = self.repeats();
        for measure in &self.measure {
            let own = self.repeats_of(measure).len();
            if measure.is_repeated() && own != repeats {
                return Err(format!("measure `{}`: it has {own} repeats, and another one {repeats}", measure.id));
            }
            if !measure.is_repeated() && !measure.repeats.is_empty() {
                return Err(format!("measure `{}`: nothing in it names {{repeat}}", measure.id));
            }
        }
        Ok(())
    }
}

/// Whether all expressions read: what is wrong with a rule is said before anything is measured.
fn reads<'t>(place: &str, expressions: impl IntoIterator<Item = &'t String>) -> Result<(), String> {
    expressions
        .into_iter()
        .try_for_each(|text| Measured::check(text).map_err(|error| format!("{place}: {error}: {text}")))
}

fn once<'n>(what: &str, names: impl Iterator<Item = &'n String>) -> Result<(), String> {
    let mut seen = Vec::new();
    for name in names {
        if seen.contains(&name) {
            return Err(format!("{what}: `{name}` is there twice"));
        }
        seen.push(name);
    }
    Ok(())
}

#[cfg(test)]
#[path = "experiment_tests.rs"]
mod tests;
