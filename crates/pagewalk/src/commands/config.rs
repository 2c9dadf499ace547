//! `pagewalk config`: the keys of the configuration.

use crate::cli::ConfigReferenceArgs;
use crate::error::Failure;
use crate::output::{Format, Printer, print};
use crate::text::paragraph::paragraph;
use crate::text::table::Table;
use config::{reference, table};
use keys::suggestion::unknown;
use keys::{KeyGroup, Row};
use schemes::registry;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`]: no key begins with what the user gave.
pub(super) fn run(arguments: &ConfigReferenceArgs) -> Result<ExitCode, Failure> {
    let groups: Vec<KeyGroup> = registry::all().iter().filter_map(|scheme| scheme.keys()).collect();
    if arguments.markdown {
        print(&format!("{}\n", table(&groups)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows = reference(&groups);
    let rows = chosen(&rows, &arguments.keys)?;
    let format = arguments.format.format;
    let mut printer = Printer::alone(format)?;
    if format == Format::Table {
        let entries: Vec<String> = rows.into_iter().map(|row| entry(row, printer.line_width())).collect();
        printer.say(&format!("{}\n", entries.join("\n")))?;
    } else {
        printer.table(keys_table(&rows))?;
    }
    printer.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// A line for each entry.
fn keys_table(rows: &[&Row]) -> Table {
    let mut table = Table::new("keys", [("key", "key"), ("default", "default"), ("meaning", "meaning")]);
    for row in rows {
        table.row([row.keys.join(", "), plain(&row.default), plain(&row.text())]);
    }
    table
}

/// The rows whose keys begin with one of those asked for; all if none is.
fn chosen<'r>(rows: &'r [Row], asked: &[String]) -> Result<Vec<&'r Row>, Failure> {
    let begins =
        |key: &str, asked: &str| key == asked || key.strip_prefix(asked).is_some_and(|rest| rest.starts_with('.'));
    let has = |row: &Row, asked: &str| row.keys.iter().any(|key| begins(key, asked));
    for name in asked {
        if !rows.iter().any(|row| has(row, name)) {
            let keys = rows.iter().flat_map(|row| &row.keys).map(String::as_str);
            return Err(Failure::Usage(unknown("key", name, keys)));
        }
    }
    let wanted = |row: &&Row| asked.is_empty() || asked.iter().any(|name| has(row, name));
    Ok(rows.iter().filter(wanted).collect())
}

fn entry(row: &Row, width: usize) -> String {
    let heading = format!("{} = {}", row.keys.join(", "), plain(&row.default));
    format!("{heading}\n{}", paragraph("    ", "    ", &plain(&row.text()), width))
}

/// The text without Markdown: a link is the file that it leads to.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("](") {
        let (before, _) = before.rsplit_once('[').unwrap_or((before, ""));
        let (target, after) = link.split_once(')').unwrap_or((link, ""));
        plain += &format!("{before}docs/{target}");
        rest = after;
    }
    (plain + rest).replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_text() {
        assert_eq!(plain("`[{ a = 1 }]` ([flat.md](flat.md#x)), and `b`"), "[{ a = 1 }] (docs/flat.md#x), and b");
    }

    #[test]
    fn a_table_of_keys_is_chosen_as_a_whole_and_an_unknown_one_named() {
        let rows = reference(&[]);
        let keys = |asked: &str| {
            chosen(&rows, &[asked.to_owned()]).map(|all| all.iter().map(|one| one.keys.len()).sum::<usize>())
        };
        assert_eq!(keys("paging").unwrap(), 2);
        assert_eq!(keys("paging.guest").unwrap(), 1);
        assert!(keys("pagin.guest").unwrap_err().to_string().contains("paging.guest"));
    }
}
