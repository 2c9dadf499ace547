//! All keys that a configuration may have.

use super::Config;
use super::open::HOST;
use crate::host_model::HostModel;
use keys::{Declared, Key, KeyGroup};
use toml::{Table, Value};

/// Every key: the configuration's own, those of `groups`, and the numbers of the host model.
pub(in crate::config) fn keys_with(groups: &[KeyGroup]) -> Vec<Key> {
    let own = keys::keys("", Config::KEYS);
    let groups = groups.iter().flat_map(|group| keys::keys(group.name, group.keys));
    own.into_iter().chain(groups).chain(host_keys()).collect()
}

/// The numbers of the host model, as keys of a configuration.
pub(in crate::config) fn host_keys() -> Vec<Key> {
    keys::keys("host", HostModel::KEYS)
}

/// The first key of `table` that is none, and what is to be said of it.
pub(in crate::config) fn unknown_key(known: &[Key], table: &Table) -> Option<(String, String)> {
    let lists = keys::groups("host", HostModel::KEYS);
    let mut names = Table::new();
    for (key, value) in table {
        if key.starts_with(HOST) {
            // A list has the name of a group of keys.
            let name = name_of_number(key);
            if !(value.is_array() && lists.contains(&name)) {
                names.insert(name, value.clone());
            }
        } else {
            names.insert(key.clone(), value.clone());
        }
    }
    keys::unknown_key(known, &names)
}

/// The declared name of a number of the host model: an index names one of a list.
pub(in crate::config) fn name_of_number(key: &str) -> String {
    key.split('.').filter(|part| part.parse::<usize>().is_err()).collect::<Vec<_>>().join(".")
}

/// Puts a value into a configuration's table. Numbers of the host model have their dotted names there, because `host` itself is a text:
/// a table of them is taken apart, and names its model as `base`.
pub(in crate::config) fn insert(table: &mut Table, key: &str, value: Value) -> Result<(), String> {
    match value {
        Value::Table(inner) if key == "host" || key.starts_with(HOST) => {
            inner.into_iter().try_for_each(|(name, value)| match (key, name.as_str()) {
                ("host", "base") => insert(table, "host", value),
                _ => insert(table, &format!("{key}.{name}"), value),
            })
        }
        value if key.starts_with(HOST) => {
            table.insert(key.to_owned(), value);
            Ok(())
        }
        value => {
            let mut parent = table;
            let (path, last) = key.rsplit_once('.').map_or((None, key), |(path, last)| (Some(path), last));
            for part in path.into_iter().flat_map(|path| path.split('.')) {
                let entry = parent.entry(part).or_insert_with(|| Value::Table(Table::new()));
                let not_one = || format!("{key}: `{part}` has a value, and no keys of its own");
                parent = entry.as_table_mut().ok_or_else(not_one)?;
            }
            parent.insert(last.to_owned(), value);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<String> {
        unknown_key(&keys_with(&[]), &text.parse().unwrap()).map(|(_, said)| said)
    }

    #[test]
    fn every_key_is_known() {
        let everything = toml::to_string(&Config::default()).unwrap();
        assert_eq!(said(&everything), None);
        assert_eq!(said("mmu.walk_caches = { guest = [1, 1, 1, 1], gast = 1 }"), None, "its type says more");
        let known = keys_with(&[]);
        let has = |name: &str| known.iter().any(|key| key.name == name);
        assert!(has("mmu.l1d") && has("isa.zawrs") && has("segment.filter.bits") && has("host.prices.exit"));
    }

    /// The first column of each table of keys: names in backticks.
    fn documented() -> Vec<String> {
        let text = include_str!("../../../../../docs/configuration.md");
        let rows = text.split("| key |").skip(1).flat_map(|table| table.lines().take_while(|line| line.contains('|')));
        let names = |row: &str| -> Vec<String> {
            row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
        };
        rows.skip(1).flat_map(names).collect()
    }

    #[test]
    fn every_key_is_documented_and_nothing_else() {
        let documented = documented();
        let groups: Vec<KeyGroup> = schemes::registry::all().iter().filter_map(|scheme| scheme.keys()).collect();
        let known: Vec<String> = keys_with(&groups).into_iter().map(|key| key.name).collect();
        let lacks = |these: &[String], those: &[String]| -> Vec<String> {
            those.iter().filter(|key| !these.contains(key)).cloned().collect()
        };
        assert_eq!(lacks(&documented, &known), [""; 0], "docs/configuration.md has no row for these keys");
        assert_eq!(lacks(&known, &documented), [""; 0], "docs/configuration.md has rows for keys that do not exist");
    }

    #[test]
    fn an_unknown_key_finds_the_nearest_or_its_siblings() {
        for (text, near) in [
            ("mmu.walk_cache = 'off'", "mmu.walk_caches"),
            ("walk_caches = 'off'", "mmu.walk_caches"),
            ("mmmu.l2 = 1", "mmu.l2"),
            ("mmu.l3 = 1", "mmu.l2"),
            ("mmu.nested = 1", "mmu.nested_tlb"),
            ("hart = 1", "harts"),
            ("[isa]\nzihintpuase = true", "isa.zihintpause"),
            ("'host.tlb.l2.wyas' = 1", "host.tlb.l2.ways"),
            ("'host.tlb.l2.1.wyas' = 1", "host.tlb.l2.ways"),
            ("'host.price.exit' = 1", "host.prices.exit"),
        ] {
            let said = said(text).unwrap();
            assert!(said.ends_with(&format!("; did you mean `{near}`?")), "{said}");
        }
        let said = said("isa.v = true").unwrap();
        assert!(said.starts_with("unknown key `isa.v` (isa.c, isa.f, isa.d,") && !said.contains("harts"), "{said}");
    }
}
