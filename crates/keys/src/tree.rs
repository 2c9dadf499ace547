//! Declared keys as a tree: a group has keys and further groups.

use crate::facts::KeyFacts;
use serde::{Serialize, de::DeserializeOwned};
use toml::{Table, Value};

/// One entry of a declaration, by its name in its group.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// A key.
    Key(&'static str, KeyFacts),
    /// Keys of their own: a table, or a list of tables.
    Group(&'static str, &'static [Self]),
}

/// A struct whose fields are declared as keys.
pub trait Declared {
    /// In the order of the declaration.
    const KEYS: &'static [Entry];
}

/// Keys with defaults: a part of a configuration.
pub trait Keys: Declared + Clone + Default + PartialEq + Serialize + DeserializeOwned {
    /// These keys for a native machine: keys that its results do not depend on have their defaults.
    #[must_use]
    fn for_native(&self) -> Self;
}

/// A group that there may be none of has the same keys.
impl<T: Declared> Declared for Option<T> {
    const KEYS: &'static [Entry] = T::KEYS;
}

/// Each of a list has the same keys.
impl<T: Declared> Declared for Vec<T> {
    const KEYS: &'static [Entry] = T::KEYS;
}

/// A key with its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Key {
    /// Its dotted name.
    pub name: String,
    /// Its facts.
    pub facts: KeyFacts,
}

/// Every key of `entries`, whose own names follow `prefix`: empty, or a group's name.
#[must_use]
pub fn keys(prefix: &str, entries: &[Entry]) -> Vec<Key> {
    let each = entries.iter().flat_map(|entry| match *entry {
        Entry::Key(name, facts) => vec![Key { name: dotted(prefix, name), facts }],
        Entry::Group(name, inner) => keys(&dotted(prefix, name), inner),
    });
    each.collect()
}

/// The dotted name of every group within `entries`.
#[must_use]
pub fn groups(prefix: &str, entries: &[Entry]) -> Vec<String> {
    let each = entries.iter().flat_map(|entry| match *entry {
        Entry::Key(..) => Vec::new(),
        Entry::Group(name, inner) => {
            let name = dotted(prefix, name);
            let inner = groups(&name, inner);
            [vec![name], inner].concat()
        }
    });
    each.collect()
}

fn dotted(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

/// The value of a dotted key in `table`.
#[must_use]
pub fn value_at<'t>(table: &'t Table, key: &str) -> Option<&'t Value> {
    let mut parts = key.split('.');
    let first = table.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}
