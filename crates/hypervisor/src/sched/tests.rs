//! The scheduler against the paper's examples, and what must hold always.

mod figures;
mod model;
mod ratios;
mod scale;
mod trouble;

use super::spin::{SpinCall, SpinMethod, SpinReason};
use super::*;
use types::Cycles;

const SLICE: Cycles = Cycles(1000);
const CALL: SpinCall = SpinCall { reason: SpinReason::Lock, partner: None };
const T0: Cycles = Cycles(0);

fn shared(logicals: usize, weight: u32, spin: SpinMethod) -> VmParameters {
    VmParameters { logicals, weight, allocation: Allocation::Shared, spin }
}

/// So many real processors and these VMs, whose logical processors are all ready.
fn host(reals: usize, vms: &[VmParameters]) -> Scheduler {
    let mut scheduler = Scheduler::new(reals, Parameters { slice: SLICE });
    for vm in vms {
        scheduler.add_vm(vm, T0).expect("a VM that can be");
    }
    let logicals: usize = vms.iter().map(|vm| vm.logicals).sum();
    (0..logicals).for_each(|logical| scheduler.wake(LogicalId(logical), T0));
    scheduler
}

/// Who was despatched since this was last asked, in order.
fn despatched(scheduler: &mut Scheduler) -> Vec<usize> {
    let changes = scheduler.take_changes().into_iter();
    changes
        .filter_map(|change| match change {
            Change::Despatched { logical, .. } => Some(logical.0),
            Change::Left { .. } => None,
        })
        .collect()
}

/// Who runs, by real processor.
fn running(scheduler: &Scheduler, reals: usize) -> Vec<usize> {
    let occupants = (0..reals).filter_map(|real| scheduler.occupant(RealId(real)));
    occupants.map(|logical| logical.0).collect()
}

/// Whoever runs on real processor 0 consumes a whole slice.
fn consume_slice(scheduler: &mut Scheduler) {
    let logical = scheduler.occupant(RealId(0)).expect("somebody runs");
    scheduler.charge(logical, SLICE);
    assert!(scheduler.is_over(logical));
    scheduler.slice_end(logical, T0);
}

/// Whoever runs on real processor 0 spins.
fn spins(scheduler: &mut Scheduler) -> bool {
    scheduler.spin(scheduler.occupant(RealId(0)).expect("somebody runs"), CALL, T0)
}
