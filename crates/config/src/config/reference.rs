//! The reference of the configuration: what `pagewalk config` prints, and docs/configuration.md has as a table.

use super::Config;
use super::builder::known::host_keys;
use keys::KeyGroup;
use keys::{Declared, Row};
use toml::{Table, Value};

/// Groups that the reference has elsewhere than the echo of a report: behind keys of the same subject.
const BEHIND: [(&str, &str); 5] =
    [("swap", "host_memory"), ("balloon", "swap"), ("faulty", "segment"), ("disk", "faulty"), ("paging", "plic")];

/// Every key of the configuration, with those of `groups` and the host model's numbers.
///
/// # Panics
/// If a group has no defaults, which its type has.
#[must_use]
pub fn reference(groups: &[KeyGroup]) -> Vec<Row> {
    let defaults = Table::try_from(Config::default()).expect("a configuration is a table");
    let mut rows = keys::rows(&keys::keys("", Config::KEYS), &defaults);
    for (group, before) in BEHIND {
        let (moved, rest): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| is_of(row, group));
        rows = rest;
        let place = rows.iter().rposition(|row| is_of(row, before)).map_or(rows.len(), |place| place + 1);
        rows.splice(place..place, moved);
    }
    for group in groups {
        let table = group.filled(Table::new()).expect("keys have defaults");
        let defaults = Table::from_iter([(group.name.to_owned(), Value::Table(table))]);
        rows.extend(keys::rows(&keys::keys(group.name, group.keys), &defaults));
    }
    let numbers = keys::rows(&host_keys(), &Table::new()).into_iter();
    rows.extend(numbers.map(|row| Row { default: "the host model's".to_owned(), ..row }));
    rows
}

/// The reference as the table of docs/configuration.md.
#[must_use]
pub fn table(groups: &[KeyGroup]) -> String {
    let heading = "| key | default | values |\n|---|---|---|".to_owned();
    let rows = reference(groups);
    [heading].into_iter().chain(rows.iter().map(Row::markdown)).collect::<Vec<_>>().join("\n")
}

fn is_of(row: &Row, group: &str) -> bool {
    let begins = |key: &String| key.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    row.keys.first().is_some_and(begins)
}

#[cfg(test)]
mod tests {
    use super::super::builder::known;
    use super::*;

    #[test]
    fn every_key_is_told_of_once() {
        let mut told: Vec<String> = reference(&[]).into_iter().flat_map(|row| row.keys).collect();
        told.sort_unstable();
        let mut known: Vec<String> = known::keys_with(&[]).into_iter().map(|key| key.name).collect();
        known.sort_unstable();
        assert_eq!(told, known);
    }

    #[test]
    fn every_replacement_policy_is_told_of() {
        let rows = reference(&[]);
        let about = |key: &str| rows.iter().find(|row| row.keys.iter().any(|name| name == key)).unwrap().about;
        for facts in mmu::POLICIES {
            let about = about("mmu.replacement.l2");
            assert!(about.contains(&format!("`{}`: {}", facts.name, facts.summary)), "{}", facts.name);
            assert!(facts.refused_at_l1.is_none_or(|reason| about.contains(reason)), "{}", facts.name);
        }
        for facts in mmu::POLICIES {
            assert!(about("host.tlb.l2.replacement").contains(&format!("`{}`", facts.name)), "{}", facts.name);
        }
    }

    #[test]
    fn every_key_has_a_default() {
        let rows = reference(&[]);
        let default =
            |key: &str| rows.iter().find(|row| row.keys.iter().any(|name| name == key)).unwrap().default.clone();
        for row in &rows {
            assert!(!row.default.is_empty() && row.default != "``", "{:?}", row.keys);
        }
        assert_eq!(default("scheme"), "`native:4K`");
        assert_eq!(default("segment.filter.hashes"), "`auto, 4`");
    }
}
