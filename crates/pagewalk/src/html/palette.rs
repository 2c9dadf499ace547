//! Colours, as properties of the style sheet, which gives them a light and a dark value. Marks never tell by colour alone.

use super::document::Key;

/// Of a scheme, by its mechanism.
pub(super) fn of_scheme(scheme: &str) -> &'static str {
    match scheme.split([':', '/']).next().unwrap_or(scheme) {
        "native" => "var(--c-native)",
        "nested" => "var(--c-nested)",
        "shadow" | "agile" => "var(--c-shadow)",
        "flat" | "flat-hw" | "reserved" => "var(--c-flat)",
        "native-segment" | "vmm-direct" | "guest-direct" | "dual-direct" => "var(--c-segment)",
        _ => "var(--c-other)",
    }
}

/// The parts of time, each with its colour.
pub(super) const TIMES: [(&str, &str); 3] = [
    ("the guest's instructions", "var(--c-guest)"),
    ("translation", "var(--c-translation)"),
    ("the monitor", "var(--c-monitor)"),
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
