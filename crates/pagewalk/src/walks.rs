//! A recorded walk as JSON; docs/json-keys.md has the keys.

use machine::{Answer, Choice, ChosenWalk, RecordedWalk, RecordedWalks, Reference, Segment, WalkRecord, WalkStep};
use serde_json::{Value, json};

/// The key `recorded_walk` of a run.
pub(crate) fn of_run(walks: &RecordedWalks) -> Value {
    let mut value = value(&walks.middle);
    value["pages"] = json!(walks.pages);
    value["others"] = walks.chosen.iter().map(chosen).collect();
    value
}

fn chosen(chosen: &ChosenWalk) -> Value {
    let ChosenWalk { choice, pages, walk } = chosen;
    let mut value = value(walk);
    let (choice, counted) = match choice {
        Choice::Longest => ("longest", "pages"),
        Choice::Commonest => ("commonest", "pages"),
        Choice::Shortest => ("shortest", "pages"),
        Choice::Exit(reason) => {
            value["exit"] = json!(reason.name());
            ("exit", "exits")
        }
        Choice::Missed(root) => {
            value["root"] = json!(hex(root.0));
            ("missed", "misses")
        }
    };
    value["choice"] = json!(choice);
    value[counted] = json!(pages);
    value
}

/// One walk.
pub(crate) fn value(walk: &RecordedWalk) -> Value {
    let WalkRecord { gva, guest_levels, host_levels, page, .. } = &walk.whole;
    json!({
        "gva": hex(gva.0),
        "page": page.to_string(),
        "guest_levels": guest_levels,
        "host_levels": host_levels,
        "whole": record(&walk.whole),
        "cached": record(&walk.cached),
    })
}

fn record(walk: &WalkRecord) -> Value {
    json!({
        "references": walk.references(),
        "guest_segment": walk.guest_segment.as_ref().map(segment),
        "monitor_segment": walk.hypervisor_segment.as_ref().map(segment),
        "guest_cached": walk.guest_cached,
        "steps": walk.steps.iter().map(step).collect::<Vec<_>>(),
        "gpa": hex(walk.gpa.0),
        "hpa": hex(walk.hpa.0),
    })
}

fn step(step: &WalkStep) -> Value {
    let (answer, cached) = match step.answer {
        Answer::Constant => ("constant", None),
        Answer::Segment => ("segment", None),
        Answer::NestedTlb => ("nested-tlb", None),
        Answer::Tables { cached } => ("tables", cached),
    };
    json!({
        "gpa": hex(step.gpa.0),
        "answer": answer,
        "cached": cached,
        "references": step.references.iter().map(reference).collect::<Vec<_>>(),
        "hpa": hex(step.hpa.0),
        "entry": step.entry.as_ref().map(reference),
    })
}

fn reference(reference: &Reference) -> Value {
    json!({ "level": reference.level, "at": hex(reference.at.0), "entry": hex(reference.entry) })
}

fn segment(segment: &Segment) -> Value {
    let range = segment.range();
    json!({ "base": hex(range.start), "limit": hex(range.end), "offset": hex(segment.offset()) })
}

fn hex(number: u64) -> String {
    format!("{number:#x}")
}
