//! What was measured as JSON.

use super::{Quantity, Unit, quantities, warnings};
use calibrate::staircase::Level;
use calibrate::{Curve, CurveKind, Findings, HugeEntries, Pages, Translated};
use serde_json::{Value, json};

/// The report; `model` is the text of the host model.
pub(crate) fn report(findings: &Findings, base: &str, model: &str) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "machine": {
            "processor": findings.host.processor,
            "hypervisor": findings.host.hypervisor,
            "huge_pages": findings.no_huge_pages.is_none(),
            "huge_entries": match findings.huge_entries {
                Ok(HugeEntries::Whole) => json!("whole"),
                Ok(HugeEntries::Splintered) => json!("splintered"),
                Err(_) => Value::Null,
            },
        },
        "base": base,
        "warnings": warnings(findings),
        "quantities": quantities(findings).iter().map(quantity).collect::<Vec<_>>(),
        "staircases": findings.curves.iter().map(curve).collect::<Vec<_>>(),
        "model": model,
    })
}

fn quantity(quantity: &Quantity) -> Value {
    let Quantity { key, name, unit, number, how } = quantity;
    match number {
        // A clock in cycles of a second; its text has them in GHz.
        Ok(number) => json!({
            "key": key, "name": name, "unit": if *unit == Unit::Hertz { "Hz" } else { unit.name() }, "how": how,
            "value": number.value, "low": number.low, "high": number.high, "sure": number.certainty.name(), "text": quantity.text(),
        }),
        Err(reason) => {
            json!({ "key": key, "name": name, "unit": unit.name(), "how": how, "value": Value::Null, "not": reason })
        }
    }
}

fn curve(curve: &Curve) -> Value {
    let (title, axis) = describe(curve.kind);
    json!({
        "title": title,
        "axis": axis,
        "points": curve.points.iter().map(|point| {
            json!({ "size": point.size, "ns": point.value.median, "low": point.value.low, "high": point.value.high })
        }).collect::<Vec<_>>(),
        "levels": curve.levels.iter().map(level).collect::<Vec<_>>(),
    })
}

fn level(level: &Level) -> Value {
    json!({
        "ns": level.value.median, "low": level.value.low, "high": level.value.high, "first": level.first, "last": level.last,
        "holds": level.holds.map(|holds| json!({ "least": holds.least, "below": holds.below })),
    })
}

/// What a curve is of, and what is on its axis.
fn describe(kind: CurveKind) -> (String, &'static str) {
    let title = match kind {
        CurveKind::Caches => "Latency by memory".to_owned(),
        CurveKind::Ways { level } => format!("Latency by lines of one set of cache {level}"),
        CurveKind::Reach(Translated::Base) => "Cost of translation by 4K pages".to_owned(),
        CurveKind::Reach(Translated::Huge) => "Cost of translation by 2M pages".to_owned(),
        CurveKind::Reach(Translated::BaseOfHuge) => "Cost of translation by 4K of 2M pages".to_owned(),
        CurveKind::TlbWays(Pages::Base) => "Latency by 4K pages of one set of the TLB".to_owned(),
        CurveKind::TlbWays(Pages::Huge) => "Latency by 2M pages of one set of the TLB".to_owned(),
        CurveKind::Memory => "Time of an access by chases at the same time, memory".to_owned(),
        CurveKind::LastLevel => "Time of an access by chases at the same time, last level".to_owned(),
        CurveKind::LastLevelSize => "Time of an access by memory, 16 chases at the same time".to_owned(),
        CurveKind::NextLine => "Time of the line behind one that missed, by misses at the same time".to_owned(),
    };
    let axis = match kind {
        CurveKind::Caches | CurveKind::LastLevelSize => "bytes",
        CurveKind::Ways { .. } => "lines",
        CurveKind::Reach(_) | CurveKind::TlbWays(_) => "pages",
        CurveKind::Memory | CurveKind::LastLevel => "chases",
        CurveKind::NextLine => "misses",
    };
    (title, axis)
}
