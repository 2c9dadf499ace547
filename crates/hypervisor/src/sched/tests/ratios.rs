//! Service ratios over a long run.

use super::*;

/// Everybody always has something to do; pCPUs run for `slices` slices of time in lockstep, a quarter of a slice at a time. With
/// `spin_every` = n, who runs spins after every nth step. The part of each VM in all that was consumed.
fn parts(pcpus: usize, vms: &[VmParameters], slices: u64, spin_every: Option<u64>) -> Vec<f64> {
    const STEP: Cycles = Cycles(SLICE.0 / 4);
    let mut scheduler = host(pcpus, vms);
    for step in 0..slices * 4 {
        let now = Cycles(step * STEP.0);
        for pcpu in (0..pcpus).map(PcpuId) {
            let vcpu = scheduler.occupant(pcpu).expect("work conserving");
            scheduler.charge(vcpu, scheduler.limit(vcpu).map_or(STEP, |limit| limit.min(STEP)));
            if scheduler.is_over(vcpu) {
                scheduler.slice_end(vcpu, now);
            } else if spin_every.is_some_and(|every| step % every == 0) {
                scheduler.spin(vcpu, CALL, now);
            }
        }
    }
    let busy: Vec<f64> = (0..vms.len()).map(|vm| scheduler.statistics(VmId(vm)).busy.0 as f64).collect();
    let sum: f64 = busy.iter().sum();
    busy.into_iter().map(|busy| busy / sum).collect()
}

fn assert_ratio(pcpus: usize, vms: &[VmParameters], spin_every: Option<u64>) {
    let weights: u32 = vms.iter().map(|vm| vm.weight).sum();
    for (vm, part) in parts(pcpus, vms, 20_000, spin_every).into_iter().enumerate() {
        let entitled = f64::from(vms[vm].weight) / f64::from(weights);
        let off = (part - entitled).abs() / entitled.max(0.01);
        assert!(off < 0.02, "VM {vm} of {vms:?}: {part} instead of {entitled}");
    }
}

#[test]
fn service_ratios_hold_within_two_percent() {
    let vm = |vcpus, weight| shared(vcpus, weight, SpinMethod::None);
    // The paper's example.
    assert_ratio(1, &[vm(1, 30), vm(1, 70)], None);
    assert_ratio(3, &[vm(3, 30), vm(3, 70)], None);
    assert_ratio(4, &[vm(4, 10), vm(4, 20), vm(4, 30), vm(4, 40)], None);
    assert_ratio(2, &[vm(4, 1), vm(4, 99)], None);
    assert_ratio(5, &[vm(5, 1), vm(5, 1), vm(5, 1), vm(5, 1), vm(5, 1)], None);
    // The number of vCPUs gives no VM more.
    assert_ratio(2, &[vm(2, 50), vm(6, 50)], None);
}

#[test]
fn spinning_gains_and_loses_nothing() {
    for method in SpinMethod::ALL {
        let vms = [shared(3, 30, method), shared(3, 70, SpinMethod::None)];
        assert_ratio(3, &vms, Some(3));
        assert_ratio(1, &[shared(3, 30, method), shared(3, 70, method)], Some(1));
    }
}

#[test]
fn a_weight_of_zero_gets_what_no_other_vm_wants() {
    let vm = |vcpus, weight| shared(vcpus, weight, SpinMethod::None);
    let parts = parts(2, &[vm(2, 0), vm(2, 1), vm(2, 1)], 1000, None);
    assert_eq!(parts[0], 0.0);
    assert!((parts[1] - 0.5).abs() < 0.01, "{parts:?}");
    let mut scheduler = host(2, &[vm(2, 0), vm(2, 1)]);
    assert_eq!(running(&scheduler, 2).into_iter().sum::<usize>(), 2 + 3);
    let VcpuId(served) = scheduler.occupant(PcpuId(0)).unwrap();
    scheduler.block(VcpuId(served), T0);
    assert_eq!(running(&scheduler, 2), [0, 5 - served]);
    scheduler.wake(VcpuId(served), T0);
    assert_eq!(running(&scheduler, 2), [served, 5 - served], "at once, not at the end of a slice");
}
