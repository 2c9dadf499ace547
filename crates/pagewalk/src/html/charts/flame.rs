//! A flame graph that hangs from its root: each frame is as wide as its part of the whole, and stands below the frame that it is a part of.
//!
//! The script `flame.js` makes a frame as wide as the plot when it is chosen. Without it, the graph is the same as it is drawn here.

use super::element::{Element, mark, percent, pixels};
use super::frame::Frame;
use super::text;
use crate::html::palette::Colour;

/// A flame graph.
pub(crate) struct Flame<'a> {
    pub(crate) description: &'a str,
    pub(crate) root: &'a Part,
}

/// A frame with those below it.
pub(crate) struct Part {
    pub(crate) name: String,
    /// What it is with its values in full.
    pub(crate) exact: String,
    /// Its width, in the unit of all others. Those below it are not wider together.
    pub(crate) weight: f64,
    pub(crate) colour: Colour,
    pub(crate) below: Vec<Self>,
}

impl Part {
    /// How many frames stand one below the other, itself included.
    fn depth(&self) -> usize {
        1 + self.below.iter().map(Self::depth).max().unwrap_or(0)
    }

    /// How many frames there are, itself included.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        1 + self.below.iter().map(Self::count).sum::<usize>()
    }
}

/// The height of a row, and of a frame in it, in pixels.
const ROW: f64 = 21.0;
const HEIGHT: f64 = 20.0;

/// The widest plot of a page, in pixels: a name that does not fit its frame there is not written.
const WIDEST: f64 = 832.0;

impl Flame<'_> {
    /// The chart.
    pub(crate) fn svg(&self) -> String {
        let mut frames = Element::new("g").set("class", "flame");
        if self.root.weight > 0.0 {
            self.add(self.root, 0.0, 0, &mut frames);
        }
        let height = ROW * self.root.depth() as f64;
        let frame = Frame { left: 0.0, right: 0.0, top: 0.0, height, bottom: 0.0 };
        frame.svg(self.description, &[frames])
    }

    /// Adds a frame that begins at `from`, a part of the plot's width, and those below it.
    fn add(&self, part: &Part, from: f64, row: usize, to: &mut Element) {
        let width = part.weight / self.root.weight;
        let shape = Element::new("rect").set("width", "100%").set("height", "100%");
        let frame = Element::new("svg")
            .set("x", percent(from))
            .set("y", pixels(ROW * row as f64))
            .set("width", percent(width))
            .set("height", HEIGHT)
            .set("data-name", &part.name);
        let mut frame = mark(frame, &part.colour.class(), &part.exact).with(&shape);
        if text::width(&part.name) + 8.0 < WIDEST * width {
            frame.push(&Element::new("text").set("aria-hidden", "true").set("x", "4").set("y", "14").text(&part.name));
        }
        to.push(&frame);
        let mut next = from;
        for below in &part.below {
            self.add(below, next, row + 1, to);
            next += below.weight / self.root.weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::palette;

    fn part(name: &str, weight: f64, below: Vec<Part>) -> Part {
        let exact = format!("{name}: {weight} cycles");
        Part { name: name.to_owned(), exact, weight, colour: palette::FUNCTION, below }
    }

    #[test]
    fn frames_are_as_wide_as_their_part_and_stand_below_what_they_are_a_part_of() {
        let root = part("all", 8.0, vec![part("a", 4.0, vec![part("b", 1.0, Vec::new())]), part("c", 2.0, Vec::new())]);
        let svg = Flame { description: "A graph", root: &root }.svg();
        for (name, place) in [
            ("all", r#"x="0%" y="0" width="100%""#),
            ("a", r#"x="0%" y="21" width="50%""#),
            ("b", r#"x="0%" y="42" width="12.5%""#),
            ("c", r#"x="50%" y="21" width="25%""#),
        ] {
            assert!(svg.contains(&format!(r#"<svg {place} height="20" data-name="{name}""#)), "{name}: {svg}");
        }
        assert_eq!((root.depth(), root.count()), (3, 4));
        assert!(svg.contains("<title>b: 1 cycles</title>") && svg.contains(r#"height="63""#), "{svg}");
    }

    #[test]
    fn a_name_that_fits_nowhere_is_not_written() {
        let long = "a_function_with_a_name_that_is_longer_than_its_frame_is_wide";
        let root = part("all", 100.0, vec![part(long, 1.0, Vec::new())]);
        let svg = Flame { description: "", root: &root }.svg();
        assert!(svg.contains(&format!("<title>{long}")) && !svg.contains(&format!(">{long}</text>")), "{svg}");
    }

    #[test]
    fn nothing_has_no_frame() {
        let svg = Flame { description: "", root: &part("all", 0.0, Vec::new()) }.svg();
        assert!(!svg.contains("NaN") && !svg.contains("<rect"), "{svg}");
    }
}
