//! What a decision costs does not grow with the number of VMs beyond its logarithm.

use super::*;
use std::time::{Duration, Instant};

/// VMs of four vCPUs with different weights; a quarter of the steps each ends a slice, spins, waits, and wakes another vCPU. The
/// time of a step.
fn step_time(vms: usize, method: SpinMethod) -> Duration {
    const REALS: usize = 64;
    const STEPS: u32 = 200_000;
    let parameters: Vec<VmParameters> = (0..vms).map(|vm| shared(4, vm as u32 % 7 + 1, method)).collect();
    let mut scheduler = host(REALS, &parameters);
    let (mut seed, mut waiting) = (1_u64, Vec::new());
    let start = Instant::now();
    for _ in 0..STEPS {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let Some(vcpu) = scheduler.occupant(PcpuId((seed >> 58) as usize)) else { continue };
        scheduler.charge(vcpu, Cycles(seed >> 40 & 0xff));
        match seed >> 33 & 3 {
            0 => scheduler.slice_end(vcpu, T0),
            1 => drop(scheduler.spin(vcpu, CALL, T0)),
            2 => {
                scheduler.block(vcpu, T0);
                waiting.push(vcpu);
            }
            _ => {
                if let Some(vcpu) = (!waiting.is_empty()).then(|| waiting.swap_remove(waiting.len() / 2)) {
                    scheduler.wake(vcpu, T0);
                }
            }
        }
        scheduler.take_changes();
    }
    start.elapsed() / STEPS
}

/// 64 times as many VMs take at most twelve times as long: the logarithm of the queue's length grows from 7 to 13, and the rest is the cost of
/// memory that no longer fits the host's caches. A scan of the VMs would take 64 times as long.
#[test]
fn a_decision_costs_the_logarithm_of_the_number_of_vms() {
    for method in [SpinMethod::Wapd, SpinMethod::Rslp, SpinMethod::DirectedYield] {
        // The best of three, as other processes run on the host too.
        let best = |vms| (0..3).map(|_| step_time(vms, method)).min().unwrap();
        let (few, many) = (best(32), best(2048));
        eprintln!("{method}: {few:?} a step with 32 VMs, {many:?} with 2048");
        assert!(many < few * 12, "{method}: {few:?} with 32 VMs, {many:?} with 2048");
    }
}

/// The same in steps of the algorithm rather than in time: who comes to his turn and is out of service is passed over, and that happens to few.
#[test]
fn few_are_passed_over() {
    const VMS: usize = 1000;
    const DECISIONS: u64 = 50_000;
    // The first VM has nearly all the weight; each turn of one of the others puts it into debt for many rounds.
    let weight = |vm| if vm == 0 { 10_000 } else { 1 };
    let parameters: Vec<VmParameters> = (0..VMS).map(|vm| shared(1, weight(vm), SpinMethod::None)).collect();
    let mut scheduler = host(1, &parameters);
    for _ in 0..DECISIONS {
        let vcpu = scheduler.occupant(PcpuId(0)).unwrap();
        scheduler.charge(vcpu, scheduler.limit(vcpu).unwrap());
        scheduler.slice_end(vcpu, T0);
        scheduler.take_changes();
    }
    let Work { decisions, deferred, .. } = scheduler.take_work();
    assert!(decisions >= DECISIONS && deferred < 2 * decisions, "{deferred} in {decisions} decisions");
}
