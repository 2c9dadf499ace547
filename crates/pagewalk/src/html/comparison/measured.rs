//! What `compare` writes, as far as the report reads it.

use serde::Deserialize;
use serde_json::{Map, Value};

/// What `compare` writes, as far as the report reads it.
#[derive(Deserialize)]
pub(super) struct Comparison {
    pub(super) host: Value,
    pub(super) config: Value,
    #[serde(default)]
    pub(super) caption: Vec<String>,
    pub(super) runs: Vec<Run>,
}

/// A run of it.
#[derive(Deserialize)]
pub(super) struct Run {
    pub(super) guest: String,
    pub(super) workload: String,
    pub(super) scheme: String,
    pub(super) settings: Map<String, Value>,
    pub(super) host: Option<Value>,
    pub(super) outcome: String,
    #[serde(default)]
    pub(super) failed: Option<String>,
    #[serde(default)]
    pub(super) notes: Vec<String>,
    pub(super) instructions: u64,
    pub(super) cycles: u64,
    pub(super) overhead: Option<f64>,
    /// Null of a failed run.
    pub(super) overhead_ideal: Option<f64>,
    pub(super) tlb: Tlb,
    pub(super) walks: Walks,
    pub(super) exits: Map<String, Value>,
    pub(super) shadow: Option<Shadow>,
    pub(super) time: Time,
    pub(super) recorded_walk: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Tlb {
    pub(super) l2_misses: u64,
}

#[derive(Deserialize)]
pub(super) struct Walks {
    pub(super) count: u64,
    pub(super) guest_refs: u64,
    pub(super) host_refs: u64,
    pub(super) max_refs: u64,
}

#[derive(Deserialize)]
pub(super) struct Shadow {
    pub(super) not_in_tlb_ratio: f64,
}

#[derive(Deserialize)]
pub(super) struct Time {
    pub(super) guest: u64,
    pub(super) translation: u64,
    #[serde(rename = "monitor")]
    pub(super) hypervisor: u64,
}

impl Run {
    /// Whether it came to a good end, so that its figures tell something.
    pub(super) fn is_good(&self) -> bool {
        self.failed.is_none() && self.overhead_ideal.is_some()
    }

    /// The overhead over free translation; 0 of a failed run, which no chart has.
    pub(super) fn over_ideal(&self) -> f64 {
        self.overhead_ideal.unwrap_or_default()
    }

    /// The scheme with its settings, as a user writes it.
    pub(super) fn system(&self) -> String {
        self.system_without("")
    }

    /// The scheme with its settings, without the one whose key is `left_out`.
    pub(super) fn system_without(&self, left_out: &str) -> String {
        let others = self.settings.iter().filter(|(key, _)| *key != left_out);
        let settings = others.map(|(key, value)| match value {
            Value::String(text) => format!("/{key}={text}"),
            other => format!("/{key}={other}"),
        });
        std::iter::once(self.scheme.clone()).chain(settings).collect()
    }

    pub(super) fn exits(&self) -> u64 {
        self.exits.values().filter_map(Value::as_u64).sum()
    }
}
