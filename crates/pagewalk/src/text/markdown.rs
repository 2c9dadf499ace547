//! Tables as GitHub's Markdown has them.

use super::layout::is_number;
use super::table::{Caption, Table};

/// The table, with its caption as a paragraph above it.
pub(crate) fn table(table: &Table) -> String {
    let caption = match table.caption() {
        Caption::None => String::new(),
        Caption::Above(text) | Caption::Below(text) => paragraph(text),
    };
    let seen: Vec<usize> =
        (0..table.columns().len()).filter(|&index| table.columns()[index].heading().is_some()).collect();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let headings = seen.iter().map(|&index| cell(table.columns()[index].heading().unwrap_or_default()));
    let rules = seen.iter().map(|&index| {
        let mut filled = table.rows().iter().map(|row| row[index].alone()).filter(|text| !text.is_empty()).peekable();
        let numbers = filled.peek().is_some() && filled.all(is_number);
        if numbers { "---:" } else { "---" }.to_owned()
    });
    let mut text = caption + &line(headings.collect()) + &line(rules.collect());
    for row in table.rows() {
        text += &line(seen.iter().map(|&index| cell(row[index].alone())).collect());
    }
    text
}

/// Running text, with an empty line below it; nothing if it has no words.
pub(crate) fn paragraph(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!("{}\n\n", text.replace('<', "&lt;")) }
}

/// The text of a cell, in which nothing is markup.
fn cell(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => escaped.push(' '),
            '<' => escaped += "&lt;",
            '\\' | '|' | '*' | '`' | '[' | '~' => escaped.extend(['\\', c]),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_caption_above_and_its_numbers_to_the_right() {
        let mut sample = Table::new("t", [("work", "work"), ("cycles", "cycles")])
            .captioned(Caption::Below("by host h\n".to_owned()));
        sample.row(["a|b <i>", "12"]);
        assert_eq!(table(&sample), "by host h\n\n| work | cycles |\n| --- | ---: |\n| a\\|b &lt;i> | 12 |\n");
    }
}
