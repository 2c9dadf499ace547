//! What charts have around their marks: the plot with its margins, an axis of values, and the names of rows.

use super::element::{Element, percent, pixels};
use super::number::{self, Numbers};
use super::scale::{Linear, Ticks};
use super::text;

/// The width of a plot with its margins on the narrowest screen, in pixels.
pub(super) const NARROW: f64 = 280.0;

/// Between two labels, in pixels.
const GAP: f64 = 10.0;

/// A plot and its margins, in pixels. Its width is what is left of the page's.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) height: f64,
    pub(super) bottom: f64,
}

impl Frame {
    /// The chart with what is in its plot, whose first pixel is number 0.
    pub(super) fn svg(&self, description: &str, inside: &[Element]) -> String {
        let mut plot = Element::new("g");
        if self.top > 0.0 {
            plot = plot.set("transform", format!("translate(0 {})", pixels(self.top)));
        }
        inside.iter().for_each(|element| plot.push(element));
        Element::new("svg")
            .set("class", "plot")
            .set("role", "group")
            .set("aria-label", description)
            .set("height", pixels(self.top + self.height + self.bottom))
            .set("style", format!("--left:{}px;--right:{}px", pixels(self.left), pixels(self.right)))
            .with(&plot)
            .to_string()
    }

    /// The title of the axis below the plot.
    pub(super) fn title_below(&self, title: &str) -> Element {
        Element::new("text").set("class", "tick").set("x", "50%").set("y", pixels(self.height + 34.0)).text(title)
    }

    /// The width of the plot on the narrowest screen.
    fn narrow(&self) -> f64 {
        (NARROW - self.left - self.right).max(1.0)
    }

    /// Labels below the plot, where there is room for them. Some are shown on wide screens alone.
    pub(super) fn labels_below(&self, labels: &[(f64, String)]) -> Vec<Element> {
        let widest = labels.iter().map(|(_, label)| text::width(label)).fold(0.0, f64::max);
        let places = labels.windows(2).map(|pair| pair[1].0 - pair[0].0).fold(f64::INFINITY, f64::min);
        let every = if places.is_finite() && places > 0.0 {
            ((widest + GAP) / (places * self.narrow())).ceil().max(1.0) as usize
        } else {
            1
        };
        let label = |(index, (at, label)): (usize, &(f64, String))| {
            Element::new("text")
                .set("class", if index % every == 0 { "tick" } else { "tick fine" })
                .set("x", percent(*at))
                .set("y", pixels(self.height + 16.0))
                .text(label)
        };
        labels.iter().enumerate().map(label).collect()
    }
}

/// The width of a space that is stretched to that of the plot.
pub(super) const STRETCHED: f64 = 1000.0;

/// A space for lines in the plot. It is stretched to the plot's width, and the strokes of lines are not.
pub(super) fn stretched(height: f64) -> Element {
    Element::new("svg")
        .set("viewBox", format!("0 0 {STRETCHED} {height}"))
        .set("preserveAspectRatio", "none")
        .set("width", "100%")
        .set("height", height)
        .set("aria-hidden", "true")
}

/// An axis of values at the left of a plot, with lines through it.
pub(super) struct ValuesBeside<'a> {
    scale: Linear,
    ticks: Vec<(f64, String)>,
    title: &'a str,
}

impl<'a> ValuesBeside<'a> {
    pub(super) fn new(scale: Linear, numbers: Numbers, title: &'a str) -> Self {
        let Ticks { at, step } = scale.ticks(5);
        let labels = number::labels(&at, step, numbers);
        Self { scale, ticks: at.into_iter().zip(labels).collect(), title }
    }

    /// A plot with room for the axis, and for one below.
    pub(super) fn frame(&self, height: f64) -> Frame {
        let widest = self.ticks.iter().map(|(_, label)| text::width(label)).fold(0.0, f64::max);
        Frame { left: widest + 9.0, right: 12.0, top: 26.0, height, bottom: 40.0 }
    }

    /// How far below the top of the plot a value is.
    pub(super) fn at(&self, value: f64, frame: &Frame) -> f64 {
        frame.height * (1.0 - self.scale.at(value))
    }

    /// The axis.
    pub(super) fn elements(&self, frame: &Frame) -> Vec<Element> {
        let title = Element::new("text").set("class", "title").set("x", pixels(-frame.left)).set("y", "-13");
        let mut elements = vec![title.text(self.title)];
        for (tick, label) in &self.ticks {
            let y = self.at(*tick, frame);
            let line = Element::new("line").set("class", "guide").set("x1", "0").set("x2", "100%");
            elements.push(line.set("y1", pixels(y)).set("y2", pixels(y)));
            let text = Element::new("text").set("class", "tick beside").set("x", "-7").set("y", pixels(y + 4.0));
            elements.push(text.text(label));
        }
        elements
    }
}

/// Room for an axis of values below a plot.
pub(super) const AXIS: f64 = 22.0;

/// An axis of values below the plot, with lines through it.
pub(super) fn values_below(frame: &Frame, scale: Linear, numbers: Numbers) -> Vec<Element> {
    let Ticks { at, step } = scale.ticks(4);
    let labels: Vec<(f64, String)> =
        at.iter().map(|&tick| scale.at(tick)).zip(number::labels(&at, step, numbers)).collect();
    let lines = labels.iter().map(|&(at, _)| {
        Element::new("line")
            .set("class", "guide")
            .set("x1", percent(at))
            .set("x2", percent(at))
            .set("y1", "0")
            .set("y2", pixels(frame.height))
    });
    lines.chain(frame.labels_below(&labels)).collect()
}

/// Where rows have their names.
pub(super) enum Names {
    /// At the left, in a margin that is so wide.
    Beside(f64),
    /// Above, as many lines as they need: long names are never cut.
    Above,
}

/// One line of a name, in pixels.
const LINE: f64 = 15.0;

impl Names {
    /// Beside the rows, if all names are short.
    pub(super) fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        const SHORT: f64 = 112.0;
        let widest = names.map(text::width).fold(0.0, f64::max);
        if widest <= SHORT { Self::Beside(widest + 8.0) } else { Self::Above }
    }

    /// The left margin.
    pub(super) const fn left(&self) -> f64 {
        match self {
            Self::Beside(width) => *width,
            Self::Above => 1.0,
        }
    }

    /// Between two rows.
    pub(super) const fn gap(&self) -> f64 {
        match self {
            Self::Beside(_) => 6.0,
            Self::Above => 8.0,
        }
    }

    /// The name of a row that begins at `top` and whose bars are `height` high, and where the bars begin.
    pub(super) fn place(&self, name: &str, top: f64, height: f64) -> (Element, f64) {
        match self {
            Self::Beside(_) => {
                let middle = top + height / 2.0 + 4.0;
                let text = Element::new("text").set("class", "name beside").set("x", "-8").set("y", pixels(middle));
                (text.text(name), top)
            }
            Self::Above => {
                let lines = text::wrapped(name, NARROW);
                let mut text = Element::new("text").set("class", "name");
                for (index, line) in lines.iter().enumerate() {
                    let y = top + LINE * index as f64 + 11.0;
                    text.push(&Element::new("tspan").set("x", "0").set("y", pixels(y)).text(line));
                }
                (text, top + LINE * lines.len() as f64 + 1.0)
            }
        }
    }
}
