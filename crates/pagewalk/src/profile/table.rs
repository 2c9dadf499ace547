//! The costliest functions, lines and pages of a profile, as text.

use crate::output::Printer;
use crate::text::cell::Cell;
use crate::text::table::{Caption, Table};
use machine::{Counter, Counters, Touched};
use profiles::{About, Attribution, Entry};
use std::io;
use types::Access;

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
    let symbols = profile.sums(|entry| (entry.symbol, entry.space));
    for ((symbol, space), counters) in symbols.iter().take(LINES) {
        table.row(cells(profile, profile.symbols.name(*symbol), *space, counters));
    }
    table
}

fn by_line(profile: &Attribution) -> Table {
    let mut table = Table::new("lines", columns("line", "line"));
    let lines = profile.sums(|entry| (entry.line, entry.symbol, entry.space));
    let lines = lines.iter().filter_map(|(key, counters)| key.0.map(|line| (line, key, counters)));
    for (line, &(_, symbol, space), counters) in lines.take(LINES) {
        let line = profile.lines.name(line);
        let file = line.rsplit('/').next().unwrap_or(line);
        table.row(cells(profile, &format!("{file} {}", profile.symbols.name(symbol)), space, counters));
    }
    table
}

fn by_object(profile: &Attribution) -> Table {
    let mut table = Table::new("objects", columns("data", "object"));
    let objects = profile.sums(|entry| page_of_data(entry).map(|_| (entry.object, entry.space)));
    let objects = objects.iter().filter_map(|(key, counters)| key.map(|key| (key, counters)));
    for ((object, space), counters) in objects.take(LINES) {
        table.row(cells(profile, profile.objects.name(object), space, counters));
    }
    table
}

fn by_page(profile: &Attribution) -> Table {
    let mut table = Table::new("pages", columns("page of data", "page"));
    let pages = profile.sums(|entry| page_of_data(entry).map(|page| (page, entry.object, entry.space)));
    let pages = pages.iter().filter_map(|(key, counters)| key.map(|key| (key, counters)));
    for ((page, object, space), counters) in pages.take(LINES) {
        table.row(cells(profile, &format!("{page:#x} {}", profile.objects.name(object)), space, counters));
    }
    table
}

/// The page that was loaded from or stored to.
fn page_of_data(entry: &Entry) -> Option<u64> {
    match entry.touched {
        Touched::Page(page, Access::Read | Access::Write) => Some(page.0),
        Touched::Page(_, Access::Execute) | Touched::Nothing | Touched::Others => None,
    }
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

fn cells(profile: &Attribution, name: &str, space: usize, counters: &Counters) -> [Cell; 7] {
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
