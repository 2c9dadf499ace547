//! Ranges of values.

use crate::tree::{Key, value_at};
use toml::{Table, Value};
use types::{SizeText, parse_size};

/// Bytes of a base page.
const PAGE: u64 = 4096;

/// The values that a key takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Range {
    /// A number, both ends in.
    Number {
        /// The least one.
        least: u64,
        /// The largest one.
        most: u64,
    },
    /// A size in bytes, a multiple of 4K, both ends in.
    Pages {
        /// The least one.
        least: u64,
        /// The largest one.
        most: u64,
    },
}

/// A value out of its range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutOfRange {
    /// The key.
    pub key: String,
    /// What is wrong.
    pub problem: String,
}

impl Range {
    /// Whether `value` lies in it.
    fn holds(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Number { least, most }, Value::Integer(number)) => {
                u64::try_from(*number).is_ok_and(|number| (least..=most).contains(&number))
            }
            (Self::Pages { least, most }, value) => {
                let bytes = match value {
                    Value::Integer(bytes) => u64::try_from(*bytes).ok(),
                    Value::String(text) => parse_size(text),
                    Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => {
                        None
                    }
                };
                bytes.is_some_and(|bytes| (least..=most).contains(&bytes) && bytes.is_multiple_of(PAGE))
            }
            (
                Self::Number { .. },
                Value::String(_)
                | Value::Float(_)
                | Value::Boolean(_)
                | Value::Datetime(_)
                | Value::Array(_)
                | Value::Table(_),
            ) => false,
        }
    }

    /// The values in words.
    pub(crate) fn takes(self, unit: Option<&str>) -> String {
        match self {
            Self::Number { least, most } => {
                let of = unit.map_or_else(String::new, |unit| format!(" of {unit}"));
                format!("a number{of} from {least} to {most}")
            }
            Self::Pages { least, most } => {
                format!("a size from {} to {}, a multiple of 4K", SizeText(least), SizeText(most))
            }
        }
    }
}

/// The first of `keys` whose value in `table` is out of its range.
#[must_use]
pub fn out_of_range(keys: &[Key], table: &Table) -> Option<OutOfRange> {
    keys.iter().find_map(|Key { name, facts }| {
        let value = value_at(table, name)?;
        let wrong = !facts.range?.holds(value);
        let shown = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        wrong.then(|| OutOfRange {
            key: name.clone(),
            problem: format!("`{shown}` is not {}", facts.takes().unwrap_or_default()),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key;

    #[test]
    fn both_ends_are_in_and_what_is_out_is_named_with_the_range() {
        let keys = [
            Key { name: "a.count".to_owned(), facts: key("").number(1, 64) },
            Key { name: "a.size".to_owned(), facts: key("").pages(4096, 1 << 38) },
        ];
        let problem = |text: &str| out_of_range(&keys, &text.parse().unwrap()).map(|wrong| wrong.problem);
        for inside in ["a.count = 1", "a.count = 64", "a.size = '4K'", "a.size = 4096", "a.size = '256G'", "b = 0"] {
            assert_eq!(problem(inside), None, "{inside}");
        }
        assert_eq!(problem("a.count = 0").unwrap(), "`0` is not a number from 1 to 64");
        assert_eq!(problem("a.count = -1").unwrap(), "`-1` is not a number from 1 to 64");
        assert_eq!(problem("a.size = 4097").unwrap(), "`4097` is not a size from 4K to 256G, a multiple of 4K");
        assert_eq!(problem("a.size = '257G'").unwrap(), "`257G` is not a size from 4K to 256G, a multiple of 4K");
    }
}
