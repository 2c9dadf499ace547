//! Figures that a guest reports itself (`PAGEWALK_FIGURE`): numbers that only it knows.

use std::collections::BTreeMap;

/// Names and numbers that a guest has reported.
///
/// A guest chooses both, so that their number is limited. What it reports under further names is counted and dropped.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    values: BTreeMap<String, u64>,
    dropped: u64,
}

impl Figures {
    /// The most names.
    pub const MOST: usize = 256;

    /// A figure has this value from now on.
    pub(crate) fn set(&mut self, name: String, value: u64) {
        if self.values.len() < Self::MOST || self.values.contains_key(&name) {
            self.values.insert(name, value);
        } else {
            self.dropped += 1;
        }
    }

    /// Each figure's latest value, by name.
    #[must_use]
    pub const fn values(&self) -> &BTreeMap<String, u64> {
        &self.values
    }

    /// How many reports had a name too many.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::Figures;

    #[test]
    fn the_latest_value_of_a_name_counts_and_names_are_limited() {
        let mut figures = Figures::default();
        for number in 0..Figures::MOST as u64 + 3 {
            figures.set(format!("figure {number}"), number);
        }
        figures.set("figure 1".to_owned(), 100);
        assert_eq!((figures.values().len(), figures.dropped()), (Figures::MOST, 3));
        assert_eq!(figures.values()["figure 1"], 100);
    }
}
