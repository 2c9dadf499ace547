//! Lines as one flat table, as CSV: a row for each line, and a column for each number, text and truth value of any of them.
//!
//! Names are those of `to_pandas()` of the Python package (`python/pagewalk/_table.py`): the names of nested keys with dots between. Columns are in the order in which
//! lines have them first. A list is no value of a cell and left out; but a setting is always one cell, with a list or a table as JSON.

use crate::error::Failure;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The key of a line whose keys are names of the configuration, which have dots themselves.
const SETTINGS: &str = "settings";

/// A line by the names of its columns.
type Row = Map<String, Value>;

/// The table of the lines of a sweep.
///
/// # Errors
/// [`Failure::Usage`], naming the line: it is no object of JSON.
pub(super) fn csv(lines: &str) -> Result<Vec<u8>, Failure> {
    let mut rows: Vec<Row> = Vec::new();
    for (number, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |_| Failure::Usage(format!("line {}: not a line of sweep", number + 1));
        let line: Map<String, Value> = serde_json::from_str(line).map_err(wrong)?;
        let mut row = Row::new();
        flatten("", line, &mut row);
        rows.push(row);
    }
    let names = names(&rows);
    // A record without a field would be one with an empty field.
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |error: &dyn std::fmt::Display| Failure::Run(format!("a table cannot be written: {error}"));
    writer.write_record(&names).map_err(|error| failed(&error))?;
    for row in &rows {
        let cells = names.iter().map(|name| row.get(name).map_or_else(String::new, text));
        writer.write_record(cells).map_err(|error| failed(&error))?;
    }
    writer.into_inner().map_err(|error| failed(&error))
}

fn flatten(prefix: &str, object: Map<String, Value>, row: &mut Row) {
    for (key, value) in object {
        let name = format!("{prefix}{key}");
        match value {
            Value::Object(settings) if name == SETTINGS => {
                row.extend(settings.into_iter().map(|(key, value)| (format!("{SETTINGS}.{key}"), value)));
            }
            Value::Object(inner) => flatten(&format!("{name}."), inner, row),
            Value::Array(_) => {}
            value => {
                row.insert(name, value);
            }
        }
    }
}

/// The columns of all rows. What is null in one row can be a group of keys in another, and is then no column.
fn names(rows: &[Row]) -> Vec<String> {
    let mut seen: HashSet<&str> = HashSet::new();
    let names: Vec<&str> =
        rows.iter().flat_map(Row::keys).map(String::as_str).filter(|name| seen.insert(*name)).collect();
    let is_setting = |name: &str| name.strip_prefix(SETTINGS).is_some_and(|key| key.starts_with('.'));
    let nested = names.iter().filter(|name| !is_setting(name));
    let groups: HashSet<&str> = nested.flat_map(|name| name.match_indices('.').map(move |(end, _)| &name[..end])).collect();
    names.iter().filter(|name| !groups.contains(*name)).map(|name| (*name).to_owned()).collect()
}

/// A value in a cell; an empty one where there is none.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(lines: &str) -> String {
        String::from_utf8(csv(lines).unwrap()).unwrap()
    }

    #[test]
    fn nested_keys_are_columns_and_all_rows_have_all() {
        let lines = r#"
            {"scheme": "native", "tlb": {"l2_misses": 3}, "shadow": null, "notes": ["a"], "exact": true, "overhead": null}
            {"scheme": "a, b", "tlb": {"l2_misses": 18446744073709551615}, "shadow": {"work": {"steps": 0.25}}, "exact": false}
        "#;
        let expected = "scheme,tlb.l2_misses,exact,overhead,shadow.work.steps\nnative,3,true,,\n\"a, b\",18446744073709551615,false,,0.25\n";
        assert_eq!(table(lines), expected);
    }

    #[test]
    fn a_setting_is_one_cell_whatever_it_is() {
        let lines = concat!(
            r#"{"settings": {"host": "xeon-2017", "mmu.l2": [{"sets": 4}]}, "x": 1}"#,
            "\n",
            r#"{"settings": {"host.tlb.l2.ways": 8, "mmu.walk_caches": {"guest": [1]}}, "x": 2}"#,
            "\n"
        );
        let expected = concat!(
            "settings.host,settings.mmu.l2,x,settings.host.tlb.l2.ways,settings.mmu.walk_caches\n",
            "xeon-2017,\"[{\"\"sets\"\":4}]\",1,,\n",
            ",,2,8,\"{\"\"guest\"\":[1]}\"\n"
        );
        assert_eq!(table(lines), expected);
    }

    #[test]
    fn what_is_no_line_is_named() {
        assert_eq!(csv("{}\n[]").unwrap_err().line(), "line 2: not a line of sweep");
        assert_eq!(table(""), "");
    }
}
