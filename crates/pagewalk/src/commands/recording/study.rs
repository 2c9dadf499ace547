//! A study: the options of `sweep` as a file of TOML. An option of the command line takes the place of the file's.

use crate::cli::{Setting, SweepArgs};
use crate::error::Failure;
use crate::input;
use config::system::{Sweep, SystemList};
use config::{ConfigBuilder, toml_problem};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// What is to be replayed, and how.
pub(super) struct Study {
    /// The recording.
    pub(super) path: PathBuf,
    /// All options, those of the file among them.
    pub(super) arguments: SweepArgs,
}

/// The keys of the file.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct StudyKeys {
    recording: Option<PathBuf>,
    #[serde(default)]
    scheme: Vec<String>,
    #[serde(default)]
    set: Table,
    #[serde(default)]
    sweep: Table,
    #[serde(default)]
    inexact: bool,
    output: Option<PathBuf>,
    html: Option<PathBuf>,
    columns: Option<PathBuf>,
}

/// The study of a command line, with the file that it names.
///
/// # Errors
/// [`Failure::Usage`], naming the file, the line and the key.
pub(super) fn read(given: &SweepArgs) -> Result<Study, Failure> {
    let arguments = match &given.study {
        Some(path) => of_text(path, &input::toml(path)?, given)
            .map_err(|problem| Failure::Usage(format!("{}: {problem}", path.display())))?,
        None => given.clone(),
    };
    let path = arguments.recording.clone().ok_or_else(|| {
        let file = given.study.as_deref().map_or_else(String::new, |path| format!("{}: ", path.display()));
        Failure::Usage(format!("{file}key `recording` is missing"))
    })?;
    Ok(Study { path, arguments })
}

/// The options of a file's text with those that are `given` in place of them; or what is wrong, with line and key.
fn of_text(path: &Path, text: &str, given: &SweepArgs) -> Result<SweepArgs, String> {
    let keys: StudyKeys = toml::from_str(text).map_err(|error| toml_problem::of_text(text, &error))?;
    let file = File { text, directory: path.parent().unwrap_or(Path::new("")) };
    let is_given = |key: &str| {
        given.settings.iter().any(|setting| setting.key == key) || given.sweeps.iter().any(|sweep| sweep.key() == key)
    };
    let schemes = keys.scheme.iter().map(|scheme| scheme.parse::<SystemList>());
    let schemes = schemes.collect::<Result<Vec<_>, _>>().map_err(|error| file.at("scheme", &error))?;
    let sweeps = file.sweeps(&keys.sweep)?;
    let settings = file.settings(&keys.set)?;
    if let Some(twice) = settings.iter().find(|setting| sweeps.iter().any(|sweep| sweep.key() == setting.key)) {
        return Err(file.at(&format!("sweep.{}", twice.key), &format!("{} is under [set] as well", twice.key)));
    }
    let others = settings.into_iter().filter(|setting| !is_given(&setting.key));
    let swept = sweeps.into_iter().filter(|sweep| !is_given(sweep.key()));
    Ok(SweepArgs {
        recording: given.recording.clone().or(file.beside(keys.recording)),
        schemes: if given.schemes.is_empty() { schemes } else { given.schemes.clone() },
        settings: others.chain(given.settings.iter().cloned()).collect(),
        sweeps: swept.chain(given.sweeps.iter().cloned()).collect(),
        output: given.output.clone().or(file.beside(keys.output)),
        html: given.html.clone().or(file.beside(keys.html)),
        columns: given.columns.clone().or(file.beside(keys.columns)),
        inexact: given.inexact || keys.inexact,
        ..given.clone()
    })
}

/// Where a study is read from.
struct File<'t> {
    text: &'t str,
    /// What its paths are relative to.
    directory: &'t Path,
}

impl File<'_> {
    /// A problem with its line.
    fn at(&self, key: &str, problem: &dyn std::fmt::Display) -> String {
        match toml_problem::line_of_key(self.text, key) {
            Some(line) => format!("line {line}: {problem}"),
            None => problem.to_string(),
        }
    }

    /// A path of the file. `-` is standard output, as on the command line.
    fn beside(&self, path: Option<PathBuf>) -> Option<PathBuf> {
        path.map(|path| if path == Path::new("-") { path } else { self.directory.join(path) })
    }

    fn settings(&self, set: &Table) -> Result<Vec<Setting>, String> {
        let known: Vec<String> = config::reference(&[]).into_iter().flat_map(|row| row.keys).collect();
        // `host` is a text, and what is within it are keys of their own.
        let is_key = |key: &str| key != "host" && known.iter().any(|known| known == key);
        let mut settings = Vec::new();
        leaves("", set, &|key, value| !value.is_table() || is_key(key), &mut settings);
        let setting = |(key, value): (String, Value)| {
            self.check("set", &key, &value)?;
            Ok(Setting { key, value: value.to_string() })
        };
        settings.into_iter().map(setting).collect()
    }

    fn sweeps(&self, sweep: &Table) -> Result<Vec<Sweep>, String> {
        let mut sweeps = Vec::new();
        leaves("", sweep, &|_, value| !value.is_table(), &mut sweeps);
        // A table is by the alphabet, and the order of sweeps is that of the systems.
        sweeps.sort_by_key(|(key, _)| toml_problem::place_of_key(self.text, &format!("sweep.{key}")));
        let swept = |(key, value): (String, Value)| {
            let path = format!("sweep.{key}");
            let Value::Array(values) = value else {
                return Err(self.at(&path, &format!("{key}: {value} is not a list of values")));
            };
            let sweep = Sweep::new(&key, values).map_err(|error| self.at(&path, &error))?;
            sweep.values().iter().try_for_each(|value| self.check("sweep", &key, value))?;
            Ok(sweep)
        };
        sweeps.into_iter().map(swept).collect()
    }

    /// Whether the configuration has that key, and the key takes the value.
    fn check(&self, table: &str, key: &str, value: &Value) -> Result<(), String> {
        let path = format!("{table}.{key}");
        if key == "scheme" {
            return Err(self.at(&path, &"`scheme` is a key of the file itself"));
        }
        let set = ConfigBuilder::default().set_value(key, value.clone());
        set.map(drop).map_err(|error| self.at(&path, &error))
    }
}

/// The dotted keys of a table with their values, where `ends` says that a value is no table of further keys.
fn leaves(prefix: &str, table: &Table, ends: &dyn Fn(&str, &Value) -> bool, found: &mut Vec<(String, Value)>) {
    for (name, value) in table {
        let key = format!("{prefix}{name}");
        match value {
            Value::Table(inner) if !ends(&key, value) => leaves(&format!("{key}."), inner, ends, found),
            value => found.push((key, value.clone())),
        }
    }
}
