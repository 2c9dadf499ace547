//! The costliest functions, lines and pages of a profile, as text.

use crate::output::Printer;
use crate::text::cell::Cell;
use crate::text::table::{Caption, Table};
use machine::Counter;
use profiles::{About, Attribution, PartialSum, Sum};
use std::io;

/// Lines of each table.
const LINES: usize = 10;

/// Prints a table of functions, one of lines where they are known, one of data and one of pages of data for each profile.
///
/// # Errors
/// As the host's system says.
pub(crate) fn print(profiles: &[Attribution], printer: &mut Printer) -> io::Result<()> {
    for profile in profiles {
        printer.say("\n")?;
        let About { work, system, .. } = &profile.about;
        if profile.entries.is_empty() {
            printer.say(&format!("{work} under {system}: nothing of translation was counted\n"))?;
            continue;
        }
        let caption = format!(
            "{work} under {system}: cycles of translation and of the hypervisor, by what they are charged to\n"
        );
        printer.table(by_symbol(profile).captioned(Caption::Above(caption)))?;
        printer.say("\n")?;
        if !profile.lines.is_empty() {
            printer.table(by_line(profile))?;
            printer.say("\n")?;
        }
        printer.table(by_object(profile))?;
        printer.say("\n")?;
        printer.table(by_page(profile))?;
    }
    Ok(())
}

fn by_symbol(profile: &Attribution) -> Table {
    let mut table = Table::new("functions", columns("function", "function"));
    for sum in profile.by_function().iter().take(LINES) {
        table.row(cells(profile, sum.name, sum));
    }
    table
}

fn by_line(profile: &Attribution) -> Table {
    let mut table = Table::new("lines", columns("line", "line"));
    for PartialSum { part: line, of: sum } in profile.by_line().iter().take(LINES) {
        let file = line.rsplit('/').next().unwrap_or(line);
        table.row(cells(profile, &format!("{file} {}", sum.name), sum));
    }
    table
}

fn by_object(profile: &Attribution) -> Table {
    let mut table = Table::new("objects", columns("data", "object"));
    for sum in profile.by_object().iter().take(LINES) {
        table.row(cells(profile, sum.name, sum));
    }
    table
}

fn by_page(profile: &Attribution) -> Table {
    let mut table = Table::new("pages", columns("page of data", "page"));
    for PartialSum { part: page, of: sum } in profile.by_page().iter().take(LINES) {
        table.row(cells(profile, &format!("{page:#x} {}", sum.name), sum));
    }
    table
}

fn columns(of: &'static str, name: &'static str) -> [(&'static str, &'static str); 7] {
    [
        (of, name),
        ("process", "process"),
        ("cycles", "cycles"),
        ("of all", "cycles_ratio"),
        ("L1 misses", "l1_misses"),
        ("walks", "walks"),
        ("exits", "exits"),
    ]
}

fn cells(profile: &Attribution, name: &str, &Sum { space, ref counters, .. }: &Sum<'_>) -> [Cell; 7] {
    let weight = profile.weight(counters);
    let whole = profile.weight(&profile.totals).max(1);
    let cycles = weight / profile.rates.ticks_per_cycle() as i64;
    let count = |number: i64| Cell::new(number.to_string(), number);
    [
        Cell::text(name),
        Cell::text(profile.spaces[space].name.as_str()),
        count(cycles),
        Cell::percent(weight as f64 / whole as f64, 2),
        count(counters.get(Counter::L1dMisses) + counters.get(Counter::L1iMisses)),
        count(counters.get(Counter::Walks)),
        count(counters.get(Counter::Exits)),
    ]
}
