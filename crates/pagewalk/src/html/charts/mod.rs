//! Charts: a description in, a string of SVG out. Each kind of chart is one file.
//!
//! Text keeps its size on every screen, and nothing is laid out by a script: horizontal positions are percentages of the plot, vertical ones
//! are pixels. Colours are classes of the style sheet ([`super::palette`]), so that a chart follows dark mode and print. Each mark has a
//! `<title>` with its exact value, which browsers show, screen readers speak, and the page's script makes reachable by keyboard.
//!
//! No plotting crate is used. `plotters` writes colours and absolute positions into each element, and has neither classes nor titles.

mod bars;
mod element;
mod flame;
mod frame;
mod heat;
mod lines;
mod number;
mod scale;
mod scatter;
mod stacked;
mod text;
mod timeline;

pub(super) use bars::{Bar, Bars, Group};
pub(super) use flame::{Flame, Part as FlamePart};
pub(super) use heat::{Heat, HeatRow, Region, SHADES, shade};
pub(super) use lines::{At, Axis, Curve, Lines, Point, Shape, Spacing, Stroke, Vertical};
pub(super) use number::{Numbers, short};
pub(super) use scale::{cut, shared};
pub(super) use scatter::{Dot, Scatter, Series};
pub(super) use stacked::{Part, Stack, Stacked};
pub(super) use timeline::{Layer, Panel, Span, Step, Timeline};

/// The words that a screen reader speaks for groups of values.
pub(super) fn spoken(groups: &[Group]) -> String {
    let bar = |bar: &Bar| if bar.whose.is_empty() { bar.label.clone() } else { format!("{} {}", bar.whose, bar.label) };
    let values = |group: &Group| group.bars.iter().map(bar).collect::<Vec<_>>().join(", ");
    groups.iter().map(|group| format!("{}: {}", group.name, values(group))).collect::<Vec<_>>().join("; ")
}
