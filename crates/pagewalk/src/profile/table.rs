//! The costliest functions and pages of a profile, as text.

use super::attribution::{Attribution, Entry};
use crate::text::table::Table;
use machine::{Counter, Counters, Touched};
use types::Access;

/// Lines of each table.
const LINES: usize = 10;

/// A table of functions, one of data and one of pages of data for each profile.
pub(crate) fn tables(profiles: &[Attribution]) -> String {
    profiles.iter().map(|profile| format!("\n{}", of_one(profile))).collect()
}

fn of_one(profile: &Attribution) -> String {
    let (work, system) = (&profile.about.work, &profile.about.system);
    if profile.entries.is_empty() {
        return format!("{work} under {system}: nothing of translation was counted\n");
    }
    let symbols = profile.sums(|entry| (entry.symbol, entry.space));
    let mut by_symbol = Table::new(columns("function"));
    for ((symbol, space), counters) in symbols.iter().take(LINES) {
        by_symbol.row(cells(profile, profile.symbols.name(*symbol), *space, counters));
    }
    let of_data = |entry: &Entry| match entry.touched {
        Touched::Page(page, Access::Read | Access::Write) => Some((page.0, entry.object, entry.space)),
        Touched::Page(_, Access::Execute) | Touched::Nothing | Touched::Others => None,
    };
    let mut by_object = Table::new(columns("data"));
    let is_data = |entry: &Entry| of_data(entry).map(|(_, object, space)| (object, space));
    let objects = profile.sums(is_data);
    let objects = objects.iter().filter_map(|(key, counters)| key.map(|key| (key, counters)));
    for ((object, space), counters) in objects.take(LINES) {
        by_object.row(cells(profile, profile.objects.name(object), space, counters));
    }
    let mut by_page = Table::new(columns("page of data"));
    let pages = profile.sums(of_data);
    let pages = pages.iter().filter_map(|(key, counters)| key.map(|key| (key, counters)));
    for ((page, object, space), counters) in pages.take(LINES) {
        by_page.row(cells(profile, &format!("{page:#x} {}", profile.objects.name(object)), space, counters));
    }
    let (work, system) = (&profile.about.work, &profile.about.system);
    format!(
        "{work} under {system}: cycles of translation and of the hypervisor, by what they are charged to\n\n{by_symbol}\n{by_object}\n{by_page}"
    )
}

fn columns(of: &str) -> [&str; 7] {
    [of, "process", "cycles", "of all", "L1 misses", "walks", "exits"]
}

fn cells(profile: &Attribution, name: &str, space: usize, counters: &Counters) -> [String; 7] {
    let weight = profile.weight(counters);
    let whole = profile.weight(&profile.totals).max(1);
    [
        name.to_owned(),
        profile.spaces[space].name.clone(),
        (weight / profile.rates.ticks_per_cycle() as i64).to_string(),
        format!("{:.2} %", weight as f64 / whole as f64 * 100.0),
        (counters.get(Counter::L1dMisses) + counters.get(Counter::L1iMisses)).to_string(),
        counters.get(Counter::Walks).to_string(),
        counters.get(Counter::Exits).to_string(),
    ]
}
