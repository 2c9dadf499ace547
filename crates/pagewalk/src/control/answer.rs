//! What the machine says: how far it is, and what was counted.

use crate::comparison::counts;
use machine::{Machine, Statistics};
use serde_json::{Value, json};

/// How far the run is.
pub(super) fn status(machine: &Machine, names: &[String], state: &str) -> Value {
    let guest = |(index, name): (usize, &String)| {
        json!({
            "name": name,
            "instructions": machine.statistics_of(index).instructions,
            "outcome": machine.outcome_of(index).map(ToString::to_string),
        })
    };
    json!({
        "state": state,
        "elapsed": machine.elapsed().0,
        "guests": names.iter().enumerate().map(guest).collect::<Vec<_>>(),
    })
}

/// What was counted of each guest, from the beginning.
pub(super) fn statistics(machine: &Machine, names: &[String]) -> Value {
    let guest = |(index, name): (usize, &String)| counted(name, &machine.statistics_of(index));
    json!({
        "elapsed": machine.elapsed().0,
        "guests": names.iter().enumerate().map(guest).collect::<Vec<_>>(),
    })
}

/// The keys are those of a run in a comparison: docs/json-keys.md.
pub(crate) fn counted(name: &str, statistics: &Statistics) -> Value {
    let time = statistics.time;
    json!({
        "name": name,
        "instructions": statistics.instructions,
        "loads": statistics.loads,
        "stores": statistics.stores,
        "transactions": statistics.transactions,
        "cycles": time.total().0,
        "tlb": counts::tlb(statistics),
        "walks": counts::walks(statistics),
        "exits": counts::exits(statistics),
        "time": {
            "guest": time.guest.0,
            "translation": time.translation.0,
            "monitor": time.hypervisor.0,
        },
    })
}
