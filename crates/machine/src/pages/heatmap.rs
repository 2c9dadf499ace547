//! A map of a guest's addresses over time, whose size has a limit.
//!
//! A cell is a range of pages in a stretch of time. Where there are too many cells, or stretches, each becomes twice as long, and two become one.

use super::SpacePage;
use crate::profile::Space;
use std::collections::{HashMap, HashSet};
use types::{Cycles, Gva};

/// The most stretches of time.
const MOST_COLUMNS: u64 = 256;
/// The most cells.
const MOST_CELLS: usize = 1 << 14;
/// The most address spaces that are kept apart.
const MOST_SPACES: usize = 256;
/// Binary logarithm of the cycles of a stretch in the beginning.
const FIRST_COLUMN: u32 = 10;
/// Binary logarithm of a page's bytes.
const PAGE_BITS: u32 = 12;
/// Binary logarithm of the pages of a row that is a half of all addresses.
const LONGEST_ROW: u32 = 51;

/// A map of a guest's addresses over time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heatmap {
    /// Cycles of a column. Column n begins with cycle n times as many, since the run began.
    pub column_cycles: u64,
    /// Pages of 4 KiB of a row. Rows begin at multiples of their size.
    pub row_pages: u64,
    /// The cells in which something was counted, by space, address and time.
    pub cells: Vec<HeatmapCell>,
}

/// What was counted in a range of pages in a stretch of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HeatmapCell {
    /// The first page of its row.
    pub first: SpacePage,
    /// Its column.
    pub column: u64,
    /// The count.
    pub count: u64,
}

/// A map under construction.
#[derive(Debug)]
struct HeatmapLog {
    /// Binary logarithm of the cycles of a column.
    column: u32,
    /// Binary logarithm of the pages of a row.
    row: u32,
    cells: HashMap<Key, u64>,
    /// The latest cell, which most often is the next one too.
    latest: Option<(Key, u64)>,
    /// The spaces that are kept apart.
    spaces: HashSet<Space>,
}

/// The first page of a row, and a column.
type Key = (SpacePage, u64);

impl HeatmapLog {
    fn new() -> Self {
        Self { column: FIRST_COLUMN, row: 0, cells: HashMap::new(), latest: None, spaces: HashSet::new() }
    }

    fn add(&mut self, page: SpacePage, at: Cycles, count: u64) {
        while at.0 >> self.column >= MOST_COLUMNS {
            self.merge_columns();
        }
        let key = (self.row_of(page), at.0 >> self.column);
        match &mut self.latest {
            Some((latest, sum)) if *latest == key => *sum += count,
            _ => {
                self.settle();
                // What the latest cell was settled in may have made rows and columns longer.
                let page = self.kept_apart(page);
                self.latest = Some(((self.row_of(page), at.0 >> self.column), count));
            }
        }
    }

    fn heatmap(&self) -> Heatmap {
        let mut sums = self.cells.clone();
        if let Some((key, count)) = self.latest {
            *sums.entry(key).or_default() += count;
        }
        let cell = |((first, column), count)| HeatmapCell { first, column, count };
        let mut cells: Vec<HeatmapCell> = sums.into_iter().map(cell).collect();
        cells.sort_unstable();
        Heatmap { column_cycles: 1 << self.column, row_pages: 1 << self.row, cells }
    }

    fn row_of(&self, page: SpacePage) -> SpacePage {
        let bits = PAGE_BITS + self.row;
        SpacePage { page: Gva(page.page.0 >> bits << bits), ..page }
    }

    /// The page, without its space if there are too many of these.
    fn kept_apart(&mut self, page: SpacePage) -> SpacePage {
        let Some(space) = page.space else { return page };
        let apart = self.spaces.contains(&space) || self.spaces.len() < MOST_SPACES && self.spaces.insert(space);
        SpacePage { space: page.space.filter(|_| apart), ..page }
    }

    fn settle(&mut self) {
        if let Some((key, count)) = self.latest.take() {
            *self.cells.entry(key).or_default() += count;
        }
        while self.cells.len() >= MOST_CELLS {
            // A map of few columns says nothing of time, and one of few rows nothing of addresses.
            if self.row < LONGEST_ROW && (self.columns() <= MOST_COLUMNS / 4 || self.row < self.column - FIRST_COLUMN) {
                self.merge_rows();
            } else {
                self.merge_columns();
            }
        }
    }

    /// How many columns there are from the first to the last.
    fn columns(&self) -> u64 {
        let columns = || self.cells.keys().map(|(_, column)| *column);
        columns().max().map_or(0, |last| last - columns().min().unwrap_or(last) + 1)
    }

    #[cold]
    fn merge_rows(&mut self) {
        self.row += 1;
        self.merge(0);
    }

    #[cold]
    fn merge_columns(&mut self) {
        self.column += 1;
        self.merge(1);
    }

    /// Makes cells of the present size of smaller ones.
    fn merge(&mut self, columns: u32) {
        let cells = std::mem::take(&mut self.cells);
        for ((page, column), count) in cells.into_iter().chain(self.latest.take()) {
            *self.cells.entry((self.row_of(page), column >> columns)).or_default() += count;
        }
    }
}

/// The maps of a guest: of its measured regions, or of all of its run if it has none.
#[derive(Debug)]
pub(crate) struct Heatmaps {
    whole: HeatmapLog,
    region: Option<HeatmapLog>,
    measured: Option<HeatmapLog>,
}

impl Heatmaps {
    pub(crate) fn new() -> Self {
        Self { whole: HeatmapLog::new(), region: None, measured: None }
    }

    /// Something happened to a page so many times.
    pub(crate) fn add(&mut self, page: SpacePage, at: Cycles, count: u64) {
        if self.measured.is_none() {
            self.whole.add(page, at, count);
        }
        if let Some(region) = &mut self.region {
            region.add(page, at, count);
        }
    }

    /// The guest is measured from here on.
    pub(crate) fn begin_region(&mut self) {
        self.region = Some(HeatmapLog::new());
    }

    /// What was measured does not count.
    pub(crate) fn drop_region(&mut self) {
        self.region = None;
    }

    /// What was measured counts.
    pub(crate) fn end_region(&mut self) {
        let Some(region) = self.region.take() else { return };
        match &mut self.measured {
            None => self.measured = Some(region),
            Some(measured) => {
                let Heatmap { column_cycles, cells, .. } = region.heatmap();
                for HeatmapCell { first, column, count } in cells {
                    measured.add(first, Cycles(column * column_cycles), count);
                }
            }
        }
    }

    /// The map.
    pub(crate) fn heatmap(&self) -> Heatmap {
        self.measured.as_ref().unwrap_or(&self.whole).heatmap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Asid;

    #[test]
    fn regions_that_have_ended_are_the_map() {
        let mut maps = Heatmaps::new();
        maps.add(page(0, 1), Cycles(0), 1);
        maps.begin_region();
        maps.add(page(0, 2), Cycles(1), 10);
        assert_eq!(total(&maps.heatmap()), 11);
        maps.end_region();
        maps.add(page(0, 3), Cycles(2), 100);
        maps.begin_region();
        maps.add(page(0, 4), Cycles(3), 1000);
        maps.end_region();
        assert_eq!(total(&maps.heatmap()), 1010);
        assert_eq!(maps.heatmap().cells.len(), 2);
    }

    fn page(space: u16, number: u64) -> SpacePage {
        SpacePage { space: Some(Space { asid: Asid(space), ..Space::default() }), page: Gva(number << PAGE_BITS) }
    }

    fn total(map: &Heatmap) -> u64 {
        map.cells.iter().map(|cell| cell.count).sum()
    }

    #[test]
    fn few_pages_have_rows_of_their_own() {
        let mut log = HeatmapLog::new();
        for (at, number) in [(0, 1), (1, 1), (2, 9), (2000, 1)] {
            log.add(page(0, number), Cycles(at), 10);
        }
        let map = log.heatmap();
        assert_eq!((map.column_cycles, map.row_pages), (1024, 1));
        let cells: Vec<_> =
            map.cells.iter().map(|cell| (cell.first.page.0 >> PAGE_BITS, cell.column, cell.count)).collect();
        assert_eq!(cells, [(1, 0, 20), (1, 1, 10), (9, 0, 10)]);
    }

    #[test]
    fn a_map_has_a_limit_and_loses_nothing() {
        let mut log = HeatmapLog::new();
        for count in 0..300_000u64 {
            log.add(page((count % 700) as u16, count.wrapping_mul(2_654_435_761) >> 12), Cycles(count * 37), 3);
        }
        let map = log.heatmap();
        assert_eq!(total(&map), 900_000);
        assert!(map.cells.len() <= MOST_CELLS, "{}", map.cells.len());
        assert!(map.cells.iter().all(|cell| cell.column < MOST_COLUMNS));
        let rows =
            |map: &Heatmap| map.cells.iter().all(|cell| (cell.first.page.0 >> PAGE_BITS).is_multiple_of(map.row_pages));
        assert!(map.row_pages > 1 && rows(&map));
    }

    #[test]
    fn time_alone_makes_columns_longer() {
        let mut log = HeatmapLog::new();
        (0..1000u64).for_each(|step| log.add(page(0, step % 3), Cycles(step << 14), 1));
        let map = log.heatmap();
        assert_eq!((total(&map), map.row_pages, map.column_cycles), (1000, 1, 1 << 16));
        assert_eq!(map.cells.iter().map(|cell| cell.column).max(), Some(249));
    }
}
