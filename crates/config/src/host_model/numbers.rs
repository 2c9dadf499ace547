//! Numbers of a host model, changed one by one.

use super::{HostModel, HostModelError};
use crate::toml_problem::plain;
use serde::Deserialize;
use toml::{Table, Value};

impl HostModel {
    /// The same host with other numbers, each under its dotted name.
    ///
    /// In a list, a part of a name may be an index; without one, the first of the list is meant: `tlb.l2.ways` are those of the first array of
    /// the second level, `tlb.l2.1.ways` of the next one.
    ///
    /// # Errors
    /// [`HostModelError::Setting`], naming the key.
    pub fn with(self, settings: &[(&str, &Value)]) -> Result<Self, HostModelError> {
        if settings.is_empty() {
            return Ok(self);
        }
        let wrong = |key: &str, problem: String| HostModelError::Setting { key: format!("host.{key}"), problem };
        let mut table = Table::try_from(&self).expect("a model is a table");
        for (key, value) in settings {
            set(&mut table, key, (*value).clone()).map_err(|problem| wrong(key, problem))?;
        }
        let model = read(&table, settings.iter().map(|&(key, value)| (key, value)), &self)
            .map_err(|(key, problem)| wrong(&key, problem))?;
        model.problem().map_or(Ok(model), |problem| {
            let (key, problem) = problem.split_once(": ").unwrap_or(("", &problem));
            Err(wrong(key, problem.to_owned()))
        })
    }
}

/// The model in `table`, or which of the numbers that were `changed` in `host` is at fault, and what is wrong.
pub(super) fn read<'s>(
    table: &Table,
    changed: impl Iterator<Item = (&'s str, &'s Value)>,
    host: &HostModel,
) -> Result<HostModel, (String, String)> {
    HostModel::deserialize(table.clone()).map_err(|error| {
        let mut last = String::new();
        for (key, value) in changed {
            let mut alone = Table::try_from(host).expect("a model is a table");
            let tried = set(&mut alone, key, value.clone()).map(|()| HostModel::deserialize(alone));
            if let Ok(Err(error)) = tried {
                return (key.to_owned(), plain(error.message()));
            }
            key.clone_into(&mut last);
        }
        (last, plain(error.message()))
    })
}

/// Sets the number of a dotted name.
///
/// # Errors
/// Why there is no such place.
pub(super) fn set(table: &mut Table, key: &str, value: Value) -> Result<(), String> {
    let (path, last) = key.rsplit_once('.').map_or((None, key), |(path, last)| (Some(path), last));
    // Where a part of the host is missing, it is made of what is set.
    let first = path.into_iter().flat_map(|path| path.split('.'));
    let mut first = first.peekable();
    let Some(part) = first.next() else {
        table.insert(last.to_owned(), value);
        return Ok(());
    };
    let mut place = table.entry(part).or_insert_with(|| Value::Table(Table::new()));
    for part in first {
        place = inner(place, part)?;
    }
    match (place, last.parse::<usize>()) {
        (Value::Array(list), Ok(index)) => {
            let count = list.len();
            *list.get_mut(index).ok_or_else(|| beyond(index, count))? = value;
        }
        (place, _) => {
            first_of(place)?.as_table_mut().ok_or("it has no keys of its own")?.insert(last.to_owned(), value);
        }
    }
    Ok(())
}

/// The value of `part` in `place`.
fn inner<'v>(place: &'v mut Value, part: &str) -> Result<&'v mut Value, String> {
    match (place, part.parse::<usize>()) {
        (Value::Array(list), Ok(index)) => {
            let count = list.len();
            list.get_mut(index).ok_or_else(|| beyond(index, count))
        }
        (place, _) => {
            let table = first_of(place)?.as_table_mut().ok_or("it has no keys of its own")?;
            Ok(table.entry(part).or_insert_with(|| Value::Table(Table::new())))
        }
    }
}

/// The first of a list; anything else as it is.
fn first_of(place: &mut Value) -> Result<&mut Value, String> {
    match place {
        Value::Array(list) => list.first_mut().ok_or_else(|| "the host has none".to_owned()),
        other => Ok(other),
    }
}

fn beyond(index: usize, count: usize) -> String {
    format!("there is no {index}: the host has {count} of them, from 0 on")
}
