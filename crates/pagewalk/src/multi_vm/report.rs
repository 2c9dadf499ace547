//! What a host's run is measured by: Tables 2 to 4 of the 1995 paper, as a table and as JSON.

use super::file::MultiVm;
use crate::text::table::Table;
use config::units::ByteSize;
use machine::registry::{Scope, SectionName};
use machine::sched::{Histogram, spin::SpinReason};
use machine::sections::{FaultCounts, GuestFigures, SectionFigures, WindowFigures};
use machine::{Machine, Outcome};
use serde_json::{Map, Value, json};

/// What the columns mean that both tables have.
pub(crate) const MEANINGS: &str = "rho: busy time over the time of all pCPUs. ETR, ITR: transactions per second of simulated time, and of busy time.\n\
    excessive, lost: spins over the guest's limit, and harts that it took off line after one, as it reported them (docs/hosting.md)";

/// The table of a run.
pub(crate) fn table(multi_vm: &MultiVm, machine: &Machine, outcomes: &[Outcome]) -> Table {
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
    let milliseconds = |cycles: u64| cycles as f64 * 1e3 / multi_vm.model.clock_hz as f64;
    for (guest, name) in multi_vm.names.iter().enumerate() {
        let statistics = machine.scheduling_of(guest);
        let merit = statistics.merit(machine.elapsed(), multi_vm.model.clock_hz, multi_vm.plan.pcpus);
        table.row([
            name.clone(),
            multi_vm.plan.guests[guest].spin.name().to_owned(),
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

/// The sections that guests map; `None` if no guest maps any.
pub(crate) fn sections_table(multi_vm: &MultiVm, machine: &Machine) -> Option<Table> {
    let shadowed =
        (0..multi_vm.names.len()).any(|guest| machine.sections_of(guest).is_some_and(|own| own.shadow.is_some()));
    let mut columns = vec![
        "guest",
        "section",
        "at",
        "size",
        "access",
        "tables",
        "own KiB",
        "shared KiB",
        "global valid",
        "demand zero",
        "listed",
        "disk",
    ];
    if shadowed {
        columns.extend(["shadow links", "shared shadow KiB"]);
    }
    let mut table = Table::new(columns);
    let sections: Vec<_> = machine.sections().collect();
    let mut any = false;
    for (guest, name) in multi_vm.names.iter().enumerate() {
        let Some(figures) = machine.sections_of(guest) else { continue };
        let FaultCounts { global_valid, demand_zero, listed, disk } = figures.faults;
        for (number, window) in figures.windows.iter().enumerate() {
            any = true;
            let shared = sections.iter().find(|section| section.name == window.name && window.shared_level.is_some());
            let once = |figure: u64| if number == 0 { figure.to_string() } else { String::new() };
            let mut row = vec![
                name.clone(),
                window.name.to_string(),
                window.at.to_string(),
                ByteSize(window.bytes).to_string(),
                if window.writable { "rw" } else { "ro" }.to_owned(),
                window.shared_level.map_or("private".to_owned(), |level| format!("shared at level {level}")),
                once(figures.private_table_bytes >> 10),
                shared.map_or(String::new(), |section| (section.shared_table_bytes >> 10).to_string()),
                once(global_valid),
                once(demand_zero),
                once(listed),
                once(disk),
            ];
            if let Some(shadow) = figures.shadow {
                row.push(once(shadow.links));
                row.push(shared.map_or(String::new(), |section| (section.shadow_table_bytes >> 10).to_string()));
            }
            table.row(row);
        }
    }
    any.then_some(table)
}

/// The part of all pCPUs' time that went into scheduling.
pub(crate) fn overhead(multi_vm: &MultiVm, machine: &Machine) -> f64 {
    machine.scheduling_time().0 as f64 / (machine.elapsed().0.max(1) as f64 * multi_vm.plan.pcpus as f64)
}

/// The report of the run as JSON; docs/hosting.md has the keys.
pub(crate) fn report(multi_vm: &MultiVm, machine: &Machine, outcomes: &[Outcome]) -> Value {
    let guests: Vec<Value> = (0..multi_vm.names.len()).map(|guest| entry(multi_vm, machine, outcomes, guest)).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "host": multi_vm.model,
        "config": multi_vm.config,
        "processors": multi_vm.plan.pcpus,
        "slice": multi_vm.plan.slice.0,
        "elapsed": machine.elapsed().0,
        "scheduling": machine.scheduling_time().0,
        "overhead": overhead(multi_vm, machine),
        "sections": machine.sections().map(section).collect::<Vec<_>>(),
        "reserved_memory": reserved_memory(machine),
        "guests": guests,
    })
}

/// What there was of sections and reserved memory on a host with one guest; null where there was nothing.
pub(crate) fn sections_of_one(machine: &Machine) -> Value {
    if machine.reserved_memory().is_none() {
        return Value::Null;
    }
    json!({
        "sections": machine.sections().map(section).collect::<Vec<_>>(),
        "reserved_memory": reserved_memory(machine),
        "guest": machine.sections_of(0).map(of_guest),
    })
}

fn reserved_memory(machine: &Machine) -> Value {
    machine.reserved_memory().map_or(Value::Null, |reserved| {
        json!({
            "fluid_pages": reserved.fluid_pages,
            "minimum_fluid_pages": reserved.minimum_fluid_pages,
            "refused": reserved.refused,
        })
    })
}

fn section(section: &SectionFigures) -> Value {
    json!({
        "name": section.name.text(),
        "group": group(&section.name),
        "bytes": section.bytes,
        "kind": section.kind,
        "shared_table_bytes": section.shared_table_bytes,
        "shadow_table_bytes": section.shadow_table_bytes,
        "mappers": section.mappers,
        "faults": faults(&section.faults),
        "file": { "reads": section.files.reads, "writes": section.files.writes },
    })
}

fn of_guest(figures: &GuestFigures) -> Value {
    let window = |window: &WindowFigures| {
        json!({
            "name": window.name.text(),
            "group": group(&window.name),
            "at": window.at.0,
            "bytes": window.bytes,
            "access": if window.writable { "rw" } else { "ro" },
            "shared_level": window.shared_level,
            "map_time": window.map_time.0,
        })
    };
    json!({
        "private_table_bytes": figures.private_table_bytes,
        "shadow": figures.shadow.map(|shadow| json!({
            "own_table_bytes": shadow.own_table_bytes,
            "links": shadow.links,
        })),
        "faults": faults(&figures.faults),
        "windows": figures.windows.iter().map(window).collect::<Vec<_>>(),
    })
}

fn faults(counts: &FaultCounts) -> Value {
    let FaultCounts { global_valid, demand_zero, listed, disk } = *counts;
    json!({ "global_valid": global_valid, "demand_zero": demand_zero, "listed": listed, "disk": disk })
}

const fn group(name: &SectionName) -> Option<u32> {
    match name.scope() {
        Scope::System => None,
        Scope::Group(group) => Some(group),
    }
}

fn entry(multi_vm: &MultiVm, machine: &Machine, outcomes: &[Outcome], guest: usize) -> Value {
    let plan = &multi_vm.plan.guests[guest];
    let statistics = machine.scheduling_of(guest);
    let merit = statistics.merit(machine.elapsed(), multi_vm.model.clock_hz, multi_vm.plan.pcpus);
    let counted = machine.statistics_of(guest);
    let measured = machine.measured_of(guest);
    let region = measured.mmu;
    let calls: Map<String, Value> = SpinReason::ALL
        .into_iter()
        .zip(statistics.spin_calls)
        .map(|(reason, count)| (reason.name().to_owned(), count.into()))
        .collect();
    let exits: Map<String, Value> =
        counted.exits.iter().map(|(reason, count)| (reason.name().to_owned(), count.into())).collect();
    json!({
        "name": multi_vm.names[guest],
        "work": multi_vm.work[guest],
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
        "despatches": statistics.dispatches,
        "migrations": statistics.migrations,
        "slice_ends": statistics.slice_ends,
        "service_ends": statistics.service_ends,
        "preemptions": statistics.preemptions,
        "waits": histogram(&statistics.waits),
        "spin_waits": histogram(&statistics.spin_waits),
        "sections": machine.sections_of(guest).map(of_guest),
        "tlb": {
            "l1d_misses": region.l1d_misses,
            "l1i_misses": region.l1i_misses,
            "l2_misses": region.l2_misses,
        },
        "walks": {
            "count": region.walks,
            "guest_refs": region.guest_refs,
            "host_refs": region.host_refs,
            "max_refs": region.max_refs,
            "steps": region.steps(),
            "max_steps": region.max_steps,
        },
        "caches": crate::comparison::caches::value(&measured),
        "exits": exits,
        "time": {
            "guest": counted.time.guest.0,
            "translation": counted.time.translation.0,
            "monitor": counted.time.hypervisor.0,
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
        Outcome::GuestFailure | Outcome::ResetAfterFailure | Outcome::Panicked(_) => "failed".to_owned(),
        Outcome::Unmeasured(_) => "unmeasured".to_owned(),
        Outcome::Halted => "halted".to_owned(),
        Outcome::Timeout { .. } => "timeout".to_owned(),
        Outcome::OutOfMemory(_) => "no memory".to_owned(),
        Outcome::Inconsistent(_) => "inconsistent".to_owned(),
        Outcome::CodeMemory(_) => "no code".to_owned(),
        Outcome::SnapshotTaken => "snapshot".to_owned(),
        Outcome::Interrupted => "interrupted".to_owned(),
        Outcome::Unfinished => "background".to_owned(),
    }
}
