//! What `run` writes of one run, as far as the report reads it.

use serde::Deserialize;
use serde_json::Value;

/// What `run` writes of one run, as far as the report reads it.
#[derive(Deserialize)]
pub(super) struct MultiVm {
    pub(super) host: Value,
    pub(super) config: Value,
    pub(super) processors: u64,
    pub(super) elapsed: u64,
    pub(super) overhead: f64,
    pub(super) guests: Vec<Guest>,
}

#[derive(Deserialize)]
pub(super) struct Guest {
    pub(super) name: String,
    pub(super) work: String,
    pub(super) processors: u64,
    pub(super) spin: String,
    pub(super) outcome: String,
    pub(super) busy: u64,
    pub(super) utilisation: f64,
    pub(super) calls_per_busy_second: f64,
    pub(super) ends: u64,
    pub(super) etr: f64,
    pub(super) itr: f64,
    pub(super) excessive_spins: u64,
    pub(super) processors_lost: u64,
    pub(super) waits: Waits,
    pub(super) time: Time,
}

#[derive(Deserialize)]
pub(super) struct Waits {
    pub(super) mean: u64,
}

#[derive(Deserialize)]
pub(super) struct Time {
    pub(super) guest: u64,
    pub(super) translation: u64,
    #[serde(rename = "monitor")]
    pub(super) hypervisor: u64,
}

impl MultiVm {
    pub(super) fn clock_hz(&self) -> f64 {
        self.host.get("clock_hz").and_then(Value::as_f64).unwrap_or(1.0)
    }

    pub(super) fn milliseconds(&self, cycles: u64) -> f64 {
        cycles as f64 * 1e3 / self.clock_hz()
    }

    /// Guests that the run waits for.
    pub(super) fn foreground(&self) -> impl Iterator<Item = &Guest> {
        self.guests.iter().filter(|guest| !guest.outcome.contains("in the background"))
    }

    /// The spin method of all its guests; `mixed` where they differ.
    pub(super) fn spin(&self) -> &str {
        let first = self.guests.first().map_or("none", |guest| guest.spin.as_str());
        if self.guests.iter().all(|guest| guest.spin == first) { first } else { "mixed" }
    }
}
