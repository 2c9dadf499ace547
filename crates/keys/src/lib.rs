//! Configuration keys, each declared in one place.
//!
//! [`settings!`] declares a struct of keys, each with its type, default and [`KeyFacts`]: range, unit, text, and whose results it can change.
//! [`model!`] does the same for a host model, whose numbers have no defaults. Parsing, range checks, the reference of the configuration,
//! suggestions for unknown keys and the part of a configuration that a native machine uses follow from the declaration.
//!
//! A crate that has keys declares them: this crate has none. A key is added by one entry in the file of its owner.
#![forbid(unsafe_code)]

mod declare;
mod facts;
mod group;
mod out_of_range;
mod range;
mod reference;
pub mod suggestion;
mod tree;
mod unknown;

pub use facts::{Affects, KeyFacts, key};
pub use group::{GroupValues, KeyGroup};
pub use out_of_range::{OutOfRange, out_of_range};
pub use range::Range;
pub use reference::{Row, rows};
pub use tree::{Declared, Entry, Key, Keys, groups, keys, value_at};
pub use unknown::unknown_key;

#[doc(hidden)]
pub use serde;
