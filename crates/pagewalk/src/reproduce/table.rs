//! A reproduction as text.

use super::claim::Verdict;
use super::figure::Filled;
use super::report::Reproduction;
use crate::text::paragraph::paragraph;
use crate::text::table::Table;
use std::fmt;

impl fmt::Display for Reproduction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let experiment = self.experiment;
        f.write_str(&paragraph("", "", &format!("{}. {}", experiment.title, experiment.citation)))?;
        f.write_str(&paragraph("", "", &experiment.note))?;
        for filled in &self.figures {
            let figure = filled.figure;
            let unit = if figure.unit.is_empty() { String::new() } else { format!(", {}", figure.unit) };
            writeln!(f, "\n{}{unit} ({})\n{}", figure.title, figure.source, table(filled).to_string().trim_end())?;
            f.write_str(&paragraph("", "", &figure.note))?;
        }
        writeln!(f, "\nClaims, with what was measured and why it is so")?;
        for judged in &self.claims {
            let (claim, indent) = (judged.claim, " ".repeat(INDENT));
            let verdict = format!("{:INDENT$}", judged.verdict);
            writeln!(f)?;
            f.write_str(&paragraph(&verdict, &indent, &format!("{} ({})", claim.claim, claim.source)))?;
            f.write_str(&paragraph(&indent, &indent, &judged.evidence))?;
            f.write_str(&paragraph(&indent, &indent, &claim.explanation))?;
        }
        writeln!(
            f,
            "\nOf {} claims {} hold, {} hold in direction, {} do not.",
            self.claims.len(),
            self.count(Verdict::Holds),
            self.count(Verdict::InDirection),
            self.count(Verdict::DoesNotHold)
        )
    }
}

/// Where claims begin, behind their verdicts.
const INDENT: usize = 20;

/// A column for the paper's numbers and one for ours of each series.
fn table(filled: &Filled) -> Table {
    let figure = filled.figure;
    let mut headings = vec![figure.x_label.clone()];
    let any_paper = filled.columns.iter().any(|column| !column.paper.is_empty());
    for column in &filled.columns {
        let name = &column.series.name;
        for (whose, numbers) in [("paper", &column.paper), ("ours", &column.ours)] {
            if !numbers.is_empty() {
                headings.push(if any_paper { format!("{name}, {whose}") } else { name.clone() });
            }
        }
    }
    let mut table = Table::new(headings);
    for (row, x) in filled.x.iter().enumerate() {
        let mut cells = vec![x.as_str().map_or_else(|| x.to_string(), ToOwned::to_owned)];
        for numbers in filled.columns.iter().flat_map(|column| [&column.paper, &column.ours]) {
            if let Some(number) = numbers.get(row) {
                cells.push(number.map_or("-".to_owned(), |number| cell(number, figure.digits, &figure.unit)));
            }
        }
        table.row(cells);
    }
    table
}

/// A number with its unit, if that is short enough for each cell.
fn cell(number: f64, digits: usize, unit: &str) -> String {
    let text = format!("{number:.digits$}");
    // There is no such number as -0.0.
    let text = if text.trim_start_matches(['-', '0', '.']).is_empty() {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    };
    if unit == "%" { format!("{text} %") } else { text }
}
