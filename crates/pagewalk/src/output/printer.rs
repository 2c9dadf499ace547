//! What a command prints for its user: tables and the text around them, in the format that the user chose.

use super::standard::{columns, print};
use super::target::Output;
use crate::text::cell::Cell;
use crate::text::paragraph::{WIDTH, paragraph};
use crate::text::quoted::without_controls;
use crate::text::table::{Caption, Table};
use crate::text::{csv, layout, markdown};
use clap::ValueEnum;
use serde_json::{Map, Value};
use std::io;
use std::path::Path;

/// How tables are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns, for people
    #[default]
    Table,
    /// Comma-separated values: exact numbers, with units in the names of columns
    Csv,
    /// Tables of GitHub's Markdown, each below its caption
    Markdown,
    /// What --json writes, on standard output
    Json,
}

/// Prints tables and texts in one format. Formats for programs have standard output to themselves, and are written when the command is done:
/// half a table is none.
#[derive(Debug)]
pub struct Printer {
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// At once; in lines of so many columns, if a terminal shows them.
    Table(Option<usize>),
    Csv(Output, Vec<Table>),
    Markdown(Output, String),
    /// The command's report.
    Report,
    /// The tables, of a command that has no report of its own.
    Json(Output, Vec<Table>),
}

impl Printer {
    /// A printer of a command whose report is what [`Format::Json`] has.
    ///
    /// # Errors
    /// If another output has standard output.
    pub fn beside_report(format: Format) -> io::Result<Self> {
        let form = match format {
            Format::Table => Form::Table(columns()),
            Format::Csv => Form::Csv(standard_output()?, Vec::new()),
            Format::Markdown => Form::Markdown(standard_output()?, String::new()),
            Format::Json => Form::Report,
        };
        Ok(Self { form })
    }

    /// A printer of a command that has no report: [`Format::Json`] has its tables.
    ///
    /// # Errors
    /// If another output has standard output.
    pub fn alone(format: Format) -> io::Result<Self> {
        match format {
            Format::Json => Ok(Self { form: Form::Json(standard_output()?, Vec::new()) }),
            other => Self::beside_report(other),
        }
    }

    /// Whether tables are for a program, which reads one line for each thing that was measured.
    #[must_use]
    pub const fn is_csv(&self) -> bool {
        matches!(self.form, Form::Csv(..))
    }

    /// Prints text of Pagewalk's own. CSV has no place for it: it goes to standard error. JSON has it in its keys.
    ///
    /// # Errors
    /// As the host's system says.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        match &mut self.form {
            Form::Table(None) => print(text),
            Form::Table(Some(width)) => print(&layout::folded(text, *width)),
            Form::Csv(..) if text.trim().is_empty() => Ok(()),
            Form::Csv(..) => print(text),
            Form::Markdown(_, document) => {
                *document += &markdown::paragraph(text);
                Ok(())
            }
            Form::Report | Form::Json(..) => Ok(()),
        }
    }

    /// Prints running text, in lines as long as the format has them: the first behind `first`, and the others behind `indent`.
    ///
    /// # Errors
    /// As the host's system says.
    pub fn paragraph(&mut self, first: &str, indent: &str, text: &str) -> io::Result<()> {
        self.say(&paragraph(first, indent, text, self.line_width()))
    }

    /// The longest line of running text.
    #[must_use]
    pub fn line_width(&self) -> usize {
        match self.form {
            Form::Table(Some(width)) => width.min(WIDTH),
            Form::Markdown(..) => usize::MAX,
            Form::Table(None) | Form::Csv(..) | Form::Report | Form::Json(..) => WIDTH,
        }
    }

    /// Prints a table with its caption.
    ///
    /// # Errors
    /// As the host's system says.
    pub fn table(&mut self, table: Table) -> io::Result<()> {
        match &mut self.form {
            Form::Table(width) => {
                let text = layout::text(&table, *width);
                let whole = match table.caption() {
                    Caption::None => text,
                    Caption::Above(caption) => format!("{}{text}", folded(&format!("{caption}\n"), *width)),
                    Caption::Below(caption) => format!("{text}{}", folded(&format!("\n{caption}\n"), *width)),
                };
                print(&whole)
            }
            Form::Csv(_, tables) => {
                if let Caption::Above(caption) | Caption::Below(caption) = table.caption() {
                    print(&format!("{}\n", caption.trim_end()))?;
                }
                tables.push(table);
                Ok(())
            }
            Form::Markdown(_, document) => {
                *document += &markdown::table(&table);
                document.push('\n');
                Ok(())
            }
            Form::Report => Ok(()),
            Form::Json(_, tables) => {
                tables.push(table);
                Ok(())
            }
        }
    }

    /// Writes what had to wait until all of it was there.
    ///
    /// # Errors
    /// As the host's system says.
    pub fn finish(self) -> io::Result<()> {
        match self.form {
            Form::Table(_) | Form::Report => Ok(()),
            Form::Csv(output, tables) => write(output, &csv::csv(&tables)?),
            Form::Markdown(output, document) => write(output, format!("{}\n", document.trim_end()).as_bytes()),
            Form::Json(output, tables) => write(output, &super::json(&report(&tables))?),
        }
    }
}

fn standard_output() -> io::Result<Output> {
    Output::open(Path::new("-"))
}

/// Writes with controls as escapes.
fn write(output: Output, bytes: &[u8]) -> io::Result<()> {
    let text = String::from_utf8_lossy(bytes);
    output.write(without_controls(&text).as_bytes())
}

fn folded(text: &str, width: Option<usize>) -> String {
    width.map_or_else(|| text.to_owned(), |width| layout::folded(text, width))
}

/// The tables as JSON: by name, a list of objects whose keys are the names of the columns.
fn report(tables: &[Table]) -> Value {
    let mut report = Map::from_iter([("version".to_owned(), env!("CARGO_PKG_VERSION").into())]);
    for table in tables {
        let names = || table.columns().iter().map(|column| column.name().to_owned());
        let object = |row: &Vec<_>| -> Value {
            let values = row.iter().map(|cell: &Cell| cell.value().clone());
            names().zip(values).collect::<Map<_, _>>().into()
        };
        report.insert(table.name().to_owned(), table.rows().iter().map(object).collect());
    }
    report.into()
}
