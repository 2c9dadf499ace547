//! Lines as one flat table, as CSV: a row for each line, and a column for each number, text and truth value of any of them.
//!
//! Names are those of `to_pandas()` of the Python package (`python/pagewalk/_table.py`): the names of nested keys with dots between. Columns are in the order of the keys
//! of a line, and settings in that of the alphabet. A list is no value of a cell and left out; but a setting is always one cell, with a list or a table as JSON.

use crate::error::Failure;
use crate::text::csv::text;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

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
                // Its place, also where it is empty.
                row.insert(name, Value::Null);
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

/// The columns of all rows. What is null in one row can be a group of keys in another: it is then no column, and its keys have its place.
fn names(rows: &[Row]) -> Vec<String> {
    // By the name of a key or group: when it was seen first. Equal lines have equal columns, whatever their order.
    let mut ranks: HashMap<&str, usize> = HashMap::new();
    let mut groups: HashSet<&str> = HashSet::from([SETTINGS]);
    for name in rows.iter().flat_map(Row::keys) {
        for group in groups_of(name) {
            groups.insert(group);
            let next = ranks.len();
            ranks.entry(group).or_insert(next);
        }
        let next = ranks.len();
        ranks.entry(name).or_insert(next);
    }
    let place = |name: &str| -> (Vec<usize>, String) {
        let mut place: Vec<usize> = groups_of(name).map(|group| ranks[group]).collect();
        if is_setting(name) {
            return (place, name.to_owned());
        }
        place.push(ranks[name]);
        (place, String::new())
    };
    let mut names: Vec<&str> = ranks.keys().copied().filter(|name| !groups.contains(name)).collect();
    names.sort_by_cached_key(|name| place(name));
    names.into_iter().map(str::to_owned).collect()
}

fn is_setting(name: &str) -> bool {
    name.strip_prefix(SETTINGS).is_some_and(|key| key.starts_with('.'))
}

/// The groups of keys that a column is in, the outermost first.
fn groups_of(name: &str) -> impl Iterator<Item = &str> {
    let most = if is_setting(name) { 1 } else { usize::MAX };
    name.match_indices('.').map(|(end, _)| &name[..end]).take(most)
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
        let expected = "scheme,tlb.l2_misses,shadow.work.steps,exact,overhead\nnative,3,,true,\n\"a, b\",18446744073709551615,0.25,false,\n";
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
            "settings.host,settings.host.tlb.l2.ways,settings.mmu.l2,settings.mmu.walk_caches,x\n",
            "xeon-2017,,\"[{\"\"sets\"\":4}]\",,1\n",
            ",8,,\"{\"\"guest\"\":[1]}\",2\n"
        );
        assert_eq!(table(lines), expected);
        let (first, second) = lines.split_once('\n').unwrap();
        let names = |table: String| table.lines().next().unwrap().to_owned();
        assert_eq!(
            names(table(&format!("{second}{first}\n"))),
            names(table(lines)),
            "the order of lines does not matter"
        );
        assert_eq!(table(r#"{"settings": {}, "x": 1}"#), "x\n1\n");
    }

    #[test]
    fn what_is_no_line_is_named() {
        assert_eq!(csv("{}\n[]").unwrap_err().line(), "line 2: not a line of sweep");
        assert_eq!(table(""), "");
    }
}
