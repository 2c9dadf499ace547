//! Intervals of a run: what is read of a guest's counters, and when. A reading changes nothing.

use crate::machine::Machine;
use crate::parts::intervals::{GuestIntervals, IntervalLog, RegionChange, Unit};
use crate::results::gauge::Phase;
use crate::results::intervals::{HartReading, IntervalLength, Intervals, Reading};
use crate::results::statistics::Statistics;
use hypervisor::sched::VmId;
use types::Cycles;

/// Keeps intervals of this length from now on.
pub(super) fn open(machine: &mut Machine, length: IntervalLength) {
    let (unit, length) = match length {
        IntervalLength::Microseconds(count) => {
            (Unit::Cycles, (u128::from(count) * u128::from(machine.clock().hz) / 1_000_000) as u64)
        }
        IntervalLength::Instructions(count) => (Unit::Instructions, count),
    };
    let length = length.max(1);
    let guests = (0..machine.records.len()).map(|guest| {
        let mut begun = reading(machine, guest, machine.elapsed());
        if machine.records[guest].region.phase() != Phase::Measure {
            // What has been counted before belongs to the first interval, as it does to the whole run.
            begun.guest = Statistics::default();
            begun.harts.iter_mut().for_each(|hart| hart.statistics = Statistics::default());
        }
        let position = position(machine, unit, guest, begun.at);
        GuestIntervals::new(begun, machine.records[guest].region.phase(), position.saturating_add(length))
    });
    machine.intervals = Some(Box::new(IntervalLog { unit, length, guests: guests.collect() }));
}

/// Ends the intervals that are over, where nothing else happens before `next`.
pub(super) fn end_due(machine: &mut Machine, next: Option<Cycles>) {
    let Some(mut log) = machine.intervals.take() else { return };
    let IntervalLog { unit, length, .. } = *log;
    for (guest, kept) in log.guests.iter_mut().enumerate().filter(|(guest, _)| !machine.has_ended(*guest)) {
        // While nothing can happen no time passes.
        let now = next.unwrap_or_else(|| current_time(machine));
        let position = position(machine, unit, guest, now);
        if kept.is_due(position) {
            // If one turn, or a wait, is longer than an interval, the intervals in between have nothing of their own.
            let end = kept.passed(position, length);
            let at = match unit {
                Unit::Cycles => Cycles(end),
                Unit::Instructions => current_time(machine),
            };
            kept.close(reading(machine, guest, at), end.saturating_add(length));
        }
    }
    machine.intervals = Some(log);
}

/// Ends the interval under way of a guest because of a change of its region of interest, which has happened.
pub(super) fn cut(machine: &mut Machine, guest: usize, change: RegionChange) {
    let Some(mut log) = machine.intervals.take() else { return };
    let now = current_time(machine);
    let due = position(machine, log.unit, guest, now).saturating_add(log.length);
    let phase = machine.records[guest].region.phase();
    log.guests[guest].cut(reading(machine, guest, now), due, (change, phase));
    machine.intervals = Some(log);
}

/// The intervals of a guest, the last one up to now.
pub(super) fn of(machine: &Machine, guest: usize) -> Option<Intervals> {
    let log = machine.intervals.as_ref()?;
    let kept = &log.guests[guest];
    let now = kept.ended.unwrap_or_else(|| machine.elapsed());
    Some(kept.intervals(reading(machine, guest, now)))
}

/// A guest ends now.
pub(super) fn end(machine: &mut Machine, guest: usize) {
    let now = current_time(machine);
    if let Some(log) = &mut machine.intervals {
        log.guests[guest].ended = Some(now);
    }
}

/// How far a guest is, at the time `now`.
fn position(machine: &Machine, unit: Unit, guest: usize, now: Cycles) -> u64 {
    match unit {
        Unit::Cycles => now.0,
        Unit::Instructions => machine.retired_of(guest),
    }
}

/// The clock of the pCPU that had the latest turn.
fn current_time(machine: &Machine) -> Cycles {
    machine.clock_of_pcpu(machine.state.current.processor)
}

fn reading(machine: &Machine, guest: usize, at: Cycles) -> Reading {
    let hart = |index: usize| HartReading {
        pcpu: machine.vcpus[index].residence.pcpu,
        statistics: machine.statistics_of_vcpu(index),
    };
    Reading {
        at,
        harts: machine.harts_of(guest).map(hart).collect(),
        guest: Statistics {
            transactions: machine.dispatch.scheduler.statistics(VmId(guest)).ends,
            shadow: machine.state.vms[guest].shadow_statistics().copied(),
            ..Statistics::default()
        },
    }
}
