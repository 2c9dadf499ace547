//! Text tables: columns as wide as they need to be, numbers to the right.

use std::fmt;

/// A table with a line of headings.
#[derive(Clone, Debug, Default)]
pub struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new<T: Into<String>>(headings: impl IntoIterator<Item = T>) -> Self {
        Self { headings: headings.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row; cells that it lacks stay empty, those beyond the headings are not shown.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let mut row: Vec<String> = cells.into_iter().map(Into::into).collect();
        row.resize(self.headings.len(), String::new());
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = |index: usize| self.rows.iter().map(move |row| row[index].as_str());
        let layout: Vec<(usize, bool)> = (0..self.headings.len())
            .map(|index| {
                let width = column(index).chain([self.headings[index].as_str()]).map(width).max().unwrap_or(0);
                let mut filled = column(index).filter(|cell| !cell.is_empty()).peekable();
                (width, filled.peek().is_some() && filled.all(is_number))
            })
            .collect();
        for row in std::iter::once(&self.headings).chain(&self.rows) {
            let mut line = String::new();
            for (cell, &(columns, right)) in row.iter().zip(&layout) {
                let space = " ".repeat(columns - width(cell));
                let (before, after) = if right { (space.as_str(), "") } else { ("", space.as_str()) };
                line += &format!("{before}{cell}{after}  ");
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

fn width(cell: &str) -> usize {
    cell.chars().count()
}

/// Whether a cell reads as a number, with a unit if there is one, or marks a missing one.
fn is_number(cell: &str) -> bool {
    let digits = cell.trim_start_matches(['+', '-']);
    digits.starts_with(|c: char| c.is_ascii_digit()) || matches!(cell, "-" | "failed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align() {
        let mut table = Table::new(["scheme", "cycles", "overhead"]);
        table.row(["native", "100", "-"]);
        table.row(["nested", "12500", "+12.5 %"]);
        table.row(["short"]);
        let expected = "scheme  cycles  overhead\nnative     100         -\nnested   12500   +12.5 %\nshort\n";
        assert_eq!(table.to_string(), expected);
    }
}
