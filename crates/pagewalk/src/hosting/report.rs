//! What a host's run is measured by: Tables 2 to 4 of the 1995 paper, as a table and as JSON.

use super::file::Hosting;
use crate::table::Table;
use machine::sched::{Histogram, spin::SpinReason};
use machine::{Machine, Outcome};
use serde_json::{Map, Value, json};

/// The table of a run.
pub(crate) fn table(hosting: &Hosting, machine: &Machine, outcomes: &[Outcome]) -> Table {
    let mut table = Table::new([
        "guest",
        "spin",
        "outcome",
        "busy ms",
        "rho %",
        "calls/s",
        "ETR",
        "ITR",
        "excessive",
        "lost",
        "wait us",
    ]);
    let milliseconds = |cycles: u64| cycles as f64 * 1e3 / hosting.model.clock_hz as f64;
    for (guest, name) in hosting.names.iter().enumerate() {
        let statistics = machine.scheduling_of(guest);
        let merit = statistics.merit(machine.elapsed(), hosting.model.clock_hz, hosting.plan.reals);
        table.row([
            name.clone(),
            hosting.plan.guests[guest].spin.name().to_owned(),
            short(&outcomes[guest]),
            format!("{:.3}", milliseconds(statistics.busy.0)),
            format!("{:.2}", merit.utilisation * 100.0),
            format!("{:.1}", merit.calls_per_busy_second),
            format!("{:.1}", merit.etr),
            format!("{:.1}", merit.itr),
            statistics.excessive_spins.to_string(),
            statistics.processors_lost.to_string(),
            format!("{:.1}", milliseconds(statistics.waits.mean().0) * 1e3),
        ]);
    }
    table
}

/// The part of all real processors' time that went into scheduling.
pub(crate) fn overhead(hosting: &Hosting, machine: &Machine) -> f64 {
    machine.scheduling_time().0 as f64 / (machine.elapsed().0.max(1) as f64 * hosting.plan.reals as f64)
}

/// The same as JSON; docs/hosting.md has the keys.
pub(crate) fn report(hosting: &Hosting, machine: &Machine, outcomes: &[Outcome]) -> Value {
    let guests: Vec<Value> = (0..hosting.names.len()).map(|guest| entry(hosting, machine, outcomes, guest)).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "host": hosting.model,
        "config": hosting.config,
        "processors": hosting.plan.reals,
        "slice": hosting.plan.slice.0,
        "elapsed": machine.elapsed().0,
        "scheduling": machine.scheduling_time().0,
        "overhead": overhead(hosting, machine),
        "guests": guests,
    })
}

fn entry(hosting: &Hosting, machine: &Machine, outcomes: &[Outcome], guest: usize) -> Value {
    let plan = &hosting.plan.guests[guest];
    let statistics = machine.scheduling_of(guest);
    let merit = statistics.merit(machine.elapsed(), hosting.model.clock_hz, hosting.plan.reals);
    let counted = machine.statistics_of(guest);
    let calls: Map<String, Value> = SpinReason::ALL
        .into_iter()
        .zip(statistics.spin_calls)
        .map(|(reason, count)| (reason.name().to_owned(), count.into()))
        .collect();
    let exits: Map<String, Value> =
        counted.exits.iter().map(|(reason, count)| (reason.name().to_owned(), count.into())).collect();
    json!({
        "name": hosting.names[guest],
        "work": hosting.work[guest],
        "processors": plan.harts,
        "weight": plan.weight,
        "spin": plan.spin.name(),
        "outcome": outcomes[guest].to_string(),
        "instructions": counted.instructions,
        "busy": statistics.busy.0,
        "utilisation": merit.utilisation,
        "spin_calls": calls,
        "calls_per_busy_second": merit.calls_per_busy_second,
        "continued": statistics.continued,
        "ends": statistics.ends,
        "etr": merit.etr,
        "itr": merit.itr,
        "excessive_spins": statistics.excessive_spins,
        "processors_lost": statistics.processors_lost,
        "despatches": statistics.despatches,
        "migrations": statistics.migrations,
        "slice_ends": statistics.slice_ends,
        "service_ends": statistics.service_ends,
        "preemptions": statistics.preemptions,
        "waits": histogram(&statistics.waits),
        "spin_waits": histogram(&statistics.spin_waits),
        "exits": exits,
        "time": {
            "guest": counted.time.guest.0,
            "translation": counted.time.translation.0,
            "monitor": counted.time.monitor.0,
        },
    })
}

/// Count, mean and longest, and pairs of the cycles at which a bucket begins and its count.
fn histogram(histogram: &Histogram) -> Value {
    let buckets: Vec<[u64; 2]> = histogram.iter().map(|(from, count)| [from.0, count]).collect();
    json!({
        "count": histogram.total(),
        "mean": histogram.mean().0,
        "longest": histogram.longest().0,
        "buckets": buckets,
    })
}

fn short(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Finished(0) => "done".to_owned(),
        Outcome::Finished(status) => format!("status {status}"),
        Outcome::Shutdown => "shut down".to_owned(),
        Outcome::Reset => "reset".to_owned(),
        Outcome::GuestFailure | Outcome::ResetAfterFailure => "failed".to_owned(),
        Outcome::Unmeasured(_) => "unmeasured".to_owned(),
        Outcome::Halted => "halted".to_owned(),
        Outcome::Timeout(_) => "timeout".to_owned(),
        Outcome::OutOfMemory(_) => "no memory".to_owned(),
        Outcome::Interrupted => "interrupted".to_owned(),
        Outcome::Unfinished => "background".to_owned(),
    }
}
