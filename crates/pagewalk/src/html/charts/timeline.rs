//! Counters over simulated time: panels one below the other on one axis of time. The script `brush.js` shows a part of the time when it is
//! chosen. What moves with it is in an `svg` of its own, whose width is the time from the first instant to the last.

use super::element::{Element, mark, pixels};
use super::frame::Frame;
use super::number::{self, Numbers};
use super::scale::{Linear, Ticks};
use super::text;
use crate::html::palette::Colour;

/// A chart over time.
pub(crate) struct Timeline<'a> {
    pub(crate) description: &'a str,
    pub(crate) span: Span,
    pub(crate) panels: &'a [Panel],
    pub(crate) steps: &'a [Step],
}

/// From when to when, in cycles of a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Cycles in a second.
    pub(crate) clock_hz: u64,
}

/// What is drawn of each step, as areas on top of each other.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) numbers: Numbers,
    /// The value at the end of the scale, at least.
    pub(crate) end: f64,
    pub(crate) layers: Vec<Layer>,
}

/// An area; it has a value for each step.
pub(crate) struct Layer {
    pub(crate) colour: Colour,
    pub(crate) values: Vec<f64>,
}

/// A part of the time in which each layer has one value.
pub(crate) struct Step {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The colour of its phase.
    pub(crate) phase: Colour,
    /// Its values in full.
    pub(crate) exact: String,
}

/// The width of the space of time, which is stretched to the width of the plot.
const STRETCHED: f64 = 10_000.0;
/// A panel, what it takes with its title, and the strip of phases below them all, in pixels.
const PANEL: f64 = 74.0;
const ROW: f64 = 104.0;
const STRIP: f64 = 8.0;

impl Span {
    /// Milliseconds of an instant.
    pub(crate) fn milliseconds(self, at: u64) -> f64 {
        at as f64 * 1000.0 / self.clock_hz.max(1) as f64
    }

    /// Where an instant is in the stretched space.
    pub(super) fn at(self, at: u64) -> f64 {
        STRETCHED * Linear::over(self.from as f64, self.to as f64).at(at as f64)
    }

    /// The space of what moves with the time that is shown, in a plot of that height.
    pub(super) fn window(self, height: f64) -> Element {
        let Self { from, to, .. } = self;
        Element::new("svg")
            .set("class", "window")
            .set("viewBox", format!("0 0 {STRETCHED} {}", pixels(height)))
            .set("preserveAspectRatio", "none")
            .set("width", "100%")
            .set("height", pixels(height))
            .set("data-from", self.milliseconds(from))
            .set("data-to", self.milliseconds(to))
    }

    /// The labels of time below a plot, which the script replaces, and what they are.
    pub(super) fn axis(self, frame: &Frame) -> Vec<Element> {
        let scale = Linear::over(self.milliseconds(self.from), self.milliseconds(self.to));
        let Ticks { at, step } = scale.ticks(6);
        let labels = number::labels(&at, step, Numbers::Plain);
        let labels: Vec<(f64, String)> = at.into_iter().map(|tick| scale.at(tick)).zip(labels).collect();
        let mut times = Element::new("g").set("class", "times");
        frame.labels_below(&labels).iter().for_each(|label| times.push(label));
        let title = Element::new("text").set("class", "tick").set("x", "50%").set("y", pixels(frame.height + 34.0));
        vec![times, title.text("milliseconds of simulated time")]
    }
}

impl Timeline<'_> {
    /// The chart.
    pub(crate) fn svg(&self) -> String {
        let height = ROW * self.panels.len() as f64 + STRIP;
        let scales: Vec<Linear> = self.panels.iter().map(|panel| Linear::over(0.0, panel.end).nice(2)).collect();
        let labels = |(panel, scale): (&Panel, &Linear)| {
            let Ticks { at, step } = scale.ticks(2);
            let labels = number::labels(&at, step, panel.numbers);
            at.into_iter().zip(labels).collect::<Vec<_>>()
        };
        let labels: Vec<Vec<(f64, String)>> = self.panels.iter().zip(&scales).map(labels).collect();
        let widest = labels.iter().flatten().map(|(_, label)| text::width(label)).fold(0.0, f64::max);
        let frame = Frame { left: widest + 9.0, right: 12.0, top: 0.0, height, bottom: 40.0 };
        let mut inside = Vec::new();
        let mut window = self.span.window(height);
        for (row, (panel, scale)) in self.panels.iter().zip(&scales).enumerate() {
            let bottom = ROW * (row + 1) as f64 - 4.0;
            let title = Element::new("text").set("class", "title").set("x", pixels(-frame.left));
            inside.push(title.set("y", pixels(bottom - PANEL - 10.0)).text(&panel.title));
            for (tick, label) in &labels[row] {
                let y = pixels(bottom - PANEL * scale.at(*tick));
                let line = Element::new("line").set("class", "guide").set("x1", "0").set("x2", "100%");
                inside.push(line.set("y1", &y).set("y2", &y));
                let y = pixels(bottom - PANEL * scale.at(*tick) + 4.0);
                inside.push(Element::new("text").set("class", "tick beside").set("x", "-7").set("y", y).text(label));
            }
            self.areas(panel, *scale, bottom).iter().for_each(|area| window.push(area));
        }
        for step in self.steps {
            let (from, to) = (self.span.at(step.from), self.span.at(step.to));
            let place = |shape: Element| shape.set("x", pixels(from)).set("width", pixels(to - from));
            let phase = Element::new("rect").set("class", format!("phase {}", step.phase.class()));
            window.push(&place(phase).set("y", pixels(height - STRIP)).set("height", STRIP));
            let shape = place(Element::new("rect")).set("y", "0").set("height", pixels(height - STRIP));
            window.push(&mark(shape, "step", &step.exact));
        }
        inside.push(window);
        inside.extend(self.span.axis(&frame));
        frame.svg(self.description, &inside)
    }

    /// The layers of a panel, each above those before it.
    fn areas(&self, panel: &Panel, scale: Linear, bottom: f64) -> Vec<Element> {
        let mut below = vec![0.0; self.steps.len()];
        let mut areas = Vec::new();
        for layer in &panel.layers {
            let mut path = String::new();
            for (index, step) in self.steps.iter().enumerate() {
                let (first, last) = (below[index], below[index] + layer.values[index].max(0.0));
                let y = |value: f64| pixels(bottom - PANEL * scale.at(value));
                let (from, to) = (pixels(self.span.at(step.from)), pixels(self.span.at(step.to)));
                path += &format!("M{from} {}V{}H{to}V{}z", y(first), y(last), y(first));
                below[index] = last;
            }
            areas.push(Element::new("path").set("class", format!("area {}", layer.colour.class())).set("d", path));
        }
        areas
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::palette;

    fn draw() -> String {
        let step = |from, to| Step { from, to, phase: palette::FOUND, exact: format!("{from} to {to}: 3") };
        let layer = |values: [f64; 2]| Layer { colour: palette::PLAIN, values: values.into() };
        let panel = Panel {
            title: "Parts".to_owned(),
            numbers: Numbers::Ratios,
            end: 1.0,
            layers: vec![layer([0.5, 1.0]), layer([0.5, 0.0])],
        };
        let span = Span { from: 0, to: 4_000_000, clock_hz: 1_000_000_000 };
        let steps = [step(0, 1_000_000), step(1_000_000, 4_000_000)];
        Timeline { description: "Over time", span, panels: &[panel], steps: &steps }.svg()
    }

    #[test]
    fn steps_are_as_long_as_their_time_and_layers_stand_on_each_other() {
        let svg = draw();
        assert!(svg.contains(r#"data-from="0" data-to="4""#), "{svg}");
        assert!(svg.contains(r#"x="0" width="2500""#) && svg.contains(r#"x="2500" width="7500""#), "{svg}");
        assert!(svg.contains("M0 100V63H2500V100z") && svg.contains("M0 63V26H2500V63z"), "{svg}");
        assert!(svg.contains("<title>1000000 to 4000000: 3</title>") && svg.contains(">100 %</text>"), "{svg}");
    }
}
