//! Points over two numbers, of which the horizontal one is spaced by doublings, and through the best of each series a line of steps.

use super::element::{Element, mark, percent, pixels};
use super::frame::{STRETCHED, ValuesBeside, stretched};
use super::lines::Shape;
use super::number::{self, Numbers};
use super::scale::{Linear, Ticks, doublings};
use crate::html::palette::Colour;

/// A chart of points.
pub(crate) struct Scatter<'a> {
    pub(crate) description: &'a str,
    pub(crate) series: &'a [Series],
    /// The titles of the axes.
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
}

/// Points of one kind.
pub(crate) struct Series {
    pub(crate) colour: Colour,
    /// Marks the points of the front.
    pub(crate) shape: Shape,
    /// The points that no other one is better than, from the left to the right.
    pub(crate) front: Vec<Dot>,
    /// The others.
    pub(crate) others: Vec<Dot>,
}

/// A point.
pub(crate) struct Dot {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// What it is, and its values in full.
    pub(crate) exact: String,
}

/// The height of the plot in pixels.
const HEIGHT: f64 = 320.0;

impl Scatter<'_> {
    /// The chart.
    pub(crate) fn svg(&self) -> String {
        let across = Across::over(self.dots().map(|dot| dot.x));
        let highest = self.dots().map(|dot| dot.y).filter(|y| y.is_finite()).fold(0.0, f64::max);
        let upward = ValuesBeside::new(Linear::over(0.0, highest).nice(5), Numbers::Plain, self.y);
        let frame = upward.frame(HEIGHT);
        let mut inside = upward.elements(&frame);
        inside.extend(frame.labels_below(&across.labels()));
        inside.push(frame.title_below(self.x));
        let place = |dot: &Dot| (across.at(dot.x), upward.at(dot.y, &frame));
        // What is drawn later is above: the fronts are never hidden.
        for series in self.series {
            let point = |dot: &Dot| {
                let (x, y) = place(dot);
                let circle = Element::new("circle").set("cx", percent(x)).set("cy", pixels(y)).set("r", "2.5");
                mark(circle, &series.colour.class(), &dot.exact)
            };
            inside.extend(series.others.iter().map(point));
        }
        let mut space = stretched(HEIGHT);
        for series in self.series.iter().filter(|series| !series.front.is_empty()) {
            let path = Element::new("path").set("class", format!("curve {}", series.colour.class()));
            space.push(&path.set("d", steps(series.front.iter().map(place))));
        }
        inside.push(space);
        for series in self.series {
            let point = |dot: &Dot| {
                let (x, y) = place(dot);
                let shape = Element::new("use").set("href", series.shape.anchor());
                mark(shape.set("x", percent(x)).set("y", pixels(y)), &series.colour.class(), &dot.exact)
            };
            inside.extend(series.front.iter().map(point));
        }
        frame.svg(self.description, &inside)
    }

    fn dots(&self) -> impl Iterator<Item = &Dot> {
        self.series.iter().flat_map(|series| series.front.iter().chain(&series.others))
    }
}

/// The line through points from the left to the right: each is as good as can be had from its place to the next one's.
fn steps(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (index, (x, y)) in points.enumerate() {
        let (x, y) = (pixels(STRETCHED * x), pixels(y));
        path += &if index == 0 { format!("M{x} {y}") } else { format!("H{x}V{y}") };
    }
    format!("{path}H{STRETCHED}")
}

/// The horizontal scale, of logarithms.
struct Across(Linear);

impl Across {
    /// The least number that has a place: what is less is there, too.
    const LEAST: f64 = 1.0;

    fn over(numbers: impl Iterator<Item = f64>) -> Self {
        let logarithms = numbers.filter(|number| number.is_finite()).map(|number| number.max(Self::LEAST).log2());
        let ends = logarithms.fold(None, |ends: Option<(f64, f64)>, number| {
            Some(ends.map_or((number, number), |(least, most)| (least.min(number), most.max(number))))
        });
        let (least, most) = ends.unwrap_or((0.0, 1.0));
        Self(Linear::padded(least, most))
    }

    fn at(&self, number: f64) -> f64 {
        self.0.at(number.max(Self::LEAST).log2())
    }

    /// Powers of two, or round numbers where there are not two of them.
    fn labels(&self) -> Vec<(f64, String)> {
        let (from, to) = (self.0.from.exp2(), self.0.to.exp2());
        let powers = doublings(from, to, 9);
        if powers.len() > 1 {
            return powers.into_iter().map(|tick| (self.at(tick), number::binary(tick))).collect();
        }
        let Ticks { at, step } = Linear::over(from, to).ticks(5);
        let labels = number::labels(&at, step, Numbers::Plain);
        at.into_iter().map(|tick| self.at(tick)).zip(labels).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::palette;

    fn dot(x: f64, y: f64) -> Dot {
        Dot { x, y, exact: format!("{x} bits: {y}") }
    }

    fn draw(front: Vec<Dot>, others: Vec<Dot>) -> String {
        let series = [Series { colour: palette::MEASURED, shape: Shape::of_series(0), front, others }];
        Scatter { description: "A chart", series: &series, x: "bits", y: "cycles" }.svg()
    }

    #[test]
    fn each_doubling_is_as_long_as_another_and_the_front_is_a_line_of_steps() {
        let svg = draw(vec![dot(1024.0, 30.0), dot(4096.0, 10.0)], vec![dot(2048.0, 40.0)]);
        let place = |from: &str| svg.split(from).nth(1).unwrap().split('%').next().unwrap().parse::<f64>().unwrap();
        let (left, middle, right) = (place("href=\"#mark-0\" x=\""), place("cx=\""), {
            let second = svg.split("href=\"#mark-0\" x=\"").nth(2).unwrap();
            second.split('%').next().unwrap().parse::<f64>().unwrap()
        });
        assert!((middle - left - (right - middle)).abs() < 0.03 && left > 0.0 && right < 100.0, "{svg}");
        let path = svg.split(" d=\"").nth(1).unwrap().split('"').next().unwrap();
        let letters: String = path.chars().filter(char::is_ascii_alphabetic).collect();
        assert_eq!(letters, "MHVH", "{path}");
        assert!(svg.contains("<title>4096 bits: 10</title>") && svg.contains("<title>2048 bits: 40</title>"));
        assert!(svg.contains(">1 Ki</text>") && svg.contains(">4 Ki</text>") && svg.contains(">40</text>"), "{svg}");
    }

    #[test]
    fn numbers_within_a_doubling_have_round_ticks() {
        let svg = draw(vec![dot(1100.0, 3.0), dot(1400.0, 1.0)], vec![]);
        assert!(svg.contains(">1.2 k</text>"), "{svg}");
    }

    #[test]
    fn odd_numbers_have_a_place() {
        for (front, others) in [
            (vec![], vec![]),
            (vec![dot(0.0, 0.0)], vec![]),
            (vec![dot(f64::NAN, 1.0)], vec![dot(8.0, f64::INFINITY), dot(8.0, f64::NAN)]),
        ] {
            let svg = draw(front, others);
            let drawn = svg.split("<title>").next().unwrap();
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{svg}");
        }
    }
}
