//! VMs that never yield, that halt, that die; and allocations that change under those who run.

use super::super::ready_queue::Subqueue;
use super::*;

#[test]
fn one_that_never_yields_gets_its_slice_and_no_more() {
    let mut scheduler = host(1, &[shared(1, 1, SpinMethod::Wapd), shared(1, 1, SpinMethod::Wapd)]);
    assert_eq!(scheduler.limit(LogicalId(0)), Some(SLICE));
    consume_slice(&mut scheduler);
    assert_eq!(running(&scheduler, 1), [1]);
}

#[test]
fn one_whose_logical_processors_all_halt_costs_nothing() {
    let mut scheduler = host(2, &[shared(2, 1, SpinMethod::Wapd), shared(2, 1, SpinMethod::Wapd)]);
    scheduler.block(LogicalId(0), T0);
    scheduler.block(LogicalId(1), T0);
    assert_eq!(running(&scheduler, 2), [2, 3]);
    consume_slice(&mut scheduler);
    assert_eq!(running(&scheduler, 2), [2, 3]);
    for logical in [2, 3] {
        scheduler.block(LogicalId(logical), T0);
    }
    assert_eq!(running(&scheduler, 2), [0; 0]);
    scheduler.wake(LogicalId(1), T0);
    assert_eq!(running(&scheduler, 2), [1]);
}

#[test]
fn one_that_dies_takes_its_waits_along() {
    let mut scheduler = host(1, &[shared(3, 1, SpinMethod::Wapd), shared(1, 1, SpinMethod::Wapd)]);
    assert!(!spins(&mut scheduler));
    assert!(matches!(scheduler.state(LogicalId(0)), State::SpinWaiting(_)));
    scheduler.remove_vm(VmId(0), T0);
    assert_eq!(running(&scheduler, 1), [3]);
    assert!(scheduler.control(VmId(0)).waiting().is_empty());
    for logical in (0..3).map(LogicalId) {
        assert_eq!(scheduler.state(logical), State::Waiting);
        scheduler.wake(logical, T0);
        assert_eq!(scheduler.state(logical), State::Waiting, "nobody rises from the dead");
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
    assert!(!scheduler.spin(LogicalId(2), CALL, T0));
    assert!(matches!(scheduler.state(LogicalId(2)), State::SpinWaiting(_)));
    let dedicated = Allocation::Dedicated(vec![RealId(2), RealId(0)]);
    scheduler.allocate(VmId(0), &dedicated, T0).unwrap();
    assert_eq!(running(&scheduler, 3), [1, 3, 0], "who had the real processors makes room, and goes on first");
    assert_eq!(scheduler.subqueue(LogicalId(4)), Some(Subqueue::ProperReady));
    // The VM that shares becomes dedicated to nothing: there would be too few.
    let error = scheduler.allocate(VmId(1), &Allocation::Dedicated(vec![RealId(0), RealId(1), RealId(2)]), T0);
    assert_eq!(error, Err(AllocationError::Taken(0)));
    scheduler.allocate(VmId(0), &Allocation::Shared, T0).unwrap();
    let mut runs = running(&scheduler, 3);
    runs.sort_unstable();
    assert_eq!(runs.len(), 3);
    assert!(!scheduler.is_dedicated(VmId(0)));
    // The one that waited for all its partners has not been forgotten.
    for _ in 0..10 {
        for real in (0..3).map(RealId) {
            let logical = scheduler.occupant(real).unwrap();
            scheduler.charge(logical, SLICE);
            scheduler.slice_end(logical, T0);
        }
    }
    assert!(despatched(&mut scheduler).contains(&2));
}

#[test]
fn allocations_that_cannot_be_are_refused() {
    let mut scheduler = host(2, &[shared(2, 1, SpinMethod::None), shared(1, 1, SpinMethod::None)]);
    let mut allocate = |reals: &[usize]| {
        scheduler
            .allocate(VmId(0), &Allocation::Dedicated(reals.iter().copied().map(RealId).collect()), T0)
            .unwrap_err()
    };
    assert_eq!(allocate(&[0]), AllocationError::NotOneToOne { logicals: 2, reals: 1 });
    assert_eq!(allocate(&[0, 2]), AllocationError::NoSuchReal(2));
    assert_eq!(allocate(&[1, 1]), AllocationError::NoSuchReal(1));
    assert_eq!(allocate(&[0, 1]), AllocationError::NothingToShare);
    let refused = |vm: VmParameters| Scheduler::new(1, Parameters { slice: SLICE }).add_vm(&vm, T0).unwrap_err();
    assert_eq!(refused(shared(65, 1, SpinMethod::None)), AllocationError::Logicals(65));
    assert_eq!(refused(shared(1, 10_001, SpinMethod::None)), AllocationError::Weight(10_001));
}

#[test]
fn a_weight_and_a_method_change_under_those_who_wait() {
    let mut scheduler = host(1, &[shared(3, 1, SpinMethod::Wapd), shared(1, 1, SpinMethod::Wapd)]);
    assert!(!spins(&mut scheduler));
    scheduler.set_spin_method(VmId(0), SpinMethod::None, T0);
    assert!((0..3).all(|logical| !matches!(scheduler.state(LogicalId(logical)), State::SpinWaiting(_))));
    scheduler.set_weight(VmId(0), 0, T0).unwrap();
    assert_eq!(running(&scheduler, 1), [3]);
    scheduler.block(LogicalId(3), T0);
    scheduler.set_weight(VmId(0), 5, T0).unwrap();
    assert_eq!(running(&scheduler, 1), [0]);
}
