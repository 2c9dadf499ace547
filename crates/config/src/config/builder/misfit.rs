//! Which key of a configuration has a value that it does not take, and what it takes instead.

use super::Config;
use crate::toml_problem::plain;
use keys::{Key, value_at};
use toml::{Table, Value};

/// The first of `keys` whose value in `table` is of the wrong kind, with what is wrong; `None` if each value by itself is right. `read` reads
/// a configuration.
pub(super) fn find(
    keys: &[Key],
    table: &Table,
    read: impl Fn(Table) -> Result<Config, toml::de::Error>,
) -> Option<(String, String)> {
    keys.iter().find_map(|Key { name, facts }| {
        let value = value_at(table, name)?;
        let error = read(alone(name, value.clone())).err()?;
        let problem = match facts.takes() {
            // A size that is none is said by its type.
            Some(takes) if !facts.is_size() => format!("{} is not {takes}", shown(value)),
            Some(_) | None => plain(error.message()),
        };
        Some((name.clone(), problem))
    })
}

/// A configuration that has this key and no other.
fn alone(key: &str, value: Value) -> Table {
    let mut parts = key.rsplit('.');
    let leaf = parts.next().unwrap_or(key);
    let within = |value, part: &str| Value::Table([(part.to_owned(), value)].into_iter().collect());
    match parts.fold(within(value, leaf), within) {
        Value::Table(table) => table,
        other => Table::from_iter([(key.to_owned(), other)]),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Table(_) => "a table".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) => format!("`{text}`"),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => format!("`{value}`"),
    }
}
