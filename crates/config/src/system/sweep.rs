//! Sweeps: one key over several values, each a system of its own.

use super::split::{Unclosed, split};
use super::{System, begins_with_key};
use crate::config::read_value;
use core::str::FromStr;
use toml::Value;

/// The most values of one sweep.
pub const MOST_VALUES: usize = 1024;

/// `KEY=V1,V2,...`, where a value may be a range of integers, `1..8`, with both ends in it.
#[derive(Clone, PartialEq, Debug)]
pub struct Sweep {
    key: String,
    values: Vec<Value>,
}

/// A text that is no sweep.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SweepError {
    /// It has no key, or no value.
    #[error("`{0}` is not KEY=VALUE,VALUE or KEY=FROM..TO")]
    Form(String),
    /// A range that ends before it begins.
    #[error("the range `{0}` is empty")]
    Range(String),
    /// More values than anybody waits for.
    #[error("`{0}` has more than {MOST_VALUES} values")]
    Values(String),
    /// Of the scheme itself.
    #[error("`scheme` is not a key to sweep: give a list after --scheme")]
    Scheme,
    /// A quotation mark or bracket is not matched.
    #[error(transparent)]
    Unclosed(#[from] Unclosed),
}

impl Sweep {
    /// `key` over values as a file has them. A text may be a range of integers.
    ///
    /// # Errors
    /// [`SweepError`].
    pub fn new(key: &str, values: Vec<Value>) -> Result<Self, SweepError> {
        if key == "scheme" {
            return Err(SweepError::Scheme);
        }
        let mut sweep = Self { key: key.to_owned(), values: Vec::new() };
        for value in values {
            match value {
                Value::String(text) => sweep.add(&text, || Value::String(text.clone()), key)?,
                other => sweep.add("", || other.clone(), key)?,
            }
        }
        if sweep.values.is_empty() { Err(SweepError::Form(format!("{key}=[]"))) } else { Ok(sweep) }
    }

    /// Adds the integers of `part`, if it is a range, and else one `value`. `text` is what it is a part of.
    fn add(&mut self, part: &str, value: impl FnOnce() -> Value, text: &str) -> Result<(), SweepError> {
        match range(part) {
            Some((from, to)) if from > to => return Err(SweepError::Range(part.to_owned())),
            Some((from, to)) if to.abs_diff(from) >= MOST_VALUES as u64 => {
                return Err(SweepError::Values(text.to_owned()));
            }
            Some((from, to)) => self.values.extend((from..=to).map(Value::Integer)),
            None => self.values.push(value()),
        }
        if self.values.len() > MOST_VALUES { Err(SweepError::Values(text.to_owned())) } else { Ok(()) }
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The values.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// `system` with each value, in the values' order.
    #[must_use]
    pub fn over(&self, system: &System) -> Vec<System> {
        self.values.iter().map(|value| system.clone().with(&self.key, value.clone())).collect()
    }

    /// How many values there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.values.len()
    }
}

impl FromStr for Sweep {
    type Err = SweepError;

    fn from_str(text: &str) -> Result<Self, SweepError> {
        let form = || SweepError::Form(text.to_owned());
        let (key, values) = text.split_once('=').filter(|_| begins_with_key(text)).ok_or_else(form)?;
        if key == "scheme" {
            return Err(SweepError::Scheme);
        }
        let mut sweep = Self { key: key.to_owned(), values: Vec::new() };
        for part in split(values, |rest| rest.starts_with(','))?.into_iter().map(str::trim) {
            if part.is_empty() {
                return Err(form());
            }
            sweep.add(part, || read_value(part), text)?;
        }
        Ok(sweep)
    }
}

/// The ends of a range of integers.
fn range(text: &str) -> Option<(i64, i64)> {
    let (from, to) = text.split_once("..")?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swept(sweep: &str, systems: &str) -> Vec<String> {
        let systems = systems.parse::<super::super::SystemList>().unwrap().0;
        let sweep = sweep.parse::<Sweep>().unwrap();
        systems.iter().flat_map(|system| sweep.over(system)).map(|system| system.to_string()).collect()
    }

    #[test]
    fn each_system_has_each_value() {
        assert_eq!(
            swept("mmu.nested_tlb=off,1..3,64", "nested/harts=2"),
            [
                "nested:4K+4K/harts=2/mmu.nested_tlb=off",
                "nested:4K+4K/harts=2/mmu.nested_tlb=1",
                "nested:4K+4K/harts=2/mmu.nested_tlb=2",
                "nested:4K+4K/harts=2/mmu.nested_tlb=3",
                "nested:4K+4K/harts=2/mmu.nested_tlb=64",
            ]
        );
        assert_eq!(swept("harts=4..4", "nested/harts=2"), ["nested:4K+4K/harts=4"], "the sweep's value wins");
    }

    #[test]
    fn values_are_toml_or_texts() {
        let tables = "mmu.walk_caches={ guest = [1, 1, 1, 1], host = [1, 1, 1, 1] },off";
        assert_eq!(tables.parse::<Sweep>().unwrap().count(), 2);
        assert_eq!("host=xeon-2017,'a..b.toml'".parse::<Sweep>().unwrap().count(), 2);
    }

    #[test]
    fn a_file_has_the_values_that_a_text_has() {
        let values = |toml: &str| {
            let table: toml::Table = toml.parse().unwrap();
            table["v"].as_array().unwrap().clone()
        };
        let text: Sweep = "mmu.nested_tlb=off,1..3,64".parse().unwrap();
        assert_eq!(Sweep::new("mmu.nested_tlb", values("v = ['off', '1..3', 64]")), Ok(text));
        let tables: Sweep = "mmu.l2=[{ sizes = ['4K'], sets = 1, ways = 4 }],[]".parse().unwrap();
        assert_eq!(Sweep::new("mmu.l2", values("v = [[{ sizes = ['4K'], sets = 1, ways = 4 }], []]")), Ok(tables));
        assert_eq!(Sweep::new("seed", vec![]), Err(SweepError::Form("seed=[]".to_owned())));
        assert_eq!(Sweep::new("scheme", vec![]), Err(SweepError::Scheme));
        assert_eq!(Sweep::new("seed", values("v = ['8..1']")), Err(SweepError::Range("8..1".to_owned())));
        assert_eq!(
            Sweep::new("seed", vec![Value::Integer(1); MOST_VALUES + 1]),
            Err(SweepError::Values("seed".to_owned()))
        );
    }

    #[test]
    fn what_is_no_sweep_is_named() {
        for (text, says) in [
            ("harts", "`harts`"),
            ("=1", "`=1`"),
            ("harts=", "`harts=`"),
            ("harts=1,", "`harts=1,`"),
            ("harts=8..1", "`8..1`"),
            ("harts=1..1000000000", "1024"),
            ("harts=-9223372036854775808..9223372036854775807", "1024"),
            ("scheme=native,nested", "--scheme"),
            ("mmu.l2=[1", "`[`"),
        ] {
            let error = text.parse::<Sweep>().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
