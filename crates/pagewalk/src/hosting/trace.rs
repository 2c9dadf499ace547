//! The timeline in the Trace Event Format, which Chrome's `about:tracing` and Perfetto read: a row for each real processor, a slice for each
//! stay of a logical processor on it.

use super::file::Hosting;
use machine::Stay;
use serde_json::{Value, json};

/// The trace of a run's stays.
pub(crate) fn trace(hosting: &Hosting, stays: &[Stay]) -> Value {
    let microseconds = |cycles: u64| cycles as f64 * 1e6 / hosting.model.clock_hz as f64;
    let rows = (0..hosting.plan.reals).map(|real| {
        json!({ "ph": "M", "name": "thread_name", "pid": 0, "tid": real, "args": { "name": format!("processor {real}") } })
    });
    let slices = stays.iter().map(|stay| {
        json!({
            "ph": "X",
            "name": format!("{}/{}", hosting.names[stay.guest], stay.hart),
            "cat": hosting.names[stay.guest],
            "pid": 0,
            "tid": stay.real,
            "ts": microseconds(stay.from.0),
            "dur": microseconds(stay.to.0 - stay.from.0),
            "args": { "left": stay.why.name() },
        })
    });
    let events: Vec<Value> = rows.chain(slices).collect();
    json!({ "displayTimeUnit": "ms", "traceEvents": events })
}
