//! What a report was measured on: the host's model with the sources of its numbers, and the configuration.

use super::document::{Block, DataTable, Section};
use config::FootprintName;
use config::host_model::HostModel;
use serde_json::Value;

/// The section on hosts and configuration; that is null where a report has none.
pub(super) fn section(hosts: &[&Value], config: &Value) -> Section {
    let mut blocks: Vec<Block> = hosts.iter().filter_map(|host| model(host)).collect();
    if config.is_object() {
        let mut table = DataTable::new("Configuration", &["key", "value"]);
        flatten("", config, &mut table);
        blocks.push(Block::Folded { summary: "Configuration in full".to_owned(), table });
    }
    Section {
        id: "host".into(),
        title: if config.is_object() { "Host model and configuration" } else { "Host models" }.to_owned(),
        intro: vec![
            "Simulated time is in cycles, at the costs of the host model. Each of its numbers has a source, or is said to be assumed.".to_owned(),
        ],
        blocks,
    }
}

/// The model as its file has it; where no shipped file has these numbers, as the report has it.
fn model(host: &Value) -> Option<Block> {
    let name = host.get("name")?.as_str()?;
    // A configuration may have changed numbers of a model: what its file says is then not what was run.
    let known = HostModel::names().any(|known| known == name)
        && HostModel::load(name).is_ok_and(|model| {
            let used = |footprint| serde_json::json!(model.as_used(footprint));
            used(FootprintName::Off) == *host || used(FootprintName::On) == *host
        });
    let table = match HostModel::text(name).ok().filter(|_| known) {
        Some(text) => sourced(&text),
        None => {
            let mut table = DataTable::new("Host model", &["key", "value"]);
            flatten("", host, &mut table);
            table
        }
    };
    Some(Block::Folded { summary: format!("Host model {name}"), table })
}

/// The keys of a model's file with the comments above them.
fn sourced(text: &str) -> DataTable {
    let mut table = DataTable::new("Host model", &["key", "value", "source"]);
    let (mut heading, mut source, mut lines) = (String::new(), Vec::new(), text.lines());
    let mut after_key = false;
    while let Some(line) = lines.next() {
        if let Some(comment) = line.trim().strip_prefix('#') {
            if after_key {
                source.clear();
                after_key = false;
            }
            source.push(comment.trim());
        } else if let Some(name) = line.trim().strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            heading = format!("{name}.");
            source.clear();
        } else if let Some((key, value)) = line.split_once('=') {
            let mut value = value.trim().to_owned();
            if value == "[" {
                for line in lines.by_ref() {
                    value += line.trim();
                    if line.trim() == "]" {
                        break;
                    }
                    value.push(' ');
                }
            }
            table.row([format!("{heading}{}", key.trim()), value, source.join(" ")]);
            after_key = true;
        }
    }
    table
}

/// A line for each key that is no table itself.
fn flatten(prefix: &str, value: &Value, table: &mut DataTable) {
    let Value::Object(keys) = value else { return };
    for (key, value) in keys {
        let name = format!("{prefix}{key}");
        match value {
            Value::Object(_) => flatten(&format!("{name}."), value, table),
            Value::Null => table.row([name, "default".to_owned()]),
            Value::String(text) => table.row([name, text.clone()]),
            other => table.row([name, other.to_string()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_shipped_model_has_its_source_beside_it() {
        for name in HostModel::names() {
            let table = sourced(&HostModel::text(name).unwrap());
            assert!(table.rows.len() > 30, "{name}");
            for row in table.rows.iter().filter(|row| row[0] != "name") {
                assert!(!row[1].is_empty() && !row[2].is_empty(), "{name}: {row:?}");
            }
        }
    }

    #[test]
    fn keys_within_keys_are_one_line_each() {
        let mut table = DataTable::new("", &["key", "value"]);
        flatten("", &serde_json::json!({ "a": { "b": 1, "c": null }, "d": [1, 2], "e": "x" }), &mut table);
        let rows: Vec<String> = table.rows.iter().map(|row| row.join("=")).collect();
        assert_eq!(rows, ["a.b=1", "a.c=default", "d=[1,2]", "e=x"]);
    }
}
