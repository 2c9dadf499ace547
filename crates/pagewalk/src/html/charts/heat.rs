//! A map of counts over simulated time: rows of cells, darker the more there is. Time is as in [`super::timeline`].

use super::element::{Element, mark, pixels};
use super::frame::Frame;
use super::timeline::Span;
use crate::html::palette::Colour;

/// A map.
pub(crate) struct Heat<'a> {
    pub(crate) description: &'a str,
    pub(crate) span: Span,
    /// The cycles of a column. The first column begins with the span.
    pub(crate) column: u64,
    pub(crate) regions: &'a [Region],
    pub(crate) colour: Colour,
}

/// Rows that follow one another.
pub(crate) struct Region {
    pub(crate) name: String,
    pub(crate) rows: Vec<HeatRow>,
}

/// A row.
pub(crate) struct HeatRow {
    /// What it is of, with its sum.
    pub(crate) exact: String,
    /// Columns from the first of the map on, in their order, and their counts, which are not zero.
    pub(crate) cells: Vec<(u64, u64)>,
}

/// Shades of a cell: each stands for counts that are so many times as large as those of the one before.
pub(crate) const SHADES: u64 = 8;

/// A row, and the name of a region above its rows, in pixels.
const ROW: f64 = 8.0;
const NAME: f64 = 18.0;

/// The shade of a count, from 1 on, on a logarithmic scale that ends with `most`.
pub(crate) fn shade(count: u64, most: u64) -> u64 {
    let ratio = (1.0 + count as f64).ln() / (1.0 + most.max(count) as f64).ln();
    ((ratio * SHADES as f64 - 1e-9).ceil() as u64).clamp(1, SHADES)
}

impl Heat<'_> {
    /// The chart.
    pub(crate) fn svg(&self) -> String {
        let rows = || self.regions.iter().flat_map(|region| &region.rows);
        let most = rows().flat_map(|row| &row.cells).map(|(_, count)| *count).max().unwrap_or(1);
        let heights = self.regions.iter().map(|region| NAME + ROW * region.rows.len() as f64);
        let height: f64 = heights.sum();
        let frame = Frame { left: 1.0, right: 12.0, top: 0.0, height, bottom: 40.0 };
        let mut inside = Vec::new();
        let mut window = self.span.window(height).set("data-column", self.span.milliseconds(self.column));
        let mut paths = vec![String::new(); SHADES as usize];
        let mut marks = Vec::new();
        let mut top = 0.0;
        for region in self.regions {
            let name = Element::new("text").set("class", "title").set("x", "0");
            inside.push(name.set("y", pixels(top + NAME - 5.0)).text(&region.name));
            top += NAME;
            for row in &region.rows {
                self.cells(row, most, top, &mut paths);
                let cells: Vec<String> = row.cells.iter().map(|(column, count)| format!("{column} {count}")).collect();
                let shape = Element::new("rect").set("x", "0").set("y", pixels(top)).set("width", "10000");
                let shape = shape.set("height", pixels(ROW)).set("data-cells", cells.join(","));
                marks.push(mark(shape, "step", &row.exact));
                top += ROW;
            }
        }
        for (path, shade) in paths.into_iter().zip(1..) {
            let class = format!("heat heat-{shade} {}", self.colour.class());
            window.push(&Element::new("path").set("class", class).set("d", path));
        }
        marks.iter().for_each(|mark| window.push(mark));
        inside.push(window);
        inside.extend(self.span.axis(&frame));
        frame.svg(self.description, &inside)
    }

    /// Adds the cells of a row to the paths of their shades; neighbours of one shade are one rectangle.
    fn cells(&self, row: &HeatRow, most: u64, top: f64, paths: &mut [String]) {
        let at = |column: u64| self.span.at(self.span.from.saturating_add(column.saturating_mul(self.column)));
        let next =
            |one: &(u64, u64), other: &(u64, u64)| one.0 + 1 == other.0 && shade(one.1, most) == shade(other.1, most);
        for cells in row.cells.chunk_by(next) {
            let (from, to) = (at(cells[0].0), at(cells[cells.len() - 1].0 + 1));
            let path = &mut paths[shade(cells[0].1, most) as usize - 1];
            *path += &format!("M{} {}H{}v{ROW}H{}z", pixels(from), pixels(top), pixels(to), pixels(from));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::palette;

    #[test]
    fn shades_grow_with_counts() {
        assert_eq!([1, 9, 99, 999].map(|count| shade(count, 999)), [1, 3, 6, 8].map(|shade| shade.max(1)));
        assert_eq!((shade(1, 1), shade(0, 0)), (SHADES, 1));
    }

    #[test]
    fn neighbours_of_one_shade_are_one_rectangle() {
        let row = HeatRow { exact: "0x1000: 12 misses".to_owned(), cells: vec![(0, 5), (1, 5), (3, 2)] };
        let regions = [Region { name: "from 0x1000".to_owned(), rows: vec![row] }];
        let span = Span { from: 0, to: 400, clock_hz: 1000 };
        let heat = Heat { description: "A map", span, column: 100, regions: &regions, colour: palette::TIMES[1].1 };
        let svg = heat.svg();
        assert!(svg.contains("M0 18H5000v8H0z") && svg.contains("M7500 18H10000v8H7500z"), "{svg}");
        assert!(svg.contains(r#"data-cells="0 5,1 5,3 2""#) && svg.contains(r#"data-column="100""#), "{svg}");
    }
}
