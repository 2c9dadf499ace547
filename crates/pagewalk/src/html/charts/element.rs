//! Elements of SVG. Every text and every value of an attribute is escaped here.

use std::fmt::{self, Display, Write as _};

/// An element with what is inside it.
pub(super) struct Element {
    name: &'static str,
    attributes: String,
    content: String,
}

impl Element {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, attributes: String::new(), content: String::new() }
    }

    /// With an attribute.
    pub(super) fn set(mut self, name: &str, value: impl Display) -> Self {
        let value = escaped(&value.to_string());
        write!(self.attributes, r#" {name}="{value}""#).expect("a string takes any text");
        self
    }

    /// With an element inside, after those that are there.
    pub(super) fn with(mut self, child: &Self) -> Self {
        self.push(child);
        self
    }

    /// With a text inside, after what is there.
    pub(super) fn text(mut self, text: &str) -> Self {
        self.content.push_str(&escaped(text));
        self
    }

    /// Adds an element inside, after those that are there.
    pub(super) fn push(&mut self, child: &Self) {
        write!(self.content, "{child}").expect("a string takes any text");
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, attributes, content } = self;
        if content.is_empty() {
            write!(f, "<{name}{attributes}/>")
        } else {
            write!(f, "<{name}{attributes}>{content}</{name}>")
        }
    }
}

/// A mark with its exact value.
pub(super) fn mark(shape: Element, class: &str, value: &str) -> Element {
    shape.set("class", format!("mark {class}")).set("role", "img").with(&Element::new("title").text(value))
}

/// A length in pixels, to a hundredth.
pub(super) fn pixels(length: f64) -> String {
    let text = format!("{length:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A part of the plot's width.
pub(super) fn percent(fraction: f64) -> String {
    format!("{}%", pixels(100.0 * fraction))
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_attributes_stay_inside_their_element() {
        let hostile = "\"><script>&";
        let element = Element::new("text").set("x", hostile).text(hostile);
        let escaped = "&quot;&gt;&lt;script&gt;&amp;";
        assert_eq!(element.to_string(), format!("<text x=\"{escaped}\">{escaped}</text>"));
    }

    #[test]
    fn lengths_are_short() {
        assert_eq!([pixels(12.0), pixels(0.126), pixels(-0.001), percent(0.5)], ["12", "0.13", "0", "50%"]);
    }
}
