//! Which key of a configuration has a value that it does not take, and what it takes instead.

use super::{Config, keys};
use crate::toml_problem::plain;
use serde::Deserialize;
use toml::{Table, Value};

/// The first key of `table` whose value is of the wrong kind, with what is wrong; `None` if each value by itself is right.
pub(super) fn find(table: &Table) -> Option<(String, String)> {
    keys::all().into_iter().find_map(|key| {
        let value = key.split('.').try_fold(None, |at: Option<&Value>, part| {
            Some(Some(at.map_or_else(|| table.get(part), |value| value.get(part))?))
        });
        let value = value.flatten()?;
        let error = Config::deserialize(alone(&key, value.clone())).err()?;
        let problem = match takes(&key) {
            Some(takes) => format!("{} is not {takes}", shown(value)),
            None => plain(error.message()),
        };
        Some((key, problem))
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

/// What a key takes, where the type of its value says less than its range does.
fn takes(key: &str) -> Option<&'static str> {
    Some(match key {
        "harts" => "a number from 1 to 64",
        "quantum" => "a number of cycles from 100 to 1000000000",
        "timeout" | "balloon.at" | "balloon.until" | "faulty.at" => "a whole number of seconds",
        "warmup" => "`none`, `touch`, `snapshot` or a number of instructions",
        "mmu.nested_tlb" => "`on`, `off` or a number of entries",
        "shadow.count" => "a number from 1 to 1024",
        "segment.filter.hashes" => "1, 2, 4 or 8",
        "faulty.count" => "a number from 0 to 65536",
        "disk.latency_us" => "a number from 0 to 1000000",
        _ => return None,
    })
}

fn shown(value: &Value) -> String {
    match value {
        Value::Table(_) => "a table".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) => format!("`{text}`"),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => format!("`{value}`"),
    }
}
