//! What runs begin with: after a boot, what the guest's own past has left; after a restore, what the snapshot says of that past, or nothing.

use super::Finished;
use crate::systems::Configured;
use config::warmup::Warmup;
use config::{FastForwardName, FidelityName};
use machine::snapshot::Snapshot;
use serde_json::Value;

/// How warm a run begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beginning {
    /// It boots.
    Boot,
    /// It goes on with a snapshot, as warm as that was.
    Warm,
    /// It goes on with a snapshot, and TLBs, page-walk caches and the hypervisor's tables are empty.
    Cold,
}

impl Beginning {
    fn of(on: &Configured, snapshot: Option<&Snapshot>) -> Self {
        match (snapshot, on.config.warmup) {
            (None, _) => Self::Boot,
            (Some(_), Warmup::None) => Self::Cold,
            (Some(_), Warmup::Touch | Warmup::Snapshot | Warmup::Instructions(_)) => Self::Warm,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Warm => "warm",
            Self::Cold => "cold",
        }
    }
}

/// Adds to each run of a report, which is of `runs`, how warm it began.
pub(crate) fn add_beginnings(report: &mut Value, runs: &[Finished], snapshot: Option<&Snapshot>) {
    let entries = report["runs"].as_array_mut().into_iter().flatten();
    for (entry, run) in entries.zip(runs) {
        entry["start"] = Beginning::of(&run.on, snapshot).name().into();
    }
}

/// What a reader of the table has to know of its beginnings, a line each; empty where every run begins as warm as after a boot.
pub(crate) fn beginnings(runs: &[Finished], snapshot: Option<&Snapshot>) -> String {
    let mut cold: Vec<String> = Vec::new();
    for run in runs.iter().filter(|run| Beginning::of(&run.on, snapshot) == Beginning::Cold) {
        let system = run.on.system.to_string();
        if !cold.contains(&system) {
            cold.push(system);
        }
    }
    let mut text = String::new();
    if !cold.is_empty() {
        let which = if runs.iter().all(|run| cold.contains(&run.on.system.to_string())) {
            "every run".to_owned()
        } else {
            cold.join(", ")
        };
        text += &format!(
            "cold start (warmup=none): {which} begins with empty TLBs, page-walk caches, nested and shadow tables\n"
        );
    }
    let caches = |run: &Finished| match run.on.config.fidelity {
        FidelityName::Counts => false,
        FidelityName::Cycles | FidelityName::Core => true,
    };
    let fast_forwards = |run: &Finished| caches(run) && run.on.config.fast_forward == FastForwardName::On;
    if snapshot.is_some() && runs.iter().any(caches) {
        text += "cold start: modelled caches are empty after a restore; --warmup N leaves their filling out\n";
    } else if runs.iter().any(fast_forwards) {
        text += "cold start: modelled caches are empty when a region begins (fast_forward=on); --warmup N leaves their filling out\n";
    }
    text
}
