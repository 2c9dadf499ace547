//! Colours, as properties of the style sheet, which gives them a light and a dark value. Marks never tell by colour alone.

use super::document::Key;
use schemes::{Family, registry};

/// Of a scheme, by its family. A report may be of a scheme that this program does not have.
pub(super) fn of_scheme(scheme: &str) -> &'static str {
    let name = scheme.split([':', '/']).next().unwrap_or(scheme);
    match registry::find(name).map_or(Family::Other, |scheme| scheme.facts().family) {
        Family::Native => "var(--c-native)",
        Family::Nested => "var(--c-nested)",
        Family::Shadow => "var(--c-shadow)",
        Family::Flat => "var(--c-flat)",
        Family::Segment => "var(--c-segment)",
        Family::Other => "var(--c-other)",
    }
}

/// The parts of time, each with its colour.
pub(super) const TIMES: [(&str, &str); 3] = [
    ("the guest's instructions", "var(--c-guest)"),
    ("translation", "var(--c-translation)"),
    ("the hypervisor", "var(--c-hypervisor)"),
];

/// What their colours mean.
pub(super) fn legend_of_times() -> Vec<Key> {
    TIMES.map(|(name, colour)| Key { colour, name: name.to_owned() }).into()
}

/// Of series that have no colour of their own.
pub(super) fn of_series(index: usize) -> &'static str {
    const SERIES: [&str; 8] =
        ["var(--s1)", "var(--s2)", "var(--s3)", "var(--s4)", "var(--s5)", "var(--s6)", "var(--s7)", "var(--s8)"];
    SERIES[index % SERIES.len()]
}
