//! A reproduction as text and tables.

use super::claim::Verdict;
use super::experiment::Figure;
use super::figure::Filled;
use super::interval::{Estimate, text};
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
            + &paragraph(&indent, &indent, &judged.evidence(), width)
            + &paragraph(&indent, &indent, &judged.shown(), width)
            + &paragraph(&indent, &indent, judged.explanation(), width);
        printer.say(&format!("\n{text}"))?;
    }
    print_counts(std::slice::from_ref(reproduction), printer)
}

/// Prints how many claims of all papers came out how; of several papers also how many of each.
///
/// # Errors
/// As the host's system says.
pub(crate) fn print_counts(papers: &[Reproduction<'_>], printer: &mut Printer) -> io::Result<()> {
    let counts = |papers: &[Reproduction<'_>]| {
        let count = |verdict| papers.iter().map(|paper| paper.count(verdict)).sum::<usize>();
        let claims = papers.iter().map(|paper| paper.claims.len()).sum::<usize>();
        [claims, count(Verdict::Holds), count(Verdict::Refuted), count(Verdict::Open)]
    };
    if papers.len() > 1 {
        let columns = ["paper", "claims", "hold", "refuted", "open"].map(|name| Column::new(name, name));
        let mut table = Table::new("papers", columns.to_vec());
        for paper in papers {
            let name = &paper.experiment.paper;
            let numbers = counts(std::slice::from_ref(paper)).map(|count| Cell::new(count.to_string(), count));
            table.row([Cell::new(name.clone(), name.clone())].into_iter().chain(numbers));
        }
        printer.say("\n")?;
        printer.table(table)?;
    }
    let [claims, hold, refuted, open] = counts(papers);
    printer.say(&format!("\nOf {claims} claims {hold} hold, {refuted} are refuted, {open} are open.\n"))
}

/// Where claims begin, behind their verdicts.
const INDENT: usize = 9;

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
        for (whose, empty) in [("paper", column.paper.is_empty()), ("ours", column.ours.is_empty())] {
            if !empty {
                columns.push(named(if any_paper { format!("{name}, {whose}") } else { name.clone() }));
            }
        }
    }
    let mut table = Table::new(&figure.id, columns).captioned(Caption::Above(caption));
    for (row, x) in filled.x.iter().enumerate() {
        let mut cells = vec![Cell::new(x.as_str().map_or_else(|| x.to_string(), ToOwned::to_owned), x.clone())];
        for column in &filled.columns {
            if let Some(number) = column.paper.get(row) {
                let shown = |number: f64| Cell::new(cell(number, None, figure), number);
                cells.push(number.map_or_else(Cell::missing, shown));
            }
            if let Some(number) = column.ours.get(row) {
                let shown = |number: &Estimate| Cell::new(cell(number.mean(), number.margin(), figure), number.mean());
                cells.push(number.as_ref().map_or_else(Cell::missing, shown));
            }
        }
        table.row(cells);
    }
    table
}

/// A number with half of its interval, if it has one, and its unit, if that is short enough for each cell.
fn cell(number: f64, margin: Option<f64>, figure: &Figure) -> String {
    let number = text(number, figure.digits);
    let margin = margin.map(|margin| format!(" ± {}", text(margin, figure.digits))).unwrap_or_default();
    let unit = if figure.unit == "%" { " %" } else { "" };
    format!("{number}{margin}{unit}")
}
