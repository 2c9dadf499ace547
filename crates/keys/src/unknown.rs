//! What an unknown key may have meant.

use crate::suggestion::{answer, distance};
use crate::tree::Key;
use toml::{Table, Value};

/// The first key of `table` that is none of `known`, and what is to be said of it; `None` if all exist.
#[must_use]
pub fn unknown_key(known: &[Key], table: &Table) -> Option<(String, String)> {
    let names: Vec<&str> = known.iter().map(|key| key.name.as_str()).collect();
    let key =
        leaves(table).into_iter().find(|key| !names.iter().any(|name| name == key || in_value(key, name, &names)))?;
    let inner: Vec<&str> = names.iter().filter(|name| within(name, &key)).copied().collect();
    if !inner.is_empty() {
        let said = format!("key `{key}` is a table, with the keys {}", inner.join(", "));
        return Some((key, said));
    }
    let near = names.iter().filter_map(|name| slips(&key, name).map(|slips| (slips, *name)));
    let near = near.min_by_key(|&(slips, _)| slips).map(|(_, name)| name);
    let siblings = names.iter().filter(|name| parent(name) == parent(&key)).copied();
    let said = answer("key", &key, near, siblings);
    Some((key, said))
}

/// The dotted keys of whatever in `table` is no table itself.
fn leaves(table: &Table) -> Vec<String> {
    let mut keys = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => keys.extend(leaves(inner).iter().map(|inner| format!("{key}.{inner}"))),
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_)
            | Value::Array(_) => keys.push(key.clone()),
        }
    }
    keys
}

/// Whether `key` is a part of the value of `name`: the type of that value says more. `host` has a value, and keys of its own.
fn in_value(key: &str, name: &str, names: &[&str]) -> bool {
    within(key, name) && !names.iter().any(|other| within(other, name))
}

/// Whether `key` lies within `name`.
fn within(key: &str, name: &str) -> bool {
    key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
}

fn parent(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// The slips between two keys, part by part; a key without its tables is near as well.
fn slips(key: &str, name: &str) -> Option<usize> {
    if !key.contains('.') {
        return distance(key, name.rsplit('.').next().unwrap_or(name));
    }
    let (key, name): (Vec<_>, Vec<_>) = (key.split('.').collect(), name.split('.').collect());
    let parts = key.iter().zip(&name).map(|(key, name)| distance(key, name));
    (key.len() == name.len()).then(|| parts.sum()).flatten()
}
