//! Curves over numbers, or over texts in the order in which they come.

use super::element::{Element, mark, percent, pixels};
use super::frame::{STRETCHED, ValuesBeside, stretched};
use super::number::{self, Numbers};
use super::scale::{Linear, Ticks, doublings};
use crate::html::palette::Colour;

/// A chart of curves.
pub(crate) struct Lines<'a> {
    pub(crate) description: &'a str,
    pub(crate) curves: &'a [Curve],
    pub(crate) x: Axis<'a>,
    pub(crate) y: Vertical<'a>,
}

/// The horizontal axis.
pub(crate) struct Axis<'a> {
    pub(crate) title: &'a str,
    pub(crate) spacing: Spacing,
}

/// How numbers are spaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spacing {
    /// Equal differences are equally long.
    Even,
    /// Each doubling is as long as another, where all numbers are above zero.
    Doublings,
}

/// The vertical axis, which begins at zero or below.
pub(crate) struct Vertical<'a> {
    pub(crate) title: &'a str,
    pub(crate) numbers: Numbers,
    /// The value at its end, at least: panels that are compared share it.
    pub(crate) end: Option<f64>,
}

/// A curve. Its marks and dashes distinguish it from others, not its colour alone.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
    pub(crate) colour: Colour,
    pub(crate) shape: Shape,
    pub(crate) stroke: Stroke,
}

/// A point of a curve.
pub(crate) struct Point {
    pub(crate) at: At,
    pub(crate) value: f64,
    /// Between which values it is likely to be.
    pub(crate) range: Option<[f64; 2]>,
    /// Its value in full.
    pub(crate) exact: String,
}

/// Where a point is on the horizontal axis.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum At {
    Number(f64),
    Text(String),
}

/// What marks the points of a curve: one of a few shapes, which the page has by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape(usize);

impl Shape {
    /// How many shapes the page has.
    const NUMBER: usize = 8;

    /// The shape of a series by its number; after a few, they repeat.
    pub(crate) const fn of_series(index: usize) -> Self {
        Self(index % Self::NUMBER)
    }

    /// The anchor of its outline in the page.
    pub(crate) fn anchor(self) -> String {
        format!("#mark-{}", self.0)
    }
}

/// How the line of a curve is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stroke {
    Solid,
    /// Not measured here, or found in what was.
    Dashed,
}

impl At {
    /// As a person reads it.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// The height of the plot in pixels.
const HEIGHT: f64 = 210.0;

impl Lines<'_> {
    /// The chart.
    pub(crate) fn svg(&self) -> String {
        let across = Across::of(self.curves, self.x.spacing);
        let upward = ValuesBeside::new(self.upward(), self.y.numbers, self.y.title);
        let frame = upward.frame(HEIGHT);
        let height = |value: f64| upward.at(value, &frame);
        let mut inside = upward.elements(&frame);
        inside.extend(frame.labels_below(&across.labels()));
        inside.push(frame.title_below(self.x.title));
        inside.push(self.paths(&across, &height));
        for curve in self.curves {
            inside.extend(self.marks(curve, &across, &height));
        }
        frame.svg(self.description, &inside)
    }

    /// The vertical scale: from zero, or below, to the greatest value.
    fn upward(&self) -> Linear {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let values = || points().flat_map(|point| point.range.into_iter().flatten().chain([point.value]));
        let values = || values().filter(|value| value.is_finite());
        let end = values().chain(self.y.end).fold(0.0, f64::max);
        Linear::over(values().fold(0.0, f64::min), end).nice(5)
    }

    /// The lines of all curves, in a space of their own that is stretched; the strokes are not.
    fn paths(&self, across: &Across, height: &dyn Fn(f64) -> f64) -> Element {
        let mut space = stretched(HEIGHT);
        for curve in self.curves.iter().filter(|curve| curve.points.len() > 1) {
            let point =
                |point: &Point| format!("{} {}", pixels(STRETCHED * across.at(&point.at)), pixels(height(point.value)));
            let points: Vec<String> = curve.points.iter().map(point).collect();
            let dashes = match curve.stroke {
                Stroke::Solid => "",
                Stroke::Dashed => " dashed",
            };
            let path = Element::new("path").set("class", format!("curve {}{dashes}", curve.colour.class()));
            space.push(&path.set("d", format!("M{}", points.join("L"))));
        }
        space
    }

    /// The points of a curve, with the range of each.
    fn marks(&self, curve: &Curve, across: &Across, height: &dyn Fn(f64) -> f64) -> Vec<Element> {
        let mut marks = Vec::new();
        for point in &curve.points {
            let x = percent(across.at(&point.at));
            if let Some([low, high]) = point.range {
                let line = Element::new("line").set("class", format!("range {}", curve.colour.class()));
                marks.push(
                    line.set("x1", &x).set("x2", &x).set("y1", pixels(height(low))).set("y2", pixels(height(high))),
                );
            }
            let shape = Element::new("use").set("href", curve.shape.anchor());
            let spoken = format!("{}, {} {}: {}", curve.name, self.x.title, point.at.text(), point.exact);
            let shape = shape.set("x", x).set("y", pixels(height(point.value)));
            marks.push(mark(shape, &curve.colour.class(), &spoken));
        }
        marks
    }
}

/// The horizontal scale.
enum Across {
    Numbers(Linear, Vec<f64>),
    Doublings(Linear),
    Texts(Vec<String>),
}

impl Across {
    fn of(curves: &[Curve], spacing: Spacing) -> Self {
        let places = || curves.iter().flat_map(|curve| &curve.points).map(|point| &point.at);
        let number = |at: &At| match at {
            At::Number(number) if number.is_finite() => Some(*number),
            _ => None,
        };
        let Some(mut numbers) = places().map(number).collect::<Option<Vec<f64>>>() else {
            let mut texts: Vec<String> = Vec::new();
            for text in places().map(At::text) {
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
            return Self::Texts(texts);
        };
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        let (first, last) = (numbers.first().copied().unwrap_or(0.0), numbers.last().copied().unwrap_or(1.0));
        if spacing == Spacing::Doublings && first > 0.0 {
            Self::Doublings(Linear::padded(first.log2(), last.log2()))
        } else {
            Self::Numbers(Linear::padded(first, last), numbers)
        }
    }

    fn at(&self, at: &At) -> f64 {
        match (self, at) {
            (Self::Numbers(scale, _), At::Number(number)) => scale.at(*number),
            (Self::Doublings(scale), At::Number(number)) => scale.at(number.log2()),
            (Self::Texts(texts), at) => {
                let index = texts.iter().position(|text| *text == at.text()).unwrap_or(0);
                middle(index, texts.len())
            }
            (Self::Numbers(..) | Self::Doublings(_), At::Text(_)) => 0.0,
        }
    }

    /// Where there are labels, and which.
    fn labels(&self) -> Vec<(f64, String)> {
        /// As many values as have a tick each.
        const FEW: usize = 8;
        match self {
            Self::Texts(texts) => {
                texts.iter().enumerate().map(|(index, text)| (middle(index, texts.len()), text.clone())).collect()
            }
            Self::Doublings(scale) => {
                let ticks = doublings(scale.from.exp2(), scale.to.exp2(), 9);
                ticks.into_iter().map(|tick| (scale.at(tick.log2()), number::binary(tick))).collect()
            }
            Self::Numbers(scale, values) if values.len() <= FEW && evenly(values) => {
                values.iter().map(|&value| (scale.at(value), number::short(value))).collect()
            }
            Self::Numbers(scale, _) => {
                let Ticks { at, step } = scale.ticks(6);
                let labels = number::labels(&at, step, Numbers::Plain);
                at.into_iter().map(|tick| scale.at(tick)).zip(labels).collect()
            }
        }
    }
}

/// Whether values, in order, are about as far from one to the next, so that none is on another's label.
fn evenly(values: &[f64]) -> bool {
    let gaps = || values.windows(2).map(|pair| pair[1] - pair[0]);
    gaps().fold(0.0, f64::max) <= 2.0 * gaps().fold(f64::INFINITY, f64::min)
}

fn middle(index: usize, count: usize) -> f64 {
    (index as f64 + 0.5) / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::palette;

    fn curve(places: impl IntoIterator<Item = At>) -> Curve {
        let point = |(index, at)| Point { at, value: index as f64, range: None, exact: format!("{index} ns") };
        Curve {
            name: "one".to_owned(),
            points: places.into_iter().enumerate().map(point).collect(),
            colour: palette::MEASURED,
            shape: Shape::of_series(0),
            stroke: Stroke::Solid,
        }
    }

    fn draw(curves: &[Curve], spacing: Spacing) -> String {
        let y = Vertical { title: "ns", numbers: Numbers::Plain, end: None };
        Lines { description: "A chart", curves, x: Axis { title: "pages", spacing }, y }.svg()
    }

    #[test]
    fn each_doubling_is_as_long_as_another() {
        let svg = draw(&[curve([1.0, 2.0, 4.0, 8.0].map(At::Number))], Spacing::Doublings);
        let places: Vec<f64> = svg
            .split("href=\"#mark-0\" x=\"")
            .skip(1)
            .map(|part| part.split('%').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(places.len(), 4);
        let gaps: Vec<f64> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (gap - gaps[0]).abs() < 0.02), "{places:?}");
        assert!(svg.contains("<title>one, pages 8: 3 ns</title>"), "{svg}");
    }

    #[test]
    fn texts_come_in_their_order() {
        let texts = ["lru", "fifo", "srrip"].map(|text| At::Text(text.to_owned()));
        let svg = draw(&[curve(texts)], Spacing::Even);
        let at = |text: &str| svg.find(&format!(">{text}</text>")).unwrap();
        assert!(at("lru") < at("fifo") && at("fifo") < at("srrip"));
        assert!(svg.contains(r#"x="50%""#), "{svg}");
    }

    #[test]
    fn a_scale_of_doublings_needs_numbers_above_zero() {
        let svg = draw(&[curve([0.0, 1.0, 2.0].map(At::Number))], Spacing::Doublings);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn panels_with_an_end_in_common_have_the_same_scale() {
        let short = curve([1.0, 2.0].map(At::Number));
        let y = |end| Vertical { title: "ns", numbers: Numbers::Plain, end };
        let draw = |end| {
            Lines {
                description: "",
                curves: std::slice::from_ref(&short),
                x: Axis { title: "", spacing: Spacing::Even },
                y: y(end),
            }
            .svg()
        };
        assert!(draw(Some(100.0)).contains(">100</text>") && !draw(None).contains(">100</text>"));
    }
}
