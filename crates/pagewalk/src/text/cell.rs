//! Cells of tables: the text that people read, and the exact value that programs read.

use serde_json::Value;

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    shown: String,
    exact: Value,
}

impl Cell {
    /// A cell that shows `shown`, and that a program reads as `exact`.
    pub fn new(shown: impl Into<String>, exact: impl Into<Value>) -> Self {
        Self { shown: shown.into(), exact: exact.into() }
    }

    /// A cell of words.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { exact: text.as_str().into(), shown: text }
    }

    /// A cell of words that the table for people leaves empty, because the line above has the same.
    pub fn repeated(text: impl Into<String>) -> Self {
        Self { shown: String::new(), exact: Value::String(text.into()) }
    }

    /// A whole number.
    #[must_use]
    pub fn count(count: u64) -> Self {
        Self::new(count.to_string(), count)
    }

    /// A number with this many digits after the point for people.
    #[must_use]
    pub fn fixed(number: f64, digits: usize) -> Self {
        Self::new(format!("{number:.digits$}"), number)
    }

    /// A number that people read in another unit, `scale` of which are one.
    #[must_use]
    pub fn scaled(number: f64, scale: f64, digits: usize) -> Self {
        Self::new(format!("{:.digits$}", number * scale), number)
    }

    /// A count in millions for people.
    #[must_use]
    pub fn millions(count: u64) -> Self {
        Self::new(format!("{:.1}", count as f64 / 1e6), count)
    }

    /// A ratio that people read as a percentage with a sign.
    #[must_use]
    pub fn change(ratio: f64) -> Self {
        Self::new(format!("{:+.1} %", 100.0 * ratio), ratio)
    }

    /// A ratio that people read as a percentage with this many digits after the point.
    #[must_use]
    pub fn percent(ratio: f64, digits: usize) -> Self {
        Self::new(format!("{:.digits$} %", 100.0 * ratio), ratio)
    }

    /// A cell without a value, marked for people.
    #[must_use]
    pub fn missing() -> Self {
        Self::new("-", Value::Null)
    }

    /// A value that only programs read: its column is not shown.
    #[must_use]
    pub fn exact(value: impl Into<Value>) -> Self {
        Self::new("", value)
    }

    /// What people read.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// What people read where the line above is not beside it.
    #[must_use]
    pub fn alone(&self) -> &str {
        match &self.exact {
            Value::String(text) if self.shown.is_empty() => text,
            _ => &self.shown,
        }
    }

    /// What programs read: a string, a number, or null.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.exact
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::count(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_rounded_numbers_and_programs_exact_ones() {
        let cell = Cell::millions(1_234_567);
        assert_eq!((cell.shown(), cell.value()), ("1.2", &Value::from(1_234_567)));
        let cell = Cell::change(0.12345);
        assert_eq!((cell.shown(), cell.value()), ("+12.3 %", &Value::from(0.12345)));
        assert_eq!((Cell::missing().shown(), Cell::missing().value()), ("-", &Value::Null));
    }

    #[test]
    fn a_repeated_cell_has_its_text_where_it_stands_alone() {
        let cell = Cell::repeated("gups");
        assert_eq!((cell.shown(), cell.alone()), ("", "gups"));
    }
}
