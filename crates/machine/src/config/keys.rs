//! The names of all keys, to tell what an unknown one may have meant.

use super::{BalloonKeys, Config, GuestKeys, HugePages, MmuKeys, ReplacementKeys, SegmentKeys, SwapKeys};
use crate::refill::RefillName;
use crate::suggestion::{answer, distance};
use crate::units::{ByteSize, ReplacementName};
use toml::{Table, Value};

/// The first key of `table` that is none, as a text that says so; `None` if all exist.
pub(super) fn unknown_key(table: &Table) -> Option<String> {
    let known = all();
    // A value may have keys of its own, which belong to its type.
    let key = leaves(table).into_iter().find(|key| !known.iter().any(|name| name == key || within(key, name)))?;
    let inner: Vec<&str> = known.iter().filter(|name| within(name, &key)).map(String::as_str).collect();
    if !inner.is_empty() {
        return Some(format!("key `{key}` is a table, with the keys {}", inner.join(", ")));
    }
    let near = known.iter().filter_map(|name| slips(&key, name).map(|slips| (slips, name.as_str())));
    let near = near.min_by_key(|&(slips, _)| slips).map(|(_, name)| name);
    let siblings = known.iter().filter(|name| parent(name) == parent(&key)).map(String::as_str);
    Some(answer("key", &key, near, siblings))
}

/// Every key, dotted.
pub(super) fn all() -> Vec<String> {
    // A key without a default has a place in the table only if it has a value.
    let lru = Some(ReplacementName::default());
    let mmu = MmuKeys {
        l1d: Some(Vec::new()),
        l1i: Some(Vec::new()),
        l2: Some(Vec::new()),
        replacement: ReplacementKeys { l1d: lru, l1i: lru, l2: lru, nested_tlb: lru },
        refill: Some(RefillName::Hardware),
        ..MmuKeys::default()
    };
    let balloon = BalloonKeys { target: Some(ByteSize(1)), ..BalloonKeys::default() };
    let swap = SwapKeys { directory: Some("x".into()), size: Some(ByteSize(1)) };
    let segment = SegmentKeys { region: Some(ByteSize(1)), ..SegmentKeys::default() };
    let guest = GuestKeys { thp: Some(HugePages::Never) };
    let config = Config { mmu, balloon, swap, segment, guest, host_memory: Some(ByteSize(1)), ..Config::default() };
    leaves(&Table::try_from(config).expect("a configuration is a table"))
}

/// The dotted keys of whatever in `table` is no table itself.
fn leaves(table: &Table) -> Vec<String> {
    let mut keys = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => keys.extend(leaves(inner).iter().map(|inner| format!("{key}.{inner}"))),
            _ => keys.push(key.clone()),
        }
    }
    keys
}

/// Whether `key` lies within the value of `name`.
fn within(key: &str, name: &str) -> bool {
    key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
}

fn parent(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// The slips between two keys, part by part; a key without its tables is near as well.
fn slips(key: &str, name: &str) -> Option<usize> {
    if !key.contains('.') {
        return distance(key, name.rsplit('.').next().unwrap_or(name));
    }
    let (key, name): (Vec<_>, Vec<_>) = (key.split('.').collect(), name.split('.').collect());
    let parts = key.iter().zip(&name).map(|(key, name)| distance(key, name));
    (key.len() == name.len()).then(|| parts.sum()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<String> {
        unknown_key(&text.parse().unwrap())
    }

    #[test]
    fn every_key_is_known() {
        let everything = toml::to_string(&Config::default()).unwrap();
        assert_eq!(said(&everything), None);
        assert_eq!(said("mmu.walk_caches = { guest = [1, 1, 1, 1], gast = 1 }"), None, "its type says more");
        assert!(all().contains(&"mmu.l1d".to_owned()) && all().contains(&"isa.zawrs".to_owned()));
    }

    /// The first column of each table of keys: names in backticks, where `.f` after `isa.c` is `isa.f`.
    fn documented() -> Vec<String> {
        let text = include_str!("../../../../docs/configuration.md");
        let mut keys: Vec<String> = Vec::new();
        let rows = text.split("| key |").skip(1).flat_map(|table| table.lines().take_while(|line| line.contains('|')));
        for row in rows.skip(1) {
            let names = row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2);
            for name in names {
                let full = name.strip_prefix('.').map(|rest| format!("{}.{rest}", parent(keys.last().unwrap())));
                keys.push(full.unwrap_or_else(|| name.to_owned()));
            }
        }
        keys
    }

    #[test]
    fn every_key_is_documented_and_nothing_else() {
        let (documented, known) = (documented(), all());
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
        ] {
            let said = said(text).unwrap();
            assert!(said.ends_with(&format!("; did you mean `{near}`?")), "{said}");
        }
        let said = said("isa.v = true").unwrap();
        assert!(said.starts_with("unknown key `isa.v` (isa.c, isa.d, isa.f,") && !said.contains("harts"), "{said}");
    }
}
