//! Tables for people: columns as wide as they need to be, numbers to the right.
//!
//! A table that is too wide for a terminal has its rows as columns. If there are more of these than fit, they are in several blocks. Only where a
//! single one does not fit are its cells broken into lines.

use super::cell::Cell;
use super::table::{Column, Shape, Table};
use std::fmt;

/// Spaces between columns.
const GAP: usize = 2;

/// Columns of the names in a block of [`Shape::Blocks`].
const NAMES: usize = 28;

/// A line of cells.
type Line = Vec<String>;

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(self, None))
    }
}

/// The table without its caption, in lines of at most `width` columns.
pub(crate) fn text(table: &Table, width: Option<usize>) -> String {
    if table.shape() == Shape::Blocks {
        return blocks(table, width);
    }
    let (headings, rows) = shown(table);
    let lines: Vec<Line> = std::iter::once(headings).chain(rows).collect();
    let natural = aligned(&lines, |_, column| column.iter().all(|cell| is_number(cell)));
    match width {
        Some(width) if natural.lines().any(|line| columns(line) > width) => turned(table, width),
        _ => natural,
    }
}

/// `text` with its lines broken between words where they are longer than `width`. A line goes on with the indent that it began with.
pub(crate) fn folded(text: &str, width: usize) -> String {
    let mut folded = String::new();
    for line in text.split_inclusive('\n') {
        if columns(line.trim_end()) <= width {
            folded += line;
            continue;
        }
        let indent: String = line.chars().take_while(|&c| c == ' ').take(width / 2).collect();
        for part in broken(line.trim(), width - indent.len()) {
            folded += &format!("{indent}{part}\n");
        }
    }
    folded
}

/// Headings and cells that people see.
fn shown(table: &Table) -> (Line, Vec<Line>) {
    let headings = table.columns().iter().filter_map(|column| column.heading().map(str::to_owned)).collect();
    let row = |row: &Vec<Cell>| {
        let cells = row.iter().zip(table.columns()).filter(|(_, column)| column.heading().is_some());
        cells.map(|(cell, _)| cell.shown().to_owned()).collect()
    };
    (headings, table.rows().iter().map(row).collect())
}

/// Lines of cells with their columns aligned: to the right if `right` says so of a column's index and its filled cells below the first line.
fn aligned(lines: &[Line], right: impl Fn(usize, &[&str]) -> bool) -> String {
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let layout: Vec<(usize, bool)> = (0..count)
        .map(|index| {
            let column = || lines.iter().filter_map(move |line| line.get(index)).map(String::as_str);
            let filled: Vec<&str> = column().skip(1).filter(|cell| !cell.is_empty()).collect();
            (column().map(columns).max().unwrap_or(0), !filled.is_empty() && right(index, &filled))
        })
        .collect();
    let mut text = String::new();
    for cells in lines {
        let mut line = String::new();
        for (cell, &(width, right)) in cells.iter().zip(&layout) {
            let space = " ".repeat(width - columns(cell));
            let (before, after) = if right { (space.as_str(), "") } else { ("", space.as_str()) };
            line += &format!("{before}{cell}{after}{:GAP$}", "");
        }
        text += &format!("{}\n", line.trim_end());
    }
    text
}

/// The table with a line for each column, and as many rows beside each other as fit.
fn turned(table: &Table, width: usize) -> String {
    let seen = |(_, column): &(usize, &Column)| column.heading().is_some();
    let indices: Vec<usize> = table.columns().iter().enumerate().filter(seen).map(|(index, _)| index).collect();
    let headings: Line =
        indices.iter().map(|&index| table.columns()[index].heading().unwrap_or_default().to_owned()).collect();
    let records: Vec<Line> =
        table.rows().iter().map(|row| indices.iter().map(|&index| row[index].alone().to_owned()).collect()).collect();
    let widest = |line: &Line| line.iter().map(|cell| columns(cell)).max().unwrap_or(0);
    let names = widest(&headings);
    let mut blocks: Vec<String> = Vec::new();
    let mut rest = records.as_slice();
    while !rest.is_empty() {
        let mut taken = 0;
        let mut used = names;
        while let Some(record) = rest.get(taken)
            && used + GAP + widest(record) <= width
        {
            used += GAP + widest(record);
            taken += 1;
        }
        if taken == 0 {
            blocks.push(record(&headings, &rest[0], width));
        } else {
            let line = |index: usize| {
                let cells = rest[..taken].iter().map(|record| record[index].clone());
                std::iter::once(headings[index].clone()).chain(cells).collect()
            };
            let lines: Vec<Line> = (0..headings.len()).map(line).collect();
            // A table of one row reads as text beside its names.
            blocks.push(aligned(&lines, |index, _| index > 0 && records.len() > 1));
        }
        rest = &rest[taken.max(1)..];
    }
    blocks.join("\n")
}

/// One row that is too wide: each name beside its cell, which goes on below.
fn record(headings: &Line, cells: &Line, width: usize) -> String {
    let names = headings.iter().map(|heading| columns(heading)).max().unwrap_or(0).min(width / 2);
    let rest = width.saturating_sub(names + GAP).max(1);
    let mut lines: Vec<Line> = Vec::new();
    for (heading, cell) in headings.iter().zip(cells) {
        let (left, right) = (broken(heading, names), broken(cell, rest));
        for index in 0..left.len().max(right.len()) {
            let part = |parts: &Vec<String>| parts.get(index).cloned().unwrap_or_default();
            lines.push(vec![part(&left), part(&right)]);
        }
    }
    aligned(&lines, |_, _| false)
}

/// A block for each row.
fn blocks(table: &Table, width: Option<usize>) -> String {
    let (headings, rows) = shown(table);
    let block = |row: &Line| {
        let mut text = format!("{}\n", row.first().map_or("", String::as_str));
        for (heading, cell) in headings.iter().zip(row).skip(1) {
            let parts = width
                .map_or_else(|| vec![cell.clone()], |width| broken(cell, width.saturating_sub(NAMES + GAP).max(1)));
            for (index, part) in parts.iter().enumerate() {
                let heading = if index == 0 { heading } else { "" };
                text += format!("{:GAP$}{heading:<NAMES$}{part}", "").trim_end();
                text.push('\n');
            }
        }
        text
    };
    rows.iter().map(block).collect::<Vec<_>>().join("\n")
}

/// `text` in lines of at most `width` columns: broken between words, and within a word that is longer than a line. At least one line.
fn broken(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word;
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && columns(last) + 1 + columns(word) <= width {
            last.push(' ');
            last.push_str(word);
            continue;
        }
        if !last.is_empty() {
            lines.push(String::new());
        }
        while let Some((cut, _)) = word.char_indices().nth(width) {
            *lines.last_mut().expect("there is always a line") = word[..cut].to_owned();
            lines.push(String::new());
            word = &word[cut..];
        }
        lines.last_mut().expect("there is always a line").push_str(word);
    }
    lines
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Whether a cell reads as a number, with a unit if there is one, or marks a missing one.
pub(super) fn is_number(cell: &str) -> bool {
    let digits = cell.trim_start_matches(['+', '-']);
    digits.starts_with(|c: char| c.is_ascii_digit()) || matches!(cell, "-" | "failed")
}

#[cfg(test)]
mod tests;
