//! What a host's run is measured by: Tables 2 to 4 of the 1995 paper, as a table and as JSON.

use super::file::MultiVm;
use super::machines::Machines;
use crate::control::FreedReservation;
use crate::text::cell::Cell;
use crate::text::table::{Column, Table};
use crate::time_model::fidelity_name;
use config::units::ByteSize;
use machine::sched::{Histogram, spin::SpinReason};
use machine::sections::{FaultCounts, GuestFigures, SectionFigures, WindowFigures};
use machine::{Machine, Outcome};
use serde_json::{Map, Value, json};

/// What the columns mean that both tables have.
pub(crate) const MEANINGS: &str = "rho: busy time over the time of all pCPUs. ETR, ITR: transactions per second of simulated time, and of busy time.\n\
    excessive, lost: spins over the guest's limit, and harts that it took off line after one, as it reported them (docs/hosting.md)";

/// The table of a run.
pub(crate) fn table(multi_vm: &MultiVm, machines: &Machines, outcomes: &[Outcome]) -> Table {
    let columns = [
        ("guest", "guest"),
        ("spin", "spin"),
        ("outcome", "outcome"),
        ("busy ms", "busy_seconds"),
        ("rho %", "utilisation_ratio"),
        ("calls/s", "calls_per_busy_second"),
        ("ETR", "etr_per_second"),
        ("ITR", "itr_per_second"),
        ("excessive", "excessive_spins"),
        ("lost", "processors_lost"),
        ("wait us", "mean_wait_seconds"),
    ];
    let hidden = ["work", "host_model", "fidelity"].map(Column::exact);
    let mut table = Table::new("guests", columns.map(Column::from).into_iter().chain(hidden));
    let seconds = |cycles: u64| cycles as f64 / multi_vm.model.clock_hz as f64;
    for (guest, name) in multi_vm.names.iter().enumerate() {
        let (machine, index) = machines.of(guest);
        let statistics = machine.scheduling_of(index);
        let merit = statistics.merit(machines.elapsed(), multi_vm.model.clock_hz, multi_vm.plan.pcpus);
        table.row([
            Cell::text(name),
            Cell::text(multi_vm.plan.guests[guest].spin.name()),
            Cell::text(short(&outcomes[guest])),
            Cell::scaled(seconds(statistics.busy.0), 1e3, 3),
            Cell::scaled(merit.utilisation, 1e2, 2),
            Cell::fixed(merit.calls_per_busy_second, 1),
            Cell::fixed(merit.etr, 1),
            Cell::fixed(merit.itr, 1),
            Cell::count(statistics.excessive_spins),
            Cell::count(statistics.processors_lost),
            Cell::scaled(seconds(statistics.waits.mean().0), 1e6, 1),
            Cell::exact(multi_vm.work[guest].as_str()),
            Cell::exact(multi_vm.model.name.as_str()),
            Cell::exact(fidelity_name(multi_vm.config.fidelity)),
        ]);
    }
    table
}

/// The sections that guests map; `None` if no guest maps any.
pub(crate) fn sections_table(multi_vm: &MultiVm, machines: &Machines) -> Option<Table> {
    let sections_of = |guest| {
        let (machine, index) = machines.of(guest);
        machine.sections_of(index)
    };
    let shadowed = (0..multi_vm.names.len()).any(|guest| sections_of(guest).is_some_and(|own| own.shadow.is_some()));
    let mut columns = vec![
        ("guest", "guest"),
        ("section", "section"),
        ("at", "at"),
        ("size", "bytes"),
        ("access", "access"),
        ("tables", "tables"),
        ("own KiB", "own_table_bytes"),
        ("shared KiB", "shared_table_bytes"),
        ("global valid", "global_valid_faults"),
        ("demand zero", "demand_zero_faults"),
        ("listed", "listed_faults"),
        ("disk", "disk_faults"),
    ];
    if shadowed {
        columns.extend([("shadow links", "shadow_links"), ("shared shadow KiB", "shared_shadow_table_bytes")]);
    }
    let mut table = Table::new("sections", columns);
    let sections: Vec<_> = machines.shared().sections().collect();
    let kib = |bytes: u64| Cell::new((bytes >> 10).to_string(), bytes);
    let mut any = false;
    for (guest, name) in multi_vm.names.iter().enumerate() {
        let Some(figures) = sections_of(guest) else { continue };
        let FaultCounts { global_valid, demand_zero, listed, disk } = figures.faults;
        for (number, window) in figures.windows.iter().enumerate() {
            any = true;
            let shared = sections.iter().find(|section| section.name == window.name && window.shared_level.is_some());
            // Of the guest as a whole: in its first line.
            let once = |cell: Cell| if number == 0 { cell } else { Cell::default() };
            let mut row = vec![
                Cell::text(name),
                Cell::text(window.name.to_string()),
                Cell::text(window.at.to_string()),
                Cell::new(ByteSize(window.bytes).to_string(), window.bytes),
                Cell::text(if window.writable { "rw" } else { "ro" }),
                Cell::text(
                    window.shared_level.map_or("private".to_owned(), |level| format!("shared at level {level}")),
                ),
                once(kib(figures.private_table_bytes)),
                shared.map_or_else(Cell::default, |section| kib(section.shared_table_bytes)),
                once(Cell::count(global_valid)),
                once(Cell::count(demand_zero)),
                once(Cell::count(listed)),
                once(Cell::count(disk)),
            ];
            if let Some(shadow) = figures.shadow {
                row.push(once(Cell::count(shadow.links)));
                row.push(shared.map_or_else(Cell::default, |section| kib(section.shadow_table_bytes)));
            }
            table.row(row);
        }
    }
    any.then_some(table)
}

/// What guests reported of themselves; `None` if no guest reported anything.
pub(crate) fn figures_table(multi_vm: &MultiVm, machines: &Machines) -> Option<Table> {
    let mut table = Table::new("figures", [("guest", "guest"), ("figure", "figure"), ("value", "value")]);
    let mut any = false;
    for (guest, name) in multi_vm.names.iter().enumerate() {
        let (machine, index) = machines.of(guest);
        for (figure, &value) in machine.figures_of(index).values() {
            any = true;
            table.row([Cell::text(name), Cell::text(figure.as_str()), Cell::count(value)]);
        }
    }
    any.then_some(table)
}

/// A line for each reservation that was freed during the run.
pub(crate) fn freed(machine: &Machine) -> String {
    let freed = machine.reserved_memory().into_iter().flat_map(|reserved| &reserved.freed);
    freed.map(|figures| format!("freed at cycle {}: {}\n", figures.at.0, FreedReservation::from(figures))).collect()
}

/// The part of all pCPUs' time that went into scheduling.
pub(crate) fn overhead(multi_vm: &MultiVm, machines: &Machines) -> f64 {
    machines.scheduling_time().0 as f64 / (machines.elapsed().0.max(1) as f64 * multi_vm.plan.pcpus as f64)
}

/// The report of the run as JSON; docs/hosting.md has the keys.
pub(crate) fn report(multi_vm: &MultiVm, machines: &Machines, outcomes: &[Outcome]) -> Value {
    let guests: Vec<Value> =
        (0..multi_vm.names.len()).map(|guest| entry(multi_vm, machines, outcomes, guest)).collect();
    let shared = machines.shared();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "host": multi_vm.model.as_used(multi_vm.config.footprint),
        "config": multi_vm.config,
        "processors": multi_vm.plan.pcpus,
        "slice": multi_vm.plan.slice.0,
        "net": multi_vm.plan.switch.map(|latency| json!({ "kind": "switch", "latency": latency.0 })),
        "elapsed": machines.elapsed().0,
        "scheduling": machines.scheduling_time().0,
        "overhead": overhead(multi_vm, machines),
        "sections": shared.sections().map(section).collect::<Vec<_>>(),
        "reserved_memory": reserved_memory(shared),
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
            "freed": reserved.freed.iter().map(FreedReservation::from).collect::<Vec<_>>(),
        })
    })
}

fn section(section: &SectionFigures) -> Value {
    json!({
        "name": section.name.text(),
        "group": section.name.scope().group(),
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
            "group": window.name.scope().group(),
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

fn entry(multi_vm: &MultiVm, machines: &Machines, outcomes: &[Outcome], guest: usize) -> Value {
    let plan = &multi_vm.plan.guests[guest];
    let (machine, index) = machines.of(guest);
    let statistics = machine.scheduling_of(index);
    let merit = statistics.merit(machines.elapsed(), multi_vm.model.clock_hz, multi_vm.plan.pcpus);
    let counted = machine.statistics_of(index);
    let measured = machine.measured_of(index);
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
        "sections": machine.sections_of(index).map(of_guest),
        "figures": machine.figures_of(index).values(),
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
