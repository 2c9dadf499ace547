//! VMs that never yield, that halt, that die; and allocations that change under those who run.

use super::super::ready_queue::Subqueue;
use super::*;

#[test]
fn one_that_never_yields_gets_its_slice_and_no_more() {
    let mut scheduler = host(1, &[shared(1, 1, SpinMethod::Wapd), shared(1, 1, SpinMethod::Wapd)]);
    assert_eq!(scheduler.limit(VcpuId(0)), Some(SLICE));
    consume_slice(&mut scheduler);
    assert_eq!(running(&scheduler, 1), [1]);
}

#[test]
fn one_whose_vcpus_all_halt_costs_nothing() {
    let mut scheduler = host(2, &[shared(2, 1, SpinMethod::Wapd), shared(2, 1, SpinMethod::Wapd)]);
    scheduler.block(VcpuId(0), T0);
    scheduler.block(VcpuId(1), T0);
    assert_eq!(running(&scheduler, 2), [2, 3]);
    consume_slice(&mut scheduler);
    assert_eq!(running(&scheduler, 2), [2, 3]);
    for vcpu in [2, 3] {
        scheduler.block(VcpuId(vcpu), T0);
    }
    assert_eq!(running(&scheduler, 2), [0; 0]);
    scheduler.wake(VcpuId(1), T0);
    assert_eq!(running(&scheduler, 2), [1]);
}

#[test]
fn one_that_dies_takes_its_waits_along() {
    let mut scheduler = host(1, &[shared(3, 1, SpinMethod::Wapd), shared(1, 1, SpinMethod::Wapd)]);
    assert!(!spins(&mut scheduler));
    assert!(matches!(scheduler.state(VcpuId(0)), State::SpinWaiting(_)));
    scheduler.remove_vm(VmId(0), T0);
    assert_eq!(running(&scheduler, 1), [3]);
    assert!(scheduler.control(VmId(0)).waiting().is_empty());
    for vcpu in (0..3).map(VcpuId) {
        assert_eq!(scheduler.state(vcpu), State::Waiting);
        scheduler.wake(vcpu, T0);
        assert_eq!(scheduler.state(vcpu), State::Waiting, "a stopped vCPU is not made ready");
    }
    // It is alone now, and no quantity limits it.
    for _ in 0..100 {
        consume_slice(&mut scheduler);
        assert_eq!(running(&scheduler, 1), [3]);
    }
    assert_eq!(scheduler.statistics(VmId(1)).service_ends, 0);
}

#[test]
fn an_allocation_changes_under_those_who_run_and_wait() {
    let mut scheduler = host(3, &[shared(2, 1, SpinMethod::Wapd), shared(3, 1, SpinMethod::Wapd)]);
    assert_eq!(running(&scheduler, 3), [0, 1, 2]);
    assert!(!scheduler.spin(VcpuId(2), CALL, T0));
    assert!(matches!(scheduler.state(VcpuId(2)), State::SpinWaiting(_)));
    let dedicated = Allocation::Dedicated(vec![PcpuId(2), PcpuId(0)]);
    scheduler.allocate(VmId(0), &dedicated, T0).unwrap();
    assert_eq!(running(&scheduler, 3), [1, 3, 0], "who had the pCPUs makes room, and goes on first");
    assert_eq!(scheduler.subqueue(VcpuId(4)), Some(Subqueue::ProperReady));
    // The VM that shares becomes dedicated to nothing: there would be too few.
    let error = scheduler.allocate(VmId(1), &Allocation::Dedicated(vec![PcpuId(0), PcpuId(1), PcpuId(2)]), T0);
    assert_eq!(error, Err(AllocationError::Taken(0)));
    scheduler.allocate(VmId(0), &Allocation::Shared, T0).unwrap();
    let mut runs = running(&scheduler, 3);
    runs.sort_unstable();
    assert_eq!(runs.len(), 3);
    assert!(!scheduler.is_dedicated(VmId(0)));
    // The one that waited for all its partners has not been forgotten.
    for _ in 0..10 {
        for pcpu in (0..3).map(PcpuId) {
            let vcpu = scheduler.occupant(pcpu).unwrap();
            scheduler.charge(vcpu, SLICE);
            scheduler.slice_end(vcpu, T0);
        }
    }
    assert!(dispatched(&mut scheduler).contains(&2));
}

#[test]
fn allocations_that_cannot_be_are_refused() {
    let mut scheduler = host(2, &[shared(2, 1, SpinMethod::None), shared(1, 1, SpinMethod::None)]);
    let mut allocate = |pcpus: &[usize]| {
        scheduler
            .allocate(VmId(0), &Allocation::Dedicated(pcpus.iter().copied().map(PcpuId).collect()), T0)
            .unwrap_err()
    };
    assert_eq!(allocate(&[0]), AllocationError::NotOneToOne { vcpus: 2, pcpus: 1 });
    assert_eq!(allocate(&[0, 2]), AllocationError::NoSuchPcpu(2));
    assert_eq!(allocate(&[1, 1]), AllocationError::NoSuchPcpu(1));
    assert_eq!(allocate(&[0, 1]), AllocationError::NothingToShare);
    let refused = |vm: VmParameters| Scheduler::new(1, Parameters { slice: SLICE }).add_vm(&vm, T0).unwrap_err();
    assert_eq!(refused(shared(65, 1, SpinMethod::None)), AllocationError::Vcpus(65));
    assert_eq!(refused(shared(1, 10_001, SpinMethod::None)), AllocationError::Weight(10_001));
}

#[test]
fn a_weight_and_a_method_change_under_those_who_wait() {
    let mut scheduler = host(1, &[shared(3, 1, SpinMethod::Wapd), shared(1, 1, SpinMethod::Wapd)]);
    assert!(!spins(&mut scheduler));
    scheduler.set_spin_method(VmId(0), SpinMethod::None, T0);
    assert!((0..3).all(|vcpu| !matches!(scheduler.state(VcpuId(vcpu)), State::SpinWaiting(_))));
    scheduler.set_weight(VmId(0), 0, T0).unwrap();
    assert_eq!(running(&scheduler, 1), [3]);
    scheduler.block(VcpuId(3), T0);
    scheduler.set_weight(VmId(0), 5, T0).unwrap();
    assert_eq!(running(&scheduler, 1), [0]);
}
