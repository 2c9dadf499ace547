//! Bars made of parts, one below the other.

use super::element::{Element, mark, percent, pixels};
use super::frame::{AXIS, Frame, Names, values_below};
use super::number::Numbers;
use super::scale::Linear;
use super::text;
use crate::html::palette::Colour;

/// A chart of stacks.
pub(crate) struct Stacked<'a> {
    pub(crate) description: &'a str,
    pub(crate) stacks: &'a [Stack],
    /// The value at the end of the scale.
    pub(crate) end: f64,
}

/// A bar and its parts, from the left to the right.
pub(crate) struct Stack {
    pub(crate) name: String,
    pub(crate) parts: Vec<Part>,
    /// What the bar shows behind it, such as the sum.
    pub(crate) label: String,
}

/// A part.
pub(crate) struct Part {
    /// Values below zero are drawn as nothing.
    pub(crate) value: f64,
    /// What it is with its value in full.
    pub(crate) exact: String,
    pub(crate) colour: Colour,
}

impl Stack {
    /// The sum of its parts, as long as it is drawn.
    pub(crate) fn sum(&self) -> f64 {
        self.parts.iter().map(|part| part.value.max(0.0)).sum()
    }
}

/// The height of a bar, in pixels.
const BAR: f64 = 14.0;

impl Stacked<'_> {
    /// The chart.
    pub(crate) fn svg(&self) -> String {
        let scale = Linear::over(0.0, self.end.max(0.0));
        let names = Names::of(self.stacks.iter().map(|stack| stack.name.as_str()));
        let widest = self.stacks.iter().map(|stack| text::width(&stack.label)).fold(0.0, f64::max);
        let mut marks = Vec::new();
        let mut top = 2.0;
        for stack in self.stacks {
            let (name, first) = names.place(&stack.name, top, BAR);
            marks.push(name);
            let mut before = 0.0;
            for part in &stack.parts {
                let (from, to) = (scale.at(before), scale.at(before + part.value.max(0.0)));
                before += part.value.max(0.0);
                let shape = Element::new("rect")
                    .set("x", percent(from))
                    .set("y", pixels(first))
                    .set("width", percent(to - from))
                    .set("height", pixels(BAR));
                marks.push(mark(shape, &part.colour.class(), &format!("{}: {}", stack.name, part.exact)));
            }
            let label = Element::new("text").set("class", "value").set("x", percent(scale.at(before)));
            marks.push(label.set("y", pixels(first + 11.0)).text(&stack.label));
            top = first + BAR + names.gap();
        }
        let frame = Frame { left: names.left(), right: widest + 8.0, top: 0.0, height: top, bottom: AXIS };
        let mut inside = values_below(&frame, scale, Numbers::Plain);
        inside.append(&mut marks);
        frame.svg(self.description, &inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::palette::TIMES;

    #[test]
    fn parts_follow_one_another() {
        let part =
            |(value, (what, colour)): (f64, (&str, Colour))| Part { value, exact: format!("{what} {value}"), colour };
        let parts = [1.0, 2.0, 1.0].into_iter().zip(TIMES).map(part).collect();
        let stacks = [Stack { name: "a".to_owned(), parts, label: "4".to_owned() }];
        assert_eq!(stacks[0].sum(), 4.0);
        let svg = Stacked { description: "A chart", stacks: &stacks, end: 8.0 }.svg();
        for place in
            [r#"x="0%" y="2" width="12.5%""#, r#"x="12.5%" y="2" width="25%""#, r#"x="37.5%" y="2" width="12.5%""#]
        {
            assert!(svg.contains(place), "{svg}");
        }
        assert!(svg.contains("<title>a: translation 2</title>") && svg.contains("c-hypervisor"), "{svg}");
    }
}
