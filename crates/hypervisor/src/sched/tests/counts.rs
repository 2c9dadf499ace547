//! Counts and limits of small hosts, to the unit. Each test catches faults that mutation tests put into the scheduler and no other test found:
//! docs/mutants.md.

use super::super::account::Contenders;
use super::super::ready_queue::Subqueue;
use super::super::service::MOST_WEIGHT;
use super::*;

fn contenders(scheduler: &Scheduler) -> [u64; 3] {
    let Contenders { vms, weight, vcpus } = scheduler.contenders;
    [vms as u64, weight, vcpus]
}

#[test]
fn a_processor_that_is_added_is_used() {
    let mut scheduler = host(1, &[shared(2, 1, SpinMethod::None)]);
    scheduler.add_pcpu();
    scheduler.slice_end(VcpuId(0), T0);
    assert_eq!(running(&scheduler, 2).len(), 2);
}

#[test]
fn spin_calls_without_an_action_are_counted() {
    let mut scheduler = host(1, &[shared(2, 1, SpinMethod::None)]);
    assert!(spins(&mut scheduler) && spins(&mut scheduler));
    let statistics = scheduler.statistics(VmId(0));
    assert_eq!((statistics.continued, statistics.calls()), (2, 2));
}

#[test]
fn dispatches_and_migrations_are_counted() {
    let mut scheduler = host(2, &[shared(3, 1, SpinMethod::None)]);
    let counts = |scheduler: &Scheduler| {
        let statistics = scheduler.statistics(VmId(0));
        [statistics.dispatches, statistics.migrations, statistics.slice_ends]
    };
    assert_eq!(counts(&scheduler), [2, 0, 0]);
    scheduler.slice_end(VcpuId(1), T0);
    assert_eq!((running(&scheduler, 2), counts(&scheduler)), (vec![0, 2], [3, 0, 1]));
    scheduler.slice_end(VcpuId(0), T0);
    // Its own pCPU is taken.
    assert_eq!((running(&scheduler, 2), counts(&scheduler)), (vec![1, 2], [4, 1, 2]));
    scheduler.block(VcpuId(1), T0);
    // pCPU 0 is where it ran before.
    assert_eq!((running(&scheduler, 2), counts(&scheduler)), (vec![0, 2], [5, 1, 2]));
}

#[test]
fn a_slice_end_is_a_service_end_when_the_quantity_is_consumed() {
    let mut scheduler = host(1, &[shared(1, 1, SpinMethod::None), shared(1, 1, SpinMethod::None)]);
    // A round has four slices for each vCPU.
    (0..8).for_each(|_| consume_slice(&mut scheduler));
    for vm in [VmId(0), VmId(1)] {
        let statistics = scheduler.statistics(vm);
        assert_eq!((statistics.slice_ends, statistics.service_ends), (3, 1), "{vm:?}");
    }
}

/// VM 0 has consumed its quantity by its first vCPU, and its second one has been passed over for VM 1.
fn out_of_service() -> Scheduler {
    let mut scheduler = host(1, &[shared(2, 1, SpinMethod::None), shared(1, 1, SpinMethod::None)]);
    scheduler.take_work();
    // It woke alone, to a round of four slices for each of its two vCPUs.
    scheduler.charge(VcpuId(0), Cycles(8 * SLICE.0));
    scheduler.slice_end(VcpuId(0), T0);
    assert_eq!(running(&scheduler, 1), [2]);
    scheduler
}

#[test]
fn a_vcpu_that_is_passed_over_is_counted() {
    let mut scheduler = out_of_service();
    assert_eq!(scheduler.subqueue(VcpuId(1)), Some(Subqueue::OutOfService));
    let work = scheduler.take_work();
    assert_eq!((work.decisions, work.deferred), (1, 1));
}

#[test]
fn a_round_that_begins_early_makes_all_of_them_proper_ready() {
    let mut scheduler = out_of_service();
    scheduler.block(VcpuId(2), T0);
    // The one that was passed over has kept its place.
    assert_eq!(running(&scheduler, 1), [1]);
    assert_eq!(scheduler.subqueue(VcpuId(0)), Some(Subqueue::ProperReady));
}

#[test]
fn a_queue_that_has_moved_on_makes_who_stands_in_it_proper_ready() {
    for weight in [0, 1] {
        let mut scheduler = host(1, &[shared(3, weight, SpinMethod::None)]);
        consume_slice(&mut scheduler);
        consume_slice(&mut scheduler);
        assert_eq!(scheduler.subqueue(VcpuId(1)), Some(Subqueue::TimeSliceEnd), "weight {weight}");
        consume_slice(&mut scheduler);
        assert_eq!(running(&scheduler, 1), [0]);
        assert_eq!(scheduler.subqueue(VcpuId(1)), Some(Subqueue::ProperReady), "weight {weight}");
    }
}

#[test]
fn a_vcpu_may_run_for_an_eighth_of_a_slice_however_little_is_left() {
    let mut scheduler = host(1, &[shared(1, 1, SpinMethod::None), shared(1, 1, SpinMethod::None)]);
    // VM 0 consumes 3800 of its 4000 in four turns.
    for _ in 0..4 {
        scheduler.charge(VcpuId(0), Cycles(950));
        scheduler.slice_end(VcpuId(0), T0);
        scheduler.slice_end(VcpuId(1), T0);
    }
    assert_eq!((running(&scheduler, 1), scheduler.limit(VcpuId(0))), (vec![0], Some(Cycles(200))));
    scheduler.charge(VcpuId(0), Cycles(150));
    assert_eq!(scheduler.limit(VcpuId(0)), Some(Cycles(SLICE.0 / 8)));
}

#[test]
fn a_turn_is_over_with_the_last_cycle_of_its_slice() {
    let mut scheduler = host(1, &[shared(2, 1, SpinMethod::None)]);
    assert!(!scheduler.is_over(VcpuId(0)));
    scheduler.charge(VcpuId(0), Cycles(SLICE.0 - 1));
    assert!(!scheduler.is_over(VcpuId(0)));
    scheduler.charge(VcpuId(0), Cycles(1));
    assert!(scheduler.is_over(VcpuId(0)));
}

#[test]
fn vms_contend_while_they_have_something_to_do() {
    let vm = |vcpus, weight| shared(vcpus, weight, SpinMethod::None);
    let mut scheduler = host(1, &[vm(2, 3), vm(1, 5), vm(1, 7), vm(2, 0)]);
    assert_eq!(contenders(&scheduler), [3, 15, 4], "a VM of weight 0 contends for nothing");
    scheduler.block(VcpuId(0), T0);
    assert_eq!(contenders(&scheduler), [3, 15, 4], "its other vCPU is ready");
    scheduler.slice_end(VcpuId(1), T0);
    while running(&scheduler, 1) != [1] {
        consume_slice(&mut scheduler);
    }
    scheduler.block(VcpuId(1), T0);
    assert_eq!(contenders(&scheduler), [2, 12, 2]);
    scheduler.wake(VcpuId(1), T0);
    assert_eq!(contenders(&scheduler), [3, 15, 4]);
}

#[test]
fn no_quantity_limits_a_vm_of_weight_0_or_the_only_one_with_a_weight() {
    let vm = |weight| shared(1, weight, SpinMethod::None);
    let mut scheduler = host(3, &[vm(0), vm(1), vm(1)]);
    scheduler.charge(VcpuId(0), SLICE);
    scheduler.slice_end(VcpuId(0), T0);
    let statistics = scheduler.statistics(VmId(0));
    assert_eq!((statistics.slice_ends, statistics.service_ends), (1, 0));
    assert_eq!(scheduler.limit(VcpuId(0)), Some(SLICE));

    let mut scheduler = host(1, &[vm(0), vm(1)]);
    assert_eq!(running(&scheduler, 1), [1]);
    (0..20).for_each(|_| consume_slice(&mut scheduler));
    let statistics = scheduler.statistics(VmId(1));
    assert_eq!((statistics.slice_ends, statistics.service_ends), (20, 0));
}

#[test]
fn only_a_gang_leaves_together() {
    for (method, leave) in [(SpinMethod::None, 1), (SpinMethod::Wapd, 1), (SpinMethod::Gang, 2)] {
        let mut scheduler = host(2, &[shared(2, 1, method), shared(2, 1, SpinMethod::None)]);
        for vcpu in [0, 1] {
            scheduler.charge(VcpuId(vcpu), Cycles(1));
        }
        scheduler.slice_end(VcpuId(0), T0);
        assert_eq!(scheduler.statistics(VmId(0)).slice_ends, leave, "{method}");
    }
}

#[test]
fn partners_that_a_spin_call_looks_at_are_counted() {
    // vCPU 0 runs, and its three partners are ready.
    let examined = |method, partner| {
        let mut scheduler = host(1, &[shared(4, 1, method)]);
        scheduler.take_work();
        scheduler.spin(VcpuId(0), SpinCall { partner, ..CALL }, T0);
        scheduler.take_work().examined
    };
    assert_eq!(examined(SpinMethod::None, None), 0);
    assert_eq!(host(1, &[shared(4, 1, SpinMethod::None)]).take_work().examined, 0);
    assert_eq!(examined(SpinMethod::DirectedYield, Some(3)), 1, "the one that is named");
    assert_eq!(examined(SpinMethod::DirectedYield, None), 1, "the first one is eligible");
    assert_eq!(examined(SpinMethod::Rslp, None), 3);
    assert_eq!(examined(SpinMethod::Wopd, None), 3 + 1, "the one that waits is looked at when a partner is dispatched");
}

#[test]
fn a_weight_that_changes_counts_at_once() {
    let mut scheduler = host(1, &[shared(1, 3, SpinMethod::None), shared(1, 5, SpinMethod::None)]);
    assert_eq!(contenders(&scheduler), [2, 8, 2]);
    scheduler.set_weight(VmId(0), 7, T0).unwrap();
    assert_eq!(contenders(&scheduler), [2, 12, 2]);
    scheduler.set_weight(VmId(0), MOST_WEIGHT, T0).unwrap();
    assert_eq!(scheduler.set_weight(VmId(0), MOST_WEIGHT + 1, T0), Err(AllocationError::Weight(MOST_WEIGHT + 1)));
}

#[test]
fn a_vm_that_shares_needs_a_processor_to_share() {
    let dedicated =
        VmParameters { allocation: Allocation::Dedicated(vec![PcpuId(0)]), ..shared(1, 1, SpinMethod::None) };
    let mut scheduler = host(1, &[dedicated]);
    assert!(scheduler.is_dedicated(VmId(0)));
    let refused = scheduler.add_vm(&shared(1, 1, SpinMethod::None), T0);
    assert_eq!(refused.err(), Some(AllocationError::NothingToShare));
    scheduler.allocate(VmId(0), &Allocation::Shared, T0).unwrap();
    assert!(!scheduler.is_dedicated(VmId(0)));
    assert!(scheduler.add_vm(&shared(1, 1, SpinMethod::None), T0).is_ok());
}

fn dedicated(pcpus: &[usize]) -> Allocation {
    Allocation::Dedicated(pcpus.iter().copied().map(PcpuId).collect())
}

#[test]
fn a_vm_keeps_or_changes_its_own_processors_and_gets_no_other_vms() {
    let own = |pcpu| VmParameters { allocation: dedicated(&[pcpu]), ..shared(1, 1, SpinMethod::None) };
    let mut scheduler = host(3, &[own(0), own(1)]);
    let mut allocate = |pcpu| scheduler.allocate(VmId(0), &dedicated(&[pcpu]), T0);
    assert_eq!(allocate(0), Ok(()), "it has it already");
    assert_eq!(allocate(1), Err(AllocationError::Taken(1)));
    assert_eq!(allocate(2), Ok(()));
    assert_eq!(running(&scheduler, 3), [1, 0], "pCPU 0 is free, and no vCPU waits for it");
}

#[test]
fn what_a_vm_gives_back_is_left_for_those_that_share() {
    let own = |pcpu| VmParameters { allocation: dedicated(&[pcpu]), ..shared(1, 1, SpinMethod::None) };
    let mut scheduler = host(3, &[own(0), own(1), shared(1, 1, SpinMethod::None)]);
    assert_eq!(running(&scheduler, 3), [0, 1, 2]);
    assert_eq!(scheduler.allocate(VmId(0), &dedicated(&[2]), T0), Ok(()));
    assert_eq!(running(&scheduler, 3), [2, 1, 0]);
}

#[test]
fn what_another_vm_has_is_not_left_for_those_that_share() {
    let own = VmParameters { allocation: dedicated(&[1]), ..shared(1, 1, SpinMethod::None) };
    let mut scheduler = host(3, &[shared(2, 1, SpinMethod::None), own, shared(1, 1, SpinMethod::None)]);
    let refused = scheduler.allocate(VmId(0), &dedicated(&[0, 2]), T0);
    assert_eq!(refused, Err(AllocationError::NothingToShare));
}

#[test]
fn a_vcpu_with_nothing_to_do_has_nothing_to_do_on_a_processor_of_its_own() {
    let mut scheduler = host(2, &[shared(2, 1, SpinMethod::None)]);
    scheduler.block(VcpuId(1), T0);
    scheduler.allocate(VmId(0), &dedicated(&[0, 1]), T0).unwrap();
    assert!(matches!(scheduler.state(VcpuId(0)), State::Running(PcpuId(0))));
    assert!(matches!(scheduler.state(VcpuId(1)), State::Waiting));
}

#[test]
fn a_new_spin_method_takes_effect() {
    let mut scheduler = host(1, &[shared(2, 1, SpinMethod::None)]);
    assert!(spins(&mut scheduler), "it goes on spinning");
    scheduler.set_spin_method(VmId(0), SpinMethod::Wapd, T0);
    assert!(!spins(&mut scheduler), "it waits for its partners");
}
