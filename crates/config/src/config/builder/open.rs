//! Keys of a configuration that are declared outside of it.

use keys::GroupValues;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// What the names of the host model's numbers begin with.
pub(in crate::config) const HOST: &str = "host.";

/// Numbers of the host model under their dotted names (`host.prices.exit`), and the table of each [`KeyGroup`](keys::KeyGroup) in full.
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
    #[must_use]
    pub fn group(&self, name: &str) -> GroupValues {
        GroupValues::new(self.0.get(name).and_then(Value::as_table).cloned())
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
