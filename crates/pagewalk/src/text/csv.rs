//! Tables as comma-separated values (RFC 4180, with lines that end in a newline): names of columns with units, and exact numbers.

use super::table::Table;
use serde_json::Value;
use std::io;

/// The name of the column that says which table a line is of.
const TABLE: &str = "table";

/// The tables as one. Where there are several, the first column names the table of each line, and the others are those of all tables. A cell
/// of a column that a table does not have is empty, as is one without a value.
///
/// # Errors
/// If a line cannot be written.
pub(crate) fn csv(tables: &[Table]) -> io::Result<Vec<u8>> {
    let mut names: Vec<&str> = Vec::new();
    for column in tables.iter().flat_map(Table::columns) {
        if !names.contains(&column.name()) {
            names.push(column.name());
        }
    }
    let several = tables.len() > 1;
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(several.then_some(TABLE).into_iter().chain(names.iter().copied()))?;
    for table in tables {
        let place = |name: &&str| table.columns().iter().position(|column| column.name() == *name);
        let places: Vec<Option<usize>> = names.iter().map(place).collect();
        for row in table.rows() {
            let cells = places.iter().map(|place| place.map_or_else(String::new, |index| text(row[index].value())));
            writer.write_record(several.then(|| table.name().to_owned()).into_iter().chain(cells))?;
        }
    }
    writer.into_inner().map_err(::csv::IntoInnerError::into_error)
}

/// A value in a cell; an empty one where there is none.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::Cell;
    use super::super::table::Column;
    use super::*;

    #[test]
    fn numbers_are_exact_and_text_is_quoted() {
        let mut table =
            Table::new("t", [Column::new("work", "work"), Column::new("M cycles", "cycles"), Column::exact("host")]);
        table.row([Cell::text("a, \"b\"\nc"), Cell::millions(1_234_567), Cell::exact("h")]);
        table.row([Cell::repeated("d"), Cell::missing(), Cell::exact(0.1)]);
        let text = String::from_utf8(csv(&[table]).unwrap()).unwrap();
        assert_eq!(text, "work,cycles,host\n\"a, \"\"b\"\"\nc\",1234567,h\nd,,0.1\n");
    }

    #[test]
    fn several_tables_are_one_with_the_columns_of_all() {
        let mut first = Table::new("first", [("a", "a"), ("b", "b")]);
        first.row(["1", "2"]);
        let mut second = Table::new("second", [("b", "b"), ("c", "c")]);
        second.row(["3", "4"]);
        let text = String::from_utf8(csv(&[first, second]).unwrap()).unwrap();
        assert_eq!(text, "table,a,b,c\nfirst,1,2,\nsecond,,3,4\n");
    }
}
