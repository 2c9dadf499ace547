//! Keys of a configuration that are declared outside of it.

use keys::{Entry, Keys};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// What the names of the host model's numbers begin with.
pub(in crate::config) const HOST: &str = "host.";

/// Numbers of the host model under their dotted names (`host.prices.exit`), and the table of each [`KeyGroup`] in full.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpenKeys(BTreeMap<String, Value>);

/// Numbers of a host model that a configuration changes: dotted names within the model, and values.
pub type HostSettings<'c> = Vec<(&'c str, &'c Value)>;

impl OpenKeys {
    /// Numbers of the host model.
    #[must_use]
    pub fn host_settings(&self) -> HostSettings<'_> {
        self.0.iter().filter_map(|(key, value)| Some((key.strip_prefix(HOST)?, value))).collect()
    }

    /// The keys of the group `name`: their defaults, if the builder was not given the group.
    ///
    /// # Panics
    /// If the group is one of keys other than `K`: the builder has checked it.
    #[must_use]
    pub fn group<K: Keys>(&self, name: &str) -> K {
        let table = self.0.get(name).cloned();
        table.map_or_else(K::default, |table| table.try_into().expect("the builder has read it"))
    }

    /// The same keys as far as `wanted` has them, by their names.
    pub(in crate::config) fn only(&self, wanted: impl Fn(&str) -> bool) -> Self {
        let kept = self.0.iter().filter(|(name, _)| wanted(name));
        Self(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Puts the table of a group in the place of what the user gave.
    pub(in crate::config) fn put(&mut self, name: &str, table: Table) {
        self.0.insert(name.to_owned(), Value::Table(table));
    }

    /// What the user gave of a group.
    pub(in crate::config) fn given(&self, name: &str) -> Table {
        self.0.get(name).and_then(Value::as_table).cloned().unwrap_or_default()
    }
}

/// Keys of a part of the machine that this crate does not know, such as a translation scheme of one's own: declared by
/// [`keys::settings!`], given to [`ConfigBuilder::with_group`](super::ConfigBuilder::with_group), read by [`OpenKeys::group`].
#[derive(Clone, Copy, Debug)]
pub struct KeyGroup {
    /// What their names begin with.
    pub name: &'static str,
    /// The keys.
    pub keys: &'static [Entry],
    /// The table in full, with defaults.
    pub(in crate::config) fill: fn(Table) -> Result<Table, toml::de::Error>,
}

impl KeyGroup {
    /// The keys of `K` under `name`.
    #[must_use]
    pub const fn of<K: Keys>(name: &'static str) -> Self {
        Self { name, keys: K::KEYS, fill: fill::<K> }
    }
}

fn fill<K: Keys>(table: Table) -> Result<Table, toml::de::Error> {
    let keys: K = Value::Table(table).try_into()?;
    Ok(Table::try_from(keys).expect("keys are a table"))
}
