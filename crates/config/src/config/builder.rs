//! A configuration being put together.

pub(super) mod known;
mod misfit;
pub(super) mod open;
#[cfg(test)]
mod tests;

use super::Config;
use crate::toml_problem;
use keys::{Key, KeyGroup};
use schemes::{PagedScheme, registry};
use serde::Deserialize;
use std::borrow::Cow;
use toml::{Table, Value};

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// What is wrong in a file.
    #[error("{source_name}: {problem}")]
    Content {
        /// The file.
        source_name: String,
        /// What is wrong, with the line and the key.
        problem: String,
    },
    /// A key does not exist, or does not take its value.
    #[error("{0}")]
    Setting(String),
    /// A key's value is out of its range.
    #[error("{key}: {problem}")]
    Range {
        /// The key.
        key: Cow<'static, str>,
        /// What is wrong.
        problem: String,
    },
}

impl ConfigError {
    /// `key` has a value that cannot be.
    #[must_use]
    pub fn range(key: impl Into<Cow<'static, str>>, problem: impl Into<String>) -> Self {
        Self::Range { key: key.into(), problem: problem.into() }
    }
}

/// What is wrong with a key.
struct Problem {
    /// The key, if it is one key's fault.
    key: Option<String>,
    /// What is wrong, with the key.
    said: String,
}

/// A configuration being put together: a file's table, then settings, each checked as it comes.
#[derive(Clone, Debug)]
pub struct ConfigBuilder {
    table: Table,
    groups: Vec<KeyGroup>,
    scheme: Option<PagedScheme>,
}

/// It knows the keys of every scheme.
impl Default for ConfigBuilder {
    fn default() -> Self {
        let groups = registry::all().iter().filter_map(|scheme| scheme.keys()).collect();
        Self { table: Table::new(), groups, scheme: None }
    }
}

impl ConfigBuilder {
    /// Whether a file or a setting gave the key `key`, written with dots.
    #[must_use]
    pub fn is_set(&self, key: &str) -> bool {
        let mut parts = key.split('.');
        let first = parts.next().and_then(|part| self.table.get(part));
        parts.fold(first, |value, part| value?.get(part)).is_some()
    }

    /// Knows the keys of `group` as well.
    #[must_use]
    pub fn with_group(mut self, group: KeyGroup) -> Self {
        self.groups.push(group);
        self
    }

    /// Sets the scheme, whatever the key `scheme` says.
    #[must_use]
    pub const fn scheme(mut self, scheme: PagedScheme) -> Self {
        self.scheme = Some(scheme);
        self
    }

    /// Takes the keys of a TOML text; `name` is the file's.
    ///
    /// # Errors
    /// [`ConfigError::Content`].
    pub fn file(mut self, name: &str, text: &str) -> Result<Self, ConfigError> {
        let wrong = |problem: String| ConfigError::Content { source_name: name.to_owned(), problem };
        let table = text.parse::<Table>().map_err(|error| wrong(toml_problem::of_text(text, &error)))?;
        self.take(table).map_err(|Problem { key, said }| {
            let line = key.and_then(|key| toml_problem::line_of_key(text, &key));
            wrong(line.map_or_else(|| said.clone(), |line| format!("line {line}: {said}")))
        })?;
        Ok(self)
    }

    /// Takes the keys of a table of the file `name`.
    ///
    /// # Errors
    /// [`ConfigError::Content`].
    pub fn table(mut self, name: &str, table: Table) -> Result<Self, ConfigError> {
        let wrong = |problem: Problem| ConfigError::Content { source_name: name.to_owned(), problem: problem.said };
        self.take(table).map_err(wrong)?;
        Ok(self)
    }

    /// Sets the dotted `key`. The value is read as TOML, or else as a text.
    ///
    /// # Errors
    /// [`ConfigError::Setting`].
    pub fn set(self, key: &str, value: &str) -> Result<Self, ConfigError> {
        if value.is_empty() {
            return Err(ConfigError::Setting(format!("{key}=: the value is missing")));
        }
        self.set_value(key, read_value(value))
    }

    /// Sets the dotted `key` to a value.
    ///
    /// # Errors
    /// [`ConfigError::Setting`].
    pub fn set_value(mut self, key: &str, value: Value) -> Result<Self, ConfigError> {
        known::insert(&mut self.table, key, value).map_err(ConfigError::Setting)?;
        self.read().map_err(|problem| ConfigError::Setting(problem.said))?;
        Ok(self)
    }

    /// The configuration.
    ///
    /// # Errors
    /// [`ConfigError::Range`] for what is well-formed and cannot be.
    pub fn build(self) -> Result<Config, ConfigError> {
        let config = self.read().map_err(|problem| ConfigError::Setting(problem.said))?;
        let echo = Table::try_from(&config).expect("a configuration is a table");
        if let Some(wrong) = keys::out_of_range(&self.keys(), &echo) {
            return Err(ConfigError::range(wrong.key, wrong.problem));
        }
        config.check()?;
        Ok(config)
    }

    fn keys(&self) -> Vec<Key> {
        known::keys_with(&self.groups)
    }

    fn take(&mut self, table: Table) -> Result<(), Problem> {
        for (key, value) in table {
            known::insert(&mut self.table, &key, value).map_err(|said| Problem { key: Some(key), said })?;
        }
        self.read().map(|_config| ())
    }

    /// The configuration, or what is wrong.
    fn read(&self) -> Result<Config, Problem> {
        let keys = self.keys();
        if let Some((key, said)) = known::unknown_key(&keys, &self.table) {
            return Err(Problem { key: Some(key), said });
        }
        let wrong = |error: toml::de::Error| match misfit::find(&keys, &self.table, |table| self.read_as(table)) {
            Some((key, problem)) => Problem { said: format!("{key}: {problem}"), key: Some(key) },
            None => Problem { key: None, said: toml_problem::plain(error.message()) },
        };
        self.read_as(self.table.clone()).map_err(wrong)
    }

    fn read_as(&self, table: Table) -> Result<Config, toml::de::Error> {
        let mut config = Config::deserialize(table)?;
        config.scheme = self.scheme.unwrap_or(config.scheme);
        for group in &self.groups {
            let table = group.filled(config.open.given(group.name))?;
            config.open.put(group.name, table);
        }
        Ok(config)
    }
}

/// The value that a text stands for: TOML, or else the text itself.
pub(crate) fn read_value(text: &str) -> Value {
    format!("value = {text}")
        .parse::<Table>()
        .ok()
        // A line break in the text would let further keys follow.
        .filter(|table| table.len() == 1)
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}
