//! The scheduler against the paper's examples, and what must hold always.

mod counts;
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

fn shared(vcpus: usize, weight: u32, spin: SpinMethod) -> VmParameters {
    VmParameters { vcpus, weight, allocation: Allocation::Shared, spin }
}

/// This many pCPUs and these VMs, whose vCPUs are all ready.
fn host(pcpus: usize, vms: &[VmParameters]) -> Scheduler {
    let mut scheduler = Scheduler::new(pcpus, Parameters { slice: SLICE });
    for vm in vms {
        scheduler.add_vm(vm, T0).expect("a VM that can be");
    }
    let vcpus: usize = vms.iter().map(|vm| vm.vcpus).sum();
    (0..vcpus).for_each(|vcpu| scheduler.wake(VcpuId(vcpu), T0));
    scheduler
}

/// Who was dispatched since this was last asked, in order.
fn dispatched(scheduler: &mut Scheduler) -> Vec<usize> {
    let changes = scheduler.take_changes().into_iter();
    changes
        .filter_map(|change| match change {
            Change::Dispatched { vcpu, .. } => Some(vcpu.0),
            Change::Left { .. } => None,
        })
        .collect()
}

/// Who runs, by pCPU.
fn running(scheduler: &Scheduler, pcpus: usize) -> Vec<usize> {
    let occupants = (0..pcpus).filter_map(|pcpu| scheduler.occupant(PcpuId(pcpu)));
    occupants.map(|vcpu| vcpu.0).collect()
}

/// The vCPU on pCPU 0 consumes a whole slice.
fn consume_slice(scheduler: &mut Scheduler) {
    let vcpu = scheduler.occupant(PcpuId(0)).expect("a vCPU runs");
    scheduler.charge(vcpu, SLICE);
    assert!(scheduler.is_over(vcpu));
    scheduler.slice_end(vcpu, T0);
}

/// The vCPU on pCPU 0 spins.
fn spins(scheduler: &mut Scheduler) -> bool {
    scheduler.spin(scheduler.occupant(PcpuId(0)).expect("a vCPU runs"), CALL, T0)
}
