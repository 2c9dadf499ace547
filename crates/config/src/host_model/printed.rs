//! A host model as text, with where each number comes from.

use super::base::{self, Resolved};
use super::{HostModel, HostModelError};
use keys::{Declared, Key};
use std::fmt::Write;
use toml::{Table, Value};

impl HostModel {
    /// The model `name` as a file that has all of it: its own file if it has no base, with the sources that stand there; else every key with
    /// what it means and the model that its value comes from.
    ///
    /// # Errors
    /// [`HostModelError`], naming the file and the key.
    pub fn printed(name: &str) -> Result<String, HostModelError> {
        let text = Self::text(name)?;
        let model = Self::parse(name, &text)?;
        Ok(match base::resolve(name, &text)? {
            Some(resolved) => print(name, &model, &resolved),
            None => text,
        })
    }
}

fn print(name: &str, model: &HostModel, resolved: &Resolved) -> String {
    let table = Table::try_from(model).expect("a model is a table");
    let known = keys::keys("", HostModel::KEYS);
    let source = |key: &str| {
        let own =
            resolved.changed.iter().any(|(changed, _)| changed == key || begins(changed, key) || begins(key, changed));
        if own { name } else { resolved.base_name.as_str() }
    };
    let mut text = format!(
        "# {name}, over {}: `pagewalk hosts {}` has the sources of its numbers.\n",
        resolved.base_name, resolved.base_name
    );
    for (key, value) in table.iter().filter(|(_, value)| !value.is_table()) {
        line(&mut text, key, key, value, &known, source(key));
    }
    for (section, inner) in table.iter().filter_map(|(key, value)| Some((key, value.as_table()?))) {
        let _ = writeln!(text, "\n[{section}]");
        for (key, value) in inner {
            let full = format!("{section}.{key}");
            line(&mut text, key, &full, value, &known, source(&full));
        }
    }
    text
}

/// A key with its value, under what it means and the model that the value is from.
fn line(text: &mut String, key: &str, full: &str, value: &Value, known: &[Key], source: &str) {
    let facts = known.iter().find(|key| key.name == full).map(|key| key.facts);
    let about = facts.map_or_else(String::new, |facts| format!("; {}", facts.about));
    let _ = writeln!(text, "# {source}{about}\n{key} = {value}");
}

/// Whether `key` lies within `group`.
fn begins(key: &str, group: &str) -> bool {
    key.strip_prefix(group).is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use keys::value_at;

    #[test]
    fn what_is_printed_is_the_same_model() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mine.toml");
        std::fs::write(&path, "base = 'xeon-2017'\nname = 'mine'\n[tlb]\nl2.ways = 8\nnested_tlb = 4\n").unwrap();
        let path = path.to_str().unwrap();
        let printed = HostModel::printed(path).unwrap();
        assert_eq!(HostModel::parse("printed", &printed).unwrap(), HostModel::load(path).unwrap());
        assert!(printed.contains("mine.toml; entries of the nested TLB"), "{printed}");
        assert!(value_at(&printed.parse().unwrap(), "prices.exit").is_some());
    }
}
