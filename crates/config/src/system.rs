//! Systems: a scheme with settings of its own, so that one comparison holds machines that differ in more than the scheme.
//!
//! A system is written `SCHEME[/KEY=VALUE]...`, as `nested:4K+2M/host=xeon-2017/mmu.nested_tlb=off`, and a list of systems with
//! commas between. A `/` begins a setting where `KEY=` follows it, so that a value may be a path; a comma or a `/` inside quotes,
//! brackets or braces belongs to the value.

mod split;
mod sweep;

pub use sweep::{MOST_VALUES, Sweep};

use crate::config::{Config, ConfigBuilder, ConfigError, read_value};
use core::{fmt, str::FromStr};
use schemes::{PagedScheme, SchemeError};
use split::{Unclosed, split};
use std::collections::BTreeMap;
use toml::Value;

/// A scheme, and the keys of the configuration that are its own.
#[derive(Clone, PartialEq, Debug)]
pub struct System {
    scheme: PagedScheme,
    /// By key, so that equal systems are written the same. A key comes before the keys within it.
    settings: BTreeMap<String, Value>,
}

/// A text that names no system.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SystemError {
    /// The part before the first `/`.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// What follows a `/` is no setting.
    #[error("`{system}`: `{part}` is not KEY=VALUE")]
    Setting {
        /// All of the text.
        system: String,
        /// The part that is none.
        part: String,
    },
    /// A setting of the scheme itself.
    #[error("`{system}`: `scheme` is not a setting")]
    SchemeKey {
        /// All of the text.
        system: String,
    },
    /// A quotation mark or bracket is not matched.
    #[error(transparent)]
    Unclosed(#[from] Unclosed),
}

impl System {
    /// The scheme.
    #[must_use]
    pub const fn scheme(&self) -> PagedScheme {
        self.scheme
    }

    /// The dotted keys that are its own, with their values.
    #[must_use]
    pub const fn settings(&self) -> &BTreeMap<String, Value> {
        &self.settings
    }

    /// Whether any key is its own.
    #[must_use]
    pub fn has_settings(&self) -> bool {
        !self.settings.is_empty()
    }

    /// The same with `key` set as well.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.settings.insert(key.to_owned(), value);
        self
    }

    /// The configuration of this system: that of `builder` with its settings and its scheme.
    ///
    /// # Errors
    /// [`ConfigError`], naming the key.
    pub fn configure(&self, mut builder: ConfigBuilder) -> Result<Config, ConfigError> {
        for (key, value) in &self.settings {
            builder = builder.set_value(key, value.clone())?;
        }
        builder.scheme(self.scheme).build()
    }

    /// The native system that this one is compared with: native with guest pages of the same size, and with those settings without which
    /// its `machine` were another.
    #[must_use]
    pub fn native<M: PartialEq>(&self, machine: impl Fn(&Self) -> M) -> Self {
        let mut native =
            Self { scheme: PagedScheme::native(self.scheme.guest_page()), settings: self.settings.clone() };
        let whole = machine(&native);
        for (key, value) in &self.settings {
            native.settings.remove(key);
            if machine(&native) != whole {
                native = native.with(key, value.clone());
            }
        }
        native
    }
}

impl From<PagedScheme> for System {
    fn from(scheme: PagedScheme) -> Self {
        Self { scheme, settings: BTreeMap::new() }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.scheme)?;
        self.settings.iter().try_for_each(|(key, value)| write!(f, "/{key}={}", Written(value)))
    }
}

/// A value as it is written in a system: a text without quotes where it reads back so.
struct Written<'v>(&'v Value);

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |text: &str| {
            text.chars().all(|c| c.is_ascii_alphanumeric() || "-+:._".contains(c)) && read_value(text) == *self.0
        };
        match self.0 {
            Value::String(text) if plain(text) => f.write_str(text),
            value => write!(f, "{value}"),
        }
    }
}

impl FromStr for System {
    type Err = SystemError;

    fn from_str(text: &str) -> Result<Self, SystemError> {
        let (scheme, settings) = text.split_once('/').map_or((text, None), |(scheme, rest)| (scheme, Some(rest)));
        let mut system = Self::from(scheme.trim().parse::<PagedScheme>()?);
        let Some(settings) = settings else { return Ok(system) };
        for part in split(settings, |rest| rest.starts_with('/') && begins_with_key(&rest[1..]))? {
            let wrong = || SystemError::Setting { system: text.to_owned(), part: part.to_owned() };
            let (key, value) = part.split_once('=').filter(|_| begins_with_key(part)).ok_or_else(wrong)?;
            if key == "scheme" {
                return Err(SystemError::SchemeKey { system: text.to_owned() });
            }
            system = system.with(key, read_value(value.trim()));
        }
        Ok(system)
    }
}

/// Whether `text` begins with a key and an equals sign.
fn begins_with_key(text: &str) -> bool {
    let key = text.split('=').next().filter(|key| key.len() < text.len());
    key.is_some_and(|key| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)))
}

/// Systems with commas between.
#[derive(Clone, PartialEq, Debug)]
pub struct SystemList(pub Vec<System>);

impl FromStr for SystemList {
    type Err = SystemError;

    fn from_str(text: &str) -> Result<Self, SystemError> {
        split(text, |rest| rest.starts_with(','))?
            .into_iter()
            .map(|part| part.trim().parse())
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

#[cfg(test)]
mod tests;
