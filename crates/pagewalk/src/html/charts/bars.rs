//! Bars one below the other, or groups of them.

use super::element::{Element, mark, percent, pixels};
use super::frame::{AXIS, Frame, Names, values_below};
use super::number::Numbers;
use super::scale::Linear;
use super::text;
use crate::html::palette::Colour;

/// A chart of bars.
pub(crate) struct Bars<'a> {
    pub(crate) description: &'a str,
    pub(crate) groups: &'a [Group],
    /// The value at the end of the scale; longer bars are cut there and have the mark ▸.
    pub(crate) end: f64,
    pub(crate) numbers: Numbers,
}

/// Bars that have a name together; often it is only one.
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) bars: Vec<Bar>,
}

/// A bar.
pub(crate) struct Bar {
    /// Which of its group it is; empty where it is alone.
    pub(crate) whose: &'static str,
    pub(crate) value: f64,
    /// The value as the bar shows it.
    pub(crate) label: String,
    /// The value in full, for those who point at the bar; if empty, the label.
    pub(crate) exact: String,
    pub(crate) colour: Colour,
}

impl Group {
    /// A single bar with its name.
    pub(crate) fn single(name: String, value: f64, label: String, colour: Colour) -> Self {
        Self { name, bars: vec![Bar { whose: "", value, label, exact: String::new(), colour }] }
    }

    /// With the value of its bars in full.
    pub(crate) fn exactly(mut self, exact: &str) -> Self {
        self.bars.iter_mut().for_each(|bar| exact.clone_into(&mut bar.exact));
        self
    }
}

/// The height of a bar, and what it takes with the space below it, in pixels.
const BAR: f64 = 12.0;
const ROW: f64 = 14.0;

impl Bars<'_> {
    /// The chart.
    pub(crate) fn svg(&self) -> String {
        let bars = || self.groups.iter().flat_map(|group| &group.bars);
        let least = bars().map(|bar| bar.value).filter(|value| value.is_finite()).fold(0.0, f64::min);
        let scale = Linear::over(least, self.end.max(0.0));
        let names = Names::of(self.groups.iter().map(|group| group.name.as_str()));
        let widest = bars().map(|bar| text::width(&self.shown(bar))).fold(0.0, f64::max);
        let mut marks = Vec::new();
        let mut top = 2.0;
        for group in self.groups {
            let height = ROW * group.bars.len() as f64;
            let (name, first) = names.place(&group.name, top, height);
            marks.push(name);
            for (index, bar) in group.bars.iter().enumerate() {
                marks.push(self.bar(group, bar, first + ROW * index as f64, scale));
            }
            top = first + height + names.gap();
        }
        let frame = Frame { left: names.left(), right: widest + 8.0, top: 0.0, height: top, bottom: AXIS };
        let mut inside = values_below(&frame, scale, self.numbers);
        inside.append(&mut marks);
        frame.svg(self.description, &inside)
    }

    fn bar(&self, group: &Group, bar: &Bar, top: f64, scale: Linear) -> Element {
        let (zero, end) = (scale.at(0.0), scale.at(bar.value));
        let shape = Element::new("rect")
            .set("x", percent(zero.min(end)))
            .set("y", pixels(top + 1.0))
            .set("width", percent((end - zero).abs()))
            .set("height", pixels(BAR));
        let label = Element::new("text")
            .set("class", "value")
            .set("x", percent(zero.max(end)))
            .set("y", pixels(top + 11.0))
            .text(&self.shown(bar));
        let exact = if bar.exact.is_empty() { &bar.label } else { &bar.exact };
        let whose = if bar.whose.is_empty() { String::new() } else { format!(", {}", bar.whose) };
        let spoken = format!("{}{whose}: {exact}", group.name);
        mark(Element::new("g"), &bar.colour.class(), &spoken).with(&shape).with(&label)
    }

    /// The label of a bar, which says where it is cut.
    fn shown(&self, bar: &Bar) -> String {
        if bar.value > self.end { format!("▸ {}", bar.label) } else { bar.label.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::palette;

    fn draw(groups: &[Group], end: f64) -> String {
        Bars { description: "A chart", groups, end, numbers: Numbers::Plain }.svg()
    }

    fn single(name: &str, value: f64) -> Group {
        Group::single(name.to_owned(), value, value.to_string(), palette::PLAIN)
    }

    #[test]
    fn bars_are_as_long_as_their_values_and_name_them() {
        let svg = draw(&[single("one", 2.0), single("two", 4.0).exactly("4 of 5")], 4.0);
        assert!(svg.contains(r#"x="0%" y="3" width="50%""#) && svg.contains(r#"width="100%""#), "{svg}");
        assert!(svg.contains("<title>one: 2</title>") && svg.contains("<title>two: 4 of 5</title>"), "{svg}");
        assert_eq!(svg.matches(r#"class="mark c-plain""#).count(), 2);
    }

    #[test]
    fn a_bar_beyond_the_end_is_cut_and_says_so() {
        let svg = draw(&[single("far", 40.0), single("near", 4.0)], 4.0);
        assert!(svg.contains(">▸ 40</text>") && !svg.contains("▸ 4<"), "{svg}");
        assert_eq!(svg.matches(r#"width="100%""#).count(), 2);
    }

    #[test]
    fn negative_bars_end_at_zero() {
        let svg = draw(&[single("less", -1.0), single("more", 3.0)], 3.0);
        assert!(svg.contains(r#"<rect x="0%" y="3" width="25%""#) && svg.contains(r#"<rect x="25%""#), "{svg}");
    }

    #[test]
    fn long_names_stand_above_and_are_shown_in_full() {
        let names: Vec<String> =
            (1..=13).map(|n| format!("shadow:4K+4K/shadow.tables={n}/paging.guest=sv48/paging.host=sv48x4")).collect();
        let groups: Vec<Group> = names.iter().map(|name| single(name, 1.0)).collect();
        let svg = draw(&groups, 1.0);
        let text: String = svg
            .split("<text class=\"name\">")
            .skip(1)
            .map(|part| {
                let part = part.split("</text>").next().unwrap();
                part.split('>').filter_map(|piece| piece.split('<').next()).collect::<String>() + "\n"
            })
            .collect();
        assert_eq!(text.lines().collect::<Vec<_>>(), names);
    }
}
