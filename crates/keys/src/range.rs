//! Ranges of values.

use toml::Value;
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

impl Range {
    /// Whether `value` lies in it.
    pub(crate) fn holds(self, value: &Value) -> bool {
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
