//! A reproduction as text and tables.

use super::claim::Verdict;
use super::figure::Filled;
use super::report::Reproduction;
use crate::output::Printer;
use crate::text::cell::Cell;
use crate::text::paragraph::paragraph;
use crate::text::table::{Caption, Column, Table};
use std::io;

/// Prints a reproduction: its figures, and its claims with their verdicts.
///
/// # Errors
/// As the host's system says.
pub(crate) fn print(reproduction: &Reproduction<'_>, printer: &mut Printer) -> io::Result<()> {
    let experiment = reproduction.experiment;
    printer.paragraph("", "", &format!("{}. {}", experiment.title, experiment.citation))?;
    printer.paragraph("", "", &experiment.note)?;
    for filled in &reproduction.figures {
        printer.say("\n")?;
        printer.table(table(filled))?;
        printer.paragraph("", "", &filled.figure.note)?;
    }
    printer.say("\nClaims, with what was measured and why it is so\n")?;
    for judged in &reproduction.claims {
        let (claim, indent) = (judged.claim, " ".repeat(INDENT));
        let verdict = format!("{:INDENT$}", judged.verdict);
        let width = printer.line_width();
        let text = paragraph(&verdict, &indent, &format!("{} ({})", claim.claim, claim.source), width)
            + &paragraph(&indent, &indent, &judged.evidence, width)
            + &paragraph(&indent, &indent, &claim.explanation, width);
        printer.say(&format!("\n{text}"))?;
    }
    printer.say(&format!(
        "\nOf {} claims {} hold, {} hold in direction, {} do not.\n",
        reproduction.claims.len(),
        reproduction.count(Verdict::Holds),
        reproduction.count(Verdict::InDirection),
        reproduction.count(Verdict::DoesNotHold)
    ))
}

/// Where claims begin, behind their verdicts.
const INDENT: usize = 20;

/// A column for the paper's numbers and one for ours of each series.
fn table(filled: &Filled) -> Table {
    let figure = filled.figure;
    let unit = if figure.unit.is_empty() { String::new() } else { format!(", {}", figure.unit) };
    let caption = format!("{}{unit} ({})", figure.title, figure.source);
    let named = |heading: String| {
        let name = if figure.unit.is_empty() { heading.clone() } else { format!("{heading} ({})", figure.unit) };
        Column::new(heading, name)
    };
    let mut columns = vec![Column::new(&figure.x_label, &figure.x_label)];
    let any_paper = filled.columns.iter().any(|column| !column.paper.is_empty());
    for column in &filled.columns {
        let name = &column.series.name;
        for (whose, numbers) in [("paper", &column.paper), ("ours", &column.ours)] {
            if !numbers.is_empty() {
                columns.push(named(if any_paper { format!("{name}, {whose}") } else { name.clone() }));
            }
        }
    }
    let mut table = Table::new(&figure.id, columns).captioned(Caption::Above(caption));
    for (row, x) in filled.x.iter().enumerate() {
        let mut cells = vec![Cell::new(x.as_str().map_or_else(|| x.to_string(), ToOwned::to_owned), x.clone())];
        for numbers in filled.columns.iter().flat_map(|column| [&column.paper, &column.ours]) {
            if let Some(number) = numbers.get(row) {
                cells.push(
                    number.map_or_else(Cell::missing, |number| {
                        Cell::new(cell(number, figure.digits, &figure.unit), number)
                    }),
                );
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
