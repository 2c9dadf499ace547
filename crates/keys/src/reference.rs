//! The rows of a reference: a key, or several that are told of together.

use crate::facts::KeyFacts;
use crate::tree::{Key, value_at};
use toml::{Table, Value};

/// A row.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The dotted names of its keys.
    pub keys: Vec<String>,
    /// The default in Markdown: words, or values as TOML has them. Of several keys, one that all have, or all of theirs.
    pub default: String,
    /// What they mean, and what values they take, in Markdown.
    pub about: &'static str,
    /// Of what they are numbers.
    pub unit: Option<&'static str>,
}

/// The rows of `keys`, whose defaults are those in `defaults`. Where a key stands in the row of another, or is the same field of another group,
/// it stands there.
#[must_use]
pub fn rows(keys: &[Key], defaults: &Table) -> Vec<Row> {
    let mut told: Vec<(KeyFacts, Vec<&Key>)> = Vec::new();
    for key in keys {
        let place = told.iter_mut().find(|(facts, row)| match key.facts.row {
            Some(with) => row.iter().any(|other| parent(&other.name) == parent(&key.name) && last(&other.name) == with),
            None => *facts == key.facts && row.iter().all(|other| last(&other.name) == last(&key.name)),
        });
        match place {
            Some((_, row)) => row.push(key),
            None => told.push((key.facts, vec![key])),
        }
    }
    let row = |(facts, row): (KeyFacts, Vec<&Key>)| Row {
        default: facts.default.map_or_else(|| values(&row, defaults), ToOwned::to_owned),
        keys: row.iter().map(|key| key.name.clone()).collect(),
        about: facts.about,
        unit: facts.unit,
    };
    told.into_iter().map(row).collect()
}

impl Row {
    /// What they mean, and of what they are numbers.
    #[must_use]
    pub fn text(&self) -> String {
        let unit = self.unit.filter(|unit| !self.about.contains(unit));
        unit.map_or_else(|| self.about.to_owned(), |unit| format!("{}, in {unit}", self.about))
    }

    /// The line of a table in Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(|key| format!("`{key}`")).collect();
        format!("| {} | {} | {} |", keys.join(", "), self.default, self.text().replace('|', "\\|"))
    }
}

fn values(row: &[&Key], defaults: &Table) -> String {
    let mut values: Vec<String> = row.iter().map(|key| shown(value_at(defaults, &key.name))).collect();
    values.dedup();
    format!("`{}`", values.join(", "))
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

fn parent(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(parent, _)| parent)
}

fn last(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, last)| last)
}
