//! Whether the values of a table are in the ranges of their keys.

use crate::tree::{Key, value_at};
use toml::Table;

/// A value out of its range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutOfRange {
    /// The key.
    pub key: String,
    /// What is wrong.
    pub problem: String,
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
