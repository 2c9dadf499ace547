//! Maps of addresses over time.

use super::room::{MOST_RUNS, left_out, share, shortened};
use crate::html::charts::{Heat, HeatRow, Region, SHADES, Span, shade};
use crate::html::document::{Block, Chart, Charts, DataTable, RunBlock, Section};
use crate::html::figures::{counted, grouped};
use crate::html::palette::{GUEST, TRANSLATION};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Cells and rows of all maps of a page, and of one.
const CELLS: usize = 14_000;
const MOST_CELLS: usize = 6144;
const ROWS: usize = 480;
const MOST_ROWS: usize = 48;

/// What a page has room for of a map.
#[derive(Clone, Copy)]
struct Room {
    rows: usize,
    columns: usize,
}

impl Room {
    /// On a page with so many maps.
    fn of(maps: usize) -> Self {
        const LEAST_ROWS: usize = 12;
        let rows = share(ROWS, maps, LEAST_ROWS, MOST_ROWS);
        Self { rows, columns: (share(CELLS, maps, 12 * LEAST_ROWS, MOST_CELLS) / rows).max(1) }
    }
}

/// The maps of a command's runs.
#[derive(Deserialize, Debug)]
pub(super) struct Heatmaps {
    runs: Vec<Run>,
}

/// The map of a run; other keys of docs/json-keys.md are not read.
#[derive(Deserialize, Debug)]
struct Run {
    workload: String,
    scheme: String,
    counts: String,
    total: u64,
    clock_hz: u64,
    column_cycles: u64,
    row_bytes: u64,
    rows: Vec<Row>,
}

#[derive(Deserialize, Debug)]
struct Row {
    space: Option<Space>,
    address: Address,
    counts: Vec<[u64; 2]>,
}

#[derive(Deserialize, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Space {
    mode: String,
    root: String,
    asid: u64,
}

/// An address, as a hexadecimal text.
#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(try_from = "String")]
struct Address(u64);

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        digits.map(Self).ok_or_else(|| format!("`{text}` is not an address"))
    }
}

/// A map with as many rows and columns as a page has room for.
struct Map {
    /// The first column of the recording that there is, in columns of the map.
    first: u64,
    columns: u64,
    column_cycles: u64,
    row_bytes: u64,
    /// By address space and number of the row: counts by column from `first` on.
    rows: BTreeMap<(Option<Space>, u64), BTreeMap<u64, u64>>,
    /// What is in rows that the page has no room for.
    left_out: u64,
}

/// The section; `None` if there is no run in it.
pub(super) fn section(Heatmaps { runs }: &Heatmaps) -> Option<Section> {
    let used: Vec<&Run> = runs.iter().filter(|run| !run.rows.is_empty()).collect();
    let room = Room::of(used.len().min(MOST_RUNS));
    let blocks: Vec<Block> =
        used.iter().take(MOST_RUNS).enumerate().map(|(number, run)| block(run, number == 0, room)).collect();
    let intro = [
        "A row is a range of addresses, and a column a stretch of simulated time. Gaps between addresses in use are left out: each begins a new group of rows.".to_owned(),
        "The pointer shows the count of a cell. A stretch of time that is marked with it fills the map; so do the buttons. Escape shows all of it again.".to_owned(),
    ];
    (!blocks.is_empty()).then(|| Section {
        id: "heatmap".into(),
        title: "Which addresses, and when".to_owned(),
        intro: intro.into_iter().chain(left_out(used.len())).collect(),
        blocks,
    })
}

impl Map {
    fn of(run: &Run, room: Room) -> Self {
        let bytes = run.row_bytes.max(1);
        let columns = || run.rows.iter().flat_map(|row| &row.counts).map(|[column, _]| *column);
        let (first, last) = (columns().min().unwrap_or(0), columns().max().unwrap_or(0));
        let mut wide = 1;
        while last / wide - first / wide >= room.columns as u64 {
            wide *= 2;
        }
        let rows_of = |tall: u64| {
            let mut rows: BTreeMap<(Option<Space>, u64), BTreeMap<u64, u64>> = BTreeMap::new();
            for row in &run.rows {
                let number = row.address.0 / bytes / tall;
                let cells = rows.entry((row.space.clone(), number)).or_default();
                for [column, count] in &row.counts {
                    let sum = cells.entry(column / wide - first / wide).or_default();
                    *sum = sum.saturating_add(*count);
                }
            }
            rows
        };
        // Addresses that are far apart stay apart however tall a row is.
        let mut tall = 1;
        while tall < 1 << 20 && rows_of(tall).len() > room.rows {
            tall *= 2;
        }
        let mut rows = rows_of(tall);
        let mut left_out = 0;
        while rows.len() > room.rows {
            let least = rows.iter().min_by_key(|(_, cells)| cells.values().sum::<u64>());
            let least = least.expect("there are rows").0.clone();
            left_out += rows.remove(&least).map_or(0, |cells| cells.values().sum());
        }
        Self {
            first: first / wide,
            columns: last / wide - first / wide + 1,
            column_cycles: run.column_cycles.saturating_mul(wide),
            row_bytes: bytes.saturating_mul(tall),
            rows,
            left_out,
        }
    }

    fn range(&self, row: u64) -> String {
        let first = row.saturating_mul(self.row_bytes);
        format!("{first:#x} to {:#x}", first.saturating_add(self.row_bytes - 1))
    }
}

fn space_name(space: Option<&Space>) -> String {
    match space {
        Some(Space { mode, root, asid }) if mode != "bare" => format!("ASID {asid}, root {root}"),
        Some(_) => "no translation".to_owned(),
        None => "every address space".to_owned(),
    }
}

/// The least count with the darkest shade. Counts can be in the billions, so it is searched by halves.
fn darkest(most: u64) -> u64 {
    let (mut least, mut end) = (1, most.max(1));
    while least < end {
        let middle = least + (end - least) / 2;
        if shade(middle, most) == SHADES { end = middle } else { least = middle + 1 }
    }
    least
}

fn block(run: &Run, first: bool, room: Room) -> Block {
    let name = format!("{} under {}", shortened(&run.workload), run.scheme);
    let map = Map::of(run, room);
    let (what, colour) = if run.counts == "references" { ("references", GUEST) } else { ("L1 misses", TRANSLATION) };
    let mut table =
        DataTable::new(&format!("{what} of {name} by address"), &["addresses", "address space", &format!("#{what}")]);
    let mut regions: Vec<Region> = Vec::new();
    let mut before: Option<(Option<&Space>, u64)> = None;
    for ((space, number), cells) in &map.rows {
        let (space, sum) = (space.as_ref(), cells.values().sum::<u64>());
        if before != number.checked_sub(1).map(|number| (space, number)) || regions.is_empty() {
            let start = number.saturating_mul(map.row_bytes);
            regions.push(Region { name: format!("from {start:#x}, {}", space_name(space)), rows: Vec::new() });
        }
        before = Some((space, *number));
        let exact = format!("{}, {}: {} {what}", map.range(*number), space_name(space), grouped(sum));
        let cells = cells.iter().map(|(column, count)| (*column, *count)).collect();
        regions.last_mut().expect("one was added").rows.push(HeatRow { exact, cells });
        table.row([map.range(*number), space_name(space), grouped(sum)]);
    }
    let at = |column: u64| (map.first + column).saturating_mul(map.column_cycles);
    let span = Span { from: at(0), to: at(map.columns), clock_hz: run.clock_hz };
    let description = format!("Map of {what} of {name} by address and time; the table has the sums of rows");
    let heat = Heat { description: &description, span, column: map.column_cycles, regions: &regions, colour };
    let most = map.rows.values().flat_map(BTreeMap::values).copied().max().unwrap_or(1);
    let darkest = darkest(most);
    let mut note = format!(
        "A cell is {} and {:.4} ms. It has one of {SHADES} shades, on a logarithmic scale: the lightest begins with 1, and the darkest with {}.",
        counted(map.row_bytes.div_ceil(4096) as usize, "page"),
        span.milliseconds(map.column_cycles),
        grouped(darkest),
    );
    if map.left_out > 0 {
        note += &format!(" {} {what} are in rows that the page has no room for.", grouped(map.left_out));
    }
    Block::Run(RunBlock {
        summary: format!("{name}: {} {what}", grouped(run.total)),
        open: first,
        notes: vec![note],
        group: Charts {
            caption: format!("{name} by address and time"),
            legend: Vec::new(),
            charts: vec![Chart { title: String::new(), svg: heat.svg() }],
            table,
        },
        tables: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(rows: &[(u64, u64)]) -> Run {
        let row = |(page, column): &(u64, u64)| json!({ "space": null, "address": format!("{:#x}", page * 4096), "counts": [[column, 2]] });
        serde_json::from_value(json!({
            "workload": "w", "scheme": "nested:4K+4K", "counts": "misses", "total": 2 * rows.len(), "clock_hz": 1_000_000,
            "column_cycles": 1024, "row_bytes": 4096, "rows": rows.iter().map(row).collect::<Vec<_>>(),
        }))
        .unwrap()
    }

    const ROOM: Room = Room { rows: 48, columns: 100 };

    fn sum(map: &Map) -> u64 {
        map.left_out + map.rows.values().flat_map(BTreeMap::values).sum::<u64>()
    }

    #[test]
    fn a_map_that_is_too_large_has_larger_cells_and_loses_nothing() {
        let rows: Vec<(u64, u64)> = (0..400).map(|n| (1000 + n, 100 + n)).collect();
        let map = Map::of(&run(&rows), ROOM);
        assert_eq!((map.row_bytes, map.column_cycles, sum(&map)), (16 * 4096, 4096, 800));
        assert!(map.rows.len() <= ROOM.rows && map.columns <= 100 && map.left_out == 0);
        let few = Map::of(&run(&[(1, 5), (2, 6)]), ROOM);
        assert_eq!((few.row_bytes, few.column_cycles, few.columns, few.first), (4096, 1024, 2, 5));
    }

    #[test]
    fn addresses_that_are_far_apart_are_cut_and_counted() {
        let rows: Vec<(u64, u64)> = (0..60).map(|n| (n << 32, 0)).collect();
        let map = Map::of(&run(&rows), ROOM);
        assert_eq!((map.rows.len(), sum(&map), map.left_out), (ROOM.rows, 120, 24));
    }

    #[test]
    fn the_darkest_shade_begins_with_the_least_count_that_has_it() {
        for most in [1, 2, 9, 1000, 12_345] {
            let one_by_one = (1..=most).find(|&count| shade(count, most) == SHADES);
            assert_eq!(Some(darkest(most)), one_by_one, "{most}");
        }
        assert!((1 << 52..1 << 53).contains(&darkest(1 << 60)));
        assert_eq!((darkest(0), shade(darkest(u64::MAX), u64::MAX)), (1, SHADES));
    }

    #[test]
    fn a_gap_begins_a_new_region() {
        let Block::Run(block) = block(&run(&[(1, 0), (2, 0), (9, 1)]), true, ROOM) else { panic!("a run") };
        let svg = &block.group.charts[0].svg;
        assert!(svg.contains("from 0x1000, every address space") && svg.contains("from 0x9000"), "{svg}");
        assert!(
            !svg.contains("from 0x2000") && svg.contains("0x2000 to 0x2fff, every address space: 2 L1 misses"),
            "{svg}"
        );
        assert_eq!(block.group.table.rows.len(), 3);
    }
}
