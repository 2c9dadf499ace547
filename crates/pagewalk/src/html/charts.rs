//! Charts as Vega-Lite specifications. Colours are properties of the style sheet, so that a chart turns dark, or light for print, by itself.

use serde_json::{Value, json};

/// The paper's number and ours, each with how it reads.
pub(super) struct Pair {
    pub(super) name: String,
    pub(super) paper: Option<(f64, String)>,
    pub(super) ours: Option<(f64, String)>,
}

impl Pair {
    /// The numbers that there are.
    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        [&self.paper, &self.ours].into_iter().flatten().map(|(value, _)| *value)
    }
}

/// Pairs of bars one below the other; `colours` are the paper's and ours.
pub(super) fn pairs(description: &str, pairs: &[Pair], longest: f64, colours: [&str; 2]) -> Value {
    let mut values = Vec::new();
    for pair in pairs {
        for (whose, side, colour) in [("paper", &pair.paper, colours[0]), ("ours", &pair.ours, colours[1])] {
            let Some((value, label)) = side else { continue };
            let label = if *value > longest { format!("▸ {label}") } else { label.clone() };
            values.push(json!({ "name": pair.name, "whose": whose, "value": value.min(longest), "label": label, "colour": colour }));
        }
    }
    let negative = pairs.iter().flat_map(Pair::values).fold(0.0, f64::min);
    let both =
        values.iter().any(|value| value["whose"] == "paper") && values.iter().any(|value| value["whose"] == "ours");
    let mut spec = json!({
        "description": description,
        "width": "container",
        "autosize": { "type": "fit-x", "contains": "padding" },
        "height": if both { 2 * ROW } else { ROW } * pairs.len(),
        "data": { "values": values },
        "encoding": {
            "y": { "field": "name", "type": "nominal", "sort": null, "axis": { "title": null, "domain": false, "ticks": false, "labelPadding": 6, "labelLimit": 150 } },
            "x": {
                "field": "value",
                "type": "quantitative",
                "scale": { "domain": [negative, longest * 1.45], "nice": false },
                "axis": { "title": null, "tickCount": 4, "grid": true, "domain": false, "ticks": false },
            },
            "yOffset": { "field": "whose", "type": "nominal", "sort": ["paper", "ours"] },
        },
        "layer": [
            {
                "mark": { "type": "bar", "height": { "band": 0.8 } },
                "encoding": { "color": { "field": "colour", "type": "nominal", "scale": null } },
            },
            {
                "mark": { "type": "text", "align": "left", "baseline": "middle", "dx": 5, "aria": false },
                "encoding": { "text": { "field": "label" } },
            },
        ],
    });
    if !both {
        spec["encoding"].as_object_mut().expect("it is one").remove("yOffset");
        spec["layer"][0]["mark"]["height"] = json!({ "band": 0.68 });
    }
    spec
}

/// The text that a screen reader speaks for a chart of pairs.
pub(super) fn spoken_pairs(pairs: &[Pair]) -> String {
    let side =
        |side: &Option<(f64, String)>| side.as_ref().map_or_else(|| "none".to_owned(), |(_, label)| label.clone());
    let each: Vec<String> =
        pairs.iter().map(|pair| format!("{}: {} and {}", pair.name, side(&pair.paper), side(&pair.ours))).collect();
    each.join("; ")
}

/// A curve: its name, and its points.
pub(super) struct Curve {
    pub(super) name: String,
    /// Pairs of x, a number or a text, and y.
    pub(super) points: Vec<(Value, f64)>,
    pub(super) colour: &'static str,
    /// Drawn with dashes: not measured here.
    pub(super) quoted: bool,
}

/// What the numbers of an axis are.
#[derive(Clone, Copy)]
pub(super) enum Numbers {
    Plain,
    /// Ratios, written as percentages.
    Ratios,
}

impl Numbers {
    /// As d3-format has it.
    const fn format(self) -> &'static str {
        match self {
            Self::Plain => ",",
            Self::Ratios => ".0%",
        }
    }
}

/// Curves over numbers, or over texts in the order in which they come. Marks and dashes distinguish them, not colour alone.
pub(super) fn lines(description: &str, curves: &[Curve], x: &str, y: &str) -> Value {
    let points = curves.iter().flat_map(|curve| curve.points.iter().map(move |(at, value)| (curve, at, value)));
    let numeric = points.clone().all(|(_, at, _)| at.is_number());
    let values: Vec<Value> =
        points.map(|(curve, at, value)| json!({ "curve": curve.name, "x": at, "y": value })).collect();
    let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
    let colours: Vec<&str> = curves.iter().map(|curve| curve.colour).collect();
    let dashes: Vec<Value> =
        curves.iter().map(|curve| if curve.quoted { json!([5, 4]) } else { json!([1, 0]) }).collect();
    let shapes =
        ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right"];
    let shapes: Vec<&str> = (0..curves.len()).map(|index| shapes[index % shapes.len()]).collect();
    let legend = if curves.len() > 1 {
        json!({ "title": null, "orient": "top", "direction": "vertical", "symbolSize": 60, "labelLimit": 260, "labelFontSize": 12, "offset": 20 })
    } else {
        Value::Null
    };
    let mut horizontal = json!({
        "field": "x",
        "type": if numeric { "quantitative" } else { "ordinal" },
        "axis": { "title": x, "grid": false, "labelAngle": 0, "labelOverlap": true, "tickCount": 6 },
    });
    if numeric {
        horizontal["scale"] = json!({ "zero": false, "padding": 8 });
    } else {
        horizontal["sort"] = Value::Null;
    }
    json!({
        "description": description,
        "width": "container",
        "autosize": { "type": "fit-x", "contains": "padding" },
        "height": 230,
        "data": { "values": values },
        "mark": { "type": "line", "point": { "size": 40 }, "strokeWidth": 2, "clip": false },
        "encoding": {
            "x": horizontal,
            "y": {
                "field": "y",
                "type": "quantitative",
                "axis": { "title": y, "tickCount": 5, "domain": false, "ticks": false, "titleAnchor": "start", "titleAngle": 0, "titleAlign": "left", "titleY": -8, "titleX": 0 },
            },
            "color": { "field": "curve", "type": "nominal", "scale": { "domain": names, "range": colours }, "legend": legend },
            "shape": { "field": "curve", "type": "nominal", "scale": { "domain": names, "range": shapes }, "legend": legend },
            "strokeDash": { "field": "curve", "type": "nominal", "scale": { "domain": names, "range": dashes }, "legend": legend },
        },
    })
}

/// Changes the horizontal axis of [`lines`] over numbers to one on which each doubling is as long.
pub(super) fn by_doublings(spec: &mut Value) {
    let horizontal = &mut spec["encoding"]["x"];
    horizontal["scale"] = json!({ "type": "log", "base": 2 });
    horizontal["axis"]["format"] = json!(".3~s");
}

/// Height of a bar with what is between it and the next, in pixels. (Vega-Lite's own steps do not go with a width that fits.)
const ROW: usize = 19;

/// One bar.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) value: f64,
    /// The value as the bar shows it.
    pub(super) label: String,
    pub(super) colour: &'static str,
}

/// The text that a screen reader speaks for a chart of bars.
pub(super) fn spoken(bars: &[Bar]) -> String {
    let each: Vec<String> = bars.iter().map(|bar| format!("{}: {}", bar.name, bar.label)).collect();
    each.join("; ")
}

/// Where bars end that would make all others too small to tell apart: at the greatest value, unless a few are more than three times as long
/// as the next one; those are cut, and say so.
pub(super) fn cut(values: impl Iterator<Item = f64>) -> f64 {
    const MUCH: f64 = 3.0;
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(|a, b| b.total_cmp(a));
    let few = values.len() / 8;
    let longer = (0..few).rev().find(|&index| values[index] > MUCH * values[index + 1] && values[index + 1] > 0.0);
    values.get(longer.map_or(0, |index| index + 1)).copied().unwrap_or(0.0).max(1e-9)
}

/// Bars one below the other, each with its name before it and its value behind it.
pub(super) fn bars(description: &str, bars: &[Bar], longest: f64, numbers: Numbers) -> Value {
    let values: Vec<Value> = bars
        .iter()
        .map(|bar| {
            let cut = bar.value > longest;
            json!({
                "name": bar.name,
                "value": bar.value.min(longest),
                "label": if cut { format!("▸ {}", bar.label) } else { bar.label.clone() },
                "colour": bar.colour,
                "exact": bar.label,
            })
        })
        .collect();
    let negative = bars.iter().map(|bar| bar.value).fold(0.0, f64::min);
    json!({
        "description": description,
        "width": "container",
        "autosize": { "type": "fit-x", "contains": "padding" },
        "height": ROW * bars.len(),
        "data": { "values": values },
        "encoding": {
            "y": { "field": "name", "type": "nominal", "sort": null, "axis": { "title": null, "domain": false, "ticks": false, "labelPadding": 6, "labelLimit": 160 } },
            "x": {
                "field": "value",
                "type": "quantitative",
                // Room for the labels.
                "scale": { "domain": [negative, longest * 1.45], "nice": false },
                "axis": { "title": null, "format": numbers.format(), "tickCount": 4, "grid": true, "domain": false, "ticks": false },
            },
        },
        "layer": [
            {
                "mark": { "type": "bar", "height": { "band": 0.68 } },
                "encoding": {
                    "color": { "field": "colour", "type": "nominal", "scale": null },
                    "description": { "field": "exact" },
                },
            },
            {
                "mark": { "type": "text", "align": "left", "baseline": "middle", "dx": 5, "aria": false },
                "encoding": { "text": { "field": "label" } },
            },
        ],
    })
}

/// Bars one below the other, each made of parts: its name, and the value and colour of each part.
pub(super) fn stacked(description: &str, bars: &[(String, Vec<f64>)], parts: &[(&str, &str)], unit: &str) -> Value {
    let values: Vec<Value> = bars
        .iter()
        .flat_map(|(name, of_parts)| {
            of_parts.iter().zip(parts).enumerate().map(move |(order, (value, (part, colour)))| {
                json!({ "name": name, "part": part, "order": order, "value": value, "colour": colour })
            })
        })
        .collect();
    json!({
        "description": description,
        "width": "container",
        "autosize": { "type": "fit-x", "contains": "padding" },
        "height": ROW * bars.len(),
        "data": { "values": values },
        "mark": { "type": "bar", "height": { "band": 0.68 } },
        "encoding": {
            "y": { "field": "name", "type": "nominal", "sort": null, "axis": { "title": null, "domain": false, "ticks": false, "labelPadding": 6, "labelLimit": 160 } },
            "x": {
                "field": "value",
                "type": "quantitative",
                "stack": "zero",
                "axis": { "title": unit, "tickCount": 4, "grid": true, "domain": false, "ticks": false },
            },
            "color": { "field": "colour", "type": "nominal", "scale": null },
            "order": { "field": "order" },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_few_bars_that_are_far_longer_are_cut() {
        let cut = |values: &[f64]| cut(values.iter().copied());
        assert_eq!(cut(&[17.0, 2.7, 1.2, 1.2, 1.0, 0.2, 0.1, 0.0]), 2.7);
        assert_eq!(cut(&[7.0, 2.7, 1.2, 1.2, 1.0, 0.2, 0.1, 0.0]), 7.0, "not three times as long");
        assert_eq!(cut(&[17.0, 2.7]), 17.0, "one of two is not a few");
        assert_eq!(cut(&[]), 1e-9);
    }
}
