//! Counters of a run up to a moment, as `statistics` of the control socket has them, and what was counted between two.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Instant;

/// Counters up to now.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    taken: Instant,
    counters: Counters,
}

#[derive(Clone, Debug, Deserialize)]
struct Counters {
    /// In cycles.
    elapsed: u64,
    clock_hz: u64,
    guests: Vec<GuestCounters>,
}

#[derive(Clone, Debug, Deserialize)]
struct GuestCounters {
    name: String,
    instructions: u64,
    cycles: u64,
    tlb: BTreeMap<String, u64>,
    walks: BTreeMap<String, u64>,
    exits: BTreeMap<String, u64>,
    time: BTreeMap<String, u64>,
    /// `None`: the run makes no profile.
    functions: Option<Vec<FunctionCounters>>,
}

#[derive(Clone, Debug, Deserialize)]
struct FunctionCounters {
    function: String,
    process: String,
    cycles: u64,
}

/// What was counted between two samples.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    /// Simulated time from the beginning of the run, in seconds.
    pub(super) at_s: f64,
    /// Simulated time between the two, in seconds; 0 if the machine stood still.
    pub(super) simulated_s: f64,
    /// Time of the host between the two, in seconds.
    pub(super) host_s: f64,
    pub(super) guests: Vec<GuestInterval>,
}

/// What was counted of a guest.
#[derive(Clone, Debug)]
pub(super) struct GuestInterval {
    pub(super) name: String,
    pub(super) instructions: u64,
    pub(super) cycles: u64,
    /// Misses of the L1s, and of the L2.
    pub(super) l1_misses: u64,
    pub(super) l2_misses: u64,
    pub(super) walks: u64,
    /// Of both dimensions.
    pub(super) references: u64,
    /// Cycles of translation, and of the hypervisor.
    pub(super) translation: u64,
    pub(super) hypervisor: u64,
    /// Exits by cause, the most frequent first; causes without one are left out.
    pub(super) exits: Vec<(String, u64)>,
    /// Functions by the cycles of translation and of the hypervisor that they cost, the costliest first. `None`: the run makes no profile.
    pub(super) functions: Option<Vec<(String, String, u64)>>,
}

impl GuestInterval {
    /// Instructions for each cycle.
    pub(super) fn ipc(&self) -> f64 {
        ratio(self.instructions, self.cycles)
    }

    /// Of a count, how many there are for 1000 instructions.
    pub(super) fn per_thousand(&self, count: u64) -> f64 {
        1000.0 * ratio(count, self.instructions)
    }

    /// A part of the guest's time, in per cent.
    pub(super) fn share(&self, cycles: u64) -> f64 {
        100.0 * ratio(cycles, self.cycles)
    }
}

/// 0 where nothing happened.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Sample {
    /// Reads an answer to `statistics`.
    ///
    /// # Errors
    /// It has other keys.
    pub(crate) fn read(answer: &Value) -> serde_json::Result<Self> {
        Ok(Self { taken: Instant::now(), counters: Counters::deserialize(answer)? })
    }

    /// What was counted since `before`.
    pub(crate) fn since(&self, before: &Self) -> Interval {
        let seconds = |cycles: u64| cycles as f64 / self.counters.clock_hz.max(1) as f64;
        let guests = self.counters.guests.iter().zip(&before.counters.guests);
        Interval {
            at_s: seconds(self.counters.elapsed),
            simulated_s: seconds(self.counters.elapsed.saturating_sub(before.counters.elapsed)),
            host_s: self.taken.duration_since(before.taken).as_secs_f64(),
            guests: guests.map(|(now, before)| now.since(before)).collect(),
        }
    }
}

impl GuestCounters {
    fn since(&self, before: &Self) -> GuestInterval {
        let rise = |now: &BTreeMap<String, u64>, before: &BTreeMap<String, u64>, key: &str| {
            let count = |counts: &BTreeMap<String, u64>| counts.get(key).copied().unwrap_or(0);
            count(now).saturating_sub(count(before))
        };
        let tlb = |key| rise(&self.tlb, &before.tlb, key);
        let walks = |key| rise(&self.walks, &before.walks, key);
        let time = |key| rise(&self.time, &before.time, key);
        let exits = self.exits.keys().map(|cause| (cause.clone(), rise(&self.exits, &before.exits, cause)));
        GuestInterval {
            name: self.name.clone(),
            instructions: self.instructions.saturating_sub(before.instructions),
            cycles: self.cycles.saturating_sub(before.cycles),
            l1_misses: tlb("l1d_misses") + tlb("l1i_misses"),
            l2_misses: tlb("l2_misses"),
            walks: walks("count"),
            references: walks("guest_refs") + walks("host_refs"),
            translation: time("translation"),
            hypervisor: time("monitor"),
            exits: most_first(exits),
            functions: self.functions.as_ref().map(|functions| rises(functions, before.functions.as_deref())),
        }
    }
}

fn rises(now: &[FunctionCounters], before: Option<&[FunctionCounters]>) -> Vec<(String, String, u64)> {
    let before: BTreeMap<_, _> =
        before.unwrap_or_default().iter().map(|one| ((&one.function, &one.process), one.cycles)).collect();
    let rise = |one: &FunctionCounters| {
        let earlier = before.get(&(&one.function, &one.process)).copied().unwrap_or(0);
        ((one.function.clone(), one.process.clone()), one.cycles.saturating_sub(earlier))
    };
    let rises = most_first(now.iter().map(rise));
    rises.into_iter().map(|((function, process), cycles)| (function, process, cycles)).collect()
}

/// Those that are not 0, the greatest first, and equals by name.
fn most_first<K: Ord>(counts: impl Iterator<Item = (K, u64)>) -> Vec<(K, u64)> {
    let mut counts: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
    counts.sort_by(|(one, first), (other, second)| second.cmp(first).then_with(|| one.cmp(other)));
    counts
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    /// The statistics of one guest: 100 cycles and 50 instructions for each of `steps`.
    pub(in crate::top) fn sample(steps: u64) -> Sample {
        let answer = json!({
            "elapsed": 1000 * steps,
            "clock_hz": 1000,
            "guests": [{
                "name": "one",
                "instructions": 50 * steps,
                "cycles": 100 * steps,
                "tlb": { "l1d_misses": 3 * steps, "l1i_misses": steps, "l2_misses": 2 * steps },
                "walks": { "count": 2 * steps, "guest_refs": 4 * steps, "host_refs": 6 * steps, "max_refs": 24 },
                "exits": { "mmio": steps, "wfi": 2 * steps, "sbi_call": 0 },
                "time": { "guest": 60 * steps, "translation": 30 * steps, "monitor": 10 * steps },
                "functions": [
                    { "function": "memcpy", "process": "sh", "cycles": steps },
                    { "function": "update", "process": "gups", "cycles": 20 * steps },
                ],
            }],
        });
        Sample::read(&answer).unwrap()
    }

    #[test]
    fn an_interval_has_what_came_between_its_samples() {
        let interval = sample(5).since(&sample(3));
        assert_eq!((interval.at_s, interval.simulated_s), (5.0, 2.0));
        let guest = &interval.guests[0];
        assert_eq!((guest.instructions, guest.cycles, guest.ipc()), (100, 200, 0.5));
        assert_eq!((guest.l1_misses, guest.l2_misses, guest.per_thousand(guest.l2_misses)), (8, 4, 40.0));
        assert_eq!((guest.walks, guest.references), (4, 20));
        assert_eq!((guest.share(guest.translation), guest.share(guest.hypervisor)), (30.0, 10.0));
        assert_eq!(guest.exits, [("wfi".to_owned(), 4), ("mmio".to_owned(), 2)], "a cause without exits is left out");
        let functions = guest.functions.as_ref().unwrap();
        assert_eq!(functions[0], ("update".to_owned(), "gups".to_owned(), 40));
        assert_eq!(functions.len(), 2);
    }

    #[test]
    fn a_machine_that_stands_still_divides_by_nothing() {
        let guest = &sample(3).since(&sample(3)).guests[0];
        assert_eq!((guest.ipc(), guest.per_thousand(0), guest.share(0)), (0.0, 0.0, 0.0));
        assert!(guest.exits.is_empty());
    }

    #[test]
    fn statistics_without_a_clock_are_refused() {
        assert!(Sample::read(&json!({ "elapsed": 1, "guests": [] })).unwrap_err().to_string().contains("clock_hz"));
    }
}
