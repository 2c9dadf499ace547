//! Host models that have only what differs from another: `base = "xeon-2017"`.

use super::{HostModel, HostModelError, numbers};
use crate::toml_problem;
use keys::{Declared, unknown_key};
use std::iter;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The longest chain of models of which each has the next one as its base.
const DEEPEST: usize = 16;

/// A model put together from its base and what differs.
pub(super) struct Resolved {
    /// The base.
    pub(super) base: HostModel,
    /// What the base is called: a shipped model, or a file.
    pub(super) base_name: String,
    /// What differs, by dotted names.
    pub(super) changed: Vec<(String, Value)>,
}

impl Resolved {
    /// The model, or the key at fault and what is wrong.
    pub(super) fn model(&self) -> Result<HostModel, (String, String)> {
        let mut table = Table::try_from(&self.base).expect("a model is a table");
        for (key, value) in &self.changed {
            numbers::set(&mut table, key, value.clone()).map_err(|problem| (key.clone(), problem))?;
        }
        numbers::read(&table, self.changed.iter().map(|(key, value)| (key.as_str(), value)), &self.base)
    }
}

impl HostModel {
    /// The files that [`Self::load`] reads for `name`, those of bases among them. Shipped models are part of the program.
    pub fn files(name: &str) -> impl Iterator<Item = PathBuf> {
        chain(name).filter(|model| !Self::names().any(|shipped| shipped == model)).map(PathBuf::from)
    }
}

/// The base that a model names.
fn of(model: &Table) -> Option<String> {
    model.get("base")?.as_str().map(ToOwned::to_owned)
}

/// `text`, that of the file `path`, with its base; `None` if it names none.
///
/// # Errors
/// [`HostModelError`], of this file or of its base.
pub(super) fn resolve(path: &str, text: &str) -> Result<Option<Resolved>, HostModelError> {
    let wrong = |problem: String| HostModelError::Content { path: path.to_owned(), problem };
    // A table first: serde reads numbers into `u64` that a value of TOML, which keys are checked with, cannot hold.
    let mut table = text.parse::<Table>().map_err(|error| wrong(toml_problem::of_text(text, &error)))?;
    let Some(base) = of(&table) else { return Ok(None) };
    table.remove("base");
    let known = keys::keys("", HostModel::KEYS);
    let lists = keys::groups("", HostModel::KEYS);
    let changed = leaves("", table);
    let names = changed.iter().map(|(key, value)| (key, value));
    for (key, value) in names.filter(|(key, value)| !(value.is_array() && lists.contains(key))) {
        let mut alone = Table::new();
        numbers::set(&mut alone, key, value.clone()).map_err(|problem| wrong(placed(text, key, &problem)))?;
        if let Some((key, problem)) = unknown_key(&known, &alone) {
            return Err(wrong(with_line(text, &key, &problem)));
        }
    }
    let base_name = beside(path, &base);
    if chain(&base_name).count() > DEEPEST {
        return Err(wrong(format!("base: `{base}` leads in a circle, or through more than {DEEPEST} models")));
    }
    Ok(Some(Resolved { base: HostModel::load(&base_name)?, base_name, changed }))
}

/// What is wrong with `key`, with its line in `text`.
pub(super) fn placed(text: &str, key: &str, problem: &str) -> String {
    with_line(text, key, &format!("{key}: {problem}"))
}

fn with_line(text: &str, key: &str, said: &str) -> String {
    toml_problem::line_of_key(text, key).map_or_else(|| said.to_owned(), |line| format!("line {line}: {said}"))
}

/// The base of a model in the file `path`: a shipped one, or a file beside that one.
fn beside(path: &str, base: &str) -> String {
    let own = Path::new(path).parent().map(|directory| directory.join(base));
    match own {
        Some(file) if !HostModel::names().any(|name| name == base) => file.display().to_string(),
        Some(_) | None => base.to_owned(),
    }
}

/// The models that follow each other as bases, from `name` itself on: one more than [`DEEPEST`] where they do not end before.
fn chain(name: &str) -> impl Iterator<Item = String> {
    let base = |name: &String| {
        let model: Table = HostModel::text(name).ok()?.parse().ok()?;
        of(&model).map(|base| beside(name, &base))
    };
    iter::successors(Some(name.to_owned()), base).take(DEEPEST + 1)
}

/// The values in `table` that are no tables themselves, by their dotted names.
fn leaves(prefix: &str, table: Table) -> Vec<(String, Value)> {
    let each = table.into_iter().flat_map(|(key, value)| {
        let name = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) => leaves(&name, inner),
            value => vec![(name, value)],
        }
    });
    each.collect()
}
