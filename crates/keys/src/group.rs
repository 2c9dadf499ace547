//! Groups of keys that a configuration takes without knowing them, such as those of a translation scheme.

use crate::tree::{Entry, Keys};
use toml::{Table, Value};

/// The keys of a struct that [`settings!`](crate::settings) declares, under a name.
#[derive(Clone, Copy, Debug)]
pub struct KeyGroup {
    /// What their names begin with.
    pub name: &'static str,
    /// The keys.
    pub keys: &'static [Entry],
    fill: fn(Table) -> Result<Table, toml::de::Error>,
}

impl KeyGroup {
    /// The keys of `K` under `name`.
    #[must_use]
    pub const fn of<K: Keys>(name: &'static str) -> Self {
        Self { name, keys: K::KEYS, fill: fill::<K> }
    }

    /// What a user gave, with the defaults of all other keys.
    ///
    /// # Errors
    /// A key does not take its value.
    pub fn filled(&self, given: Table) -> Result<Table, toml::de::Error> {
        (self.fill)(given)
    }
}

fn fill<K: Keys>(table: Table) -> Result<Table, toml::de::Error> {
    let keys: K = Value::Table(table).try_into()?;
    Ok(Table::try_from(keys).expect("keys are a table"))
}

/// The values of a group's keys.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GroupValues(Option<Table>);

impl GroupValues {
    /// Those of a table that the group has [filled](KeyGroup::filled); the defaults, if there is none.
    #[must_use]
    pub const fn new(table: Option<Table>) -> Self {
        Self(table)
    }

    /// As the struct that declares them.
    ///
    /// # Panics
    /// If the group is one of keys other than `K`.
    #[must_use]
    pub fn read<K: Keys>(&self) -> K {
        let table = self.0.clone();
        table.map_or_else(K::default, |table| Value::Table(table).try_into().expect("the group has filled the table"))
    }
}
