//! What the machine says: how far it is, and what was counted.

use crate::comparison::counts;
use crate::profile::NameSources;
use machine::{Machine, Statistics};
use profiles::{About, Attribution, Names};
use serde_json::{Value, json};

/// Functions of a guest in an answer, the costliest ones.
const FUNCTIONS: usize = 200;

/// The guests of a machine, as answers name them.
#[derive(Debug)]
pub(crate) struct Guests {
    /// Of each guest.
    pub(crate) names: Vec<String>,
    /// Where the names of its functions come from.
    pub(crate) sources: Vec<NameSources>,
    /// Of the host model.
    pub(crate) clock_hz: u64,
}

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

/// What was counted of each guest, from the beginning. `functions` are the names that were read from each guest's programs; they are read once.
pub(super) fn statistics(machine: &Machine, guests: &Guests, functions: &mut Vec<Names>) -> Value {
    let guest = |(index, name): (usize, &String)| {
        let mut counted = counted(name, &machine.statistics_of(index));
        counted["functions"] = costliest(machine, index, guests, functions);
        counted
    };
    let counted: Vec<_> = guests.names.iter().enumerate().map(guest).collect();
    json!({ "elapsed": machine.elapsed().0, "clock_hz": guests.clock_hz, "guests": counted })
}

/// The functions that cost a guest most, by the profile up to now. Null where there is none.
fn costliest(machine: &Machine, guest: usize, guests: &Guests, functions: &mut Vec<Names>) -> Value {
    let Some(profile) = machine.profile_of(guest) else { return Value::Null };
    if functions.is_empty() {
        functions.extend(guests.sources.iter().map(NameSources::names));
    }
    let Some(names) = functions.get(guest) else { return Value::Null };
    let about = About { work: guests.names[guest].clone(), ..About::default() };
    Attribution::new(about, &profile, names).costliest(FUNCTIONS)
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
