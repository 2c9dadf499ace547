//! The timeline in the Trace Event Format, which Chrome's `about:tracing` and Perfetto read: a row for each pCPU, a slice for each
//! time slice of a vCPU on it.

use super::file::MultiVm;
use machine::Stay;
use serde_json::{Value, json};

/// The trace of a run's stays.
pub(crate) fn trace(multi_vm: &MultiVm, stays: &[Stay]) -> Value {
    let microseconds = |cycles: u64| cycles as f64 * 1e6 / multi_vm.model.clock_hz as f64;
    let rows = (0..multi_vm.plan.pcpus).map(|pcpu| {
        json!({ "ph": "M", "name": "thread_name", "pid": 0, "tid": pcpu, "args": { "name": format!("processor {pcpu}") } })
    });
    let slices = stays.iter().map(|stay| {
        json!({
            "ph": "X",
            "name": format!("{}/{}", multi_vm.names[stay.guest], stay.hart),
            "cat": multi_vm.names[stay.guest],
            "pid": 0,
            "tid": stay.pcpu,
            "ts": microseconds(stay.from.0),
            "dur": microseconds(stay.to.0 - stay.from.0),
            "args": { "left": stay.why.name() },
        })
    });
    let events: Vec<Value> = rows.chain(slices).collect();
    json!({ "displayTimeUnit": "ms", "traceEvents": events })
}
