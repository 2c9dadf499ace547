//! Figures 9, 10 and 11: LIP0 spins for what LIP3 does (in figure 10, LIP2), and LIP1 and LIP2 are in the way. One pCPU; LIP3 has
//! consumed its time slice before, so that it is in the time-slice-end queue.

use super::super::ready_queue::Subqueue;
use super::*;

/// LIP0 runs, LIP1 and LIP2 are proper-ready, LIP3 is in the time-slice-end queue.
fn before_the_spin(method: SpinMethod) -> Scheduler {
    let mut scheduler = Scheduler::new(1, Parameters { slice: SLICE });
    scheduler.add_vm(&shared(4, 100, method), T0).unwrap();
    for vcpu in [3, 0, 1, 2] {
        scheduler.wake(VcpuId(vcpu), T0);
    }
    consume_slice(&mut scheduler);
    assert_eq!(scheduler.subqueue(VcpuId(3)), Some(Subqueue::TimeSliceEnd));
    assert_eq!(dispatched(&mut scheduler), [3, 0]);
    scheduler
}

/// From the call on: LIP0 spins whenever it is dispatched before LIP3 was, and all others consume their slices. In order of dispatch.
fn until_it_spins_no_more(scheduler: &mut Scheduler) -> Vec<usize> {
    let mut order = Vec::new();
    let mut cleared = false;
    for _ in 0..20 {
        match scheduler.occupant(PcpuId(0)).unwrap().0 {
            0 if cleared => break,
            0 => assert!(!spins(scheduler), "there are partners to wait for"),
            vcpu => {
                cleared |= vcpu == 3;
                consume_slice(scheduler);
            }
        }
        order.extend(dispatched(scheduler));
    }
    order
}

#[test]
fn figure_9_under_wopd_lip0_is_ready_after_one_partner_and_spins_again() {
    let mut scheduler = before_the_spin(SpinMethod::Wopd);
    assert!(!spins(&mut scheduler));
    // One partner is dispatched, which makes LIP0 ready; it is behind LIP2.
    assert_eq!(dispatched(&mut scheduler), [1]);
    assert!(matches!(scheduler.state(VcpuId(0)), State::Ready(_)));
    let mut order = vec![1];
    order.extend(until_it_spins_no_more(&mut scheduler));
    assert_eq!(order, [1, 2, 0, 3, 0], "LIP0 is dispatched before LIP3 was, and spins again");
    assert_eq!(scheduler.statistics(VmId(0)).calls(), 2);
}

#[test]
fn figure_10_under_wapd_lip0_waits_for_all_three() {
    let mut scheduler = before_the_spin(SpinMethod::Wapd);
    // t1: the call.
    assert!(!spins(&mut scheduler));
    let mut order = dispatched(&mut scheduler);
    for partner in [1, 2] {
        assert_eq!(order.last(), Some(&partner));
        assert!(matches!(scheduler.state(VcpuId(0)), State::SpinWaiting(_)), "LIP3 has not been dispatched");
        consume_slice(&mut scheduler);
        order.extend(dispatched(&mut scheduler));
    }
    // t3: all have been dispatched, the last is LIP3.
    assert_eq!(order, [1, 2, 3]);
    assert!(matches!(scheduler.state(VcpuId(0)), State::Ready(_)));
    consume_slice(&mut scheduler);
    assert_eq!(dispatched(&mut scheduler), [0], "it has kept its position before those that ended their slices");
    assert_eq!(scheduler.statistics(VmId(0)).calls(), 1);
}

#[test]
fn figure_11_under_rslp_lip0_stands_behind_its_partner_in_the_time_slice_end_queue() {
    let mut scheduler = before_the_spin(SpinMethod::Rslp);
    assert!(!spins(&mut scheduler));
    assert_eq!(scheduler.subqueue(VcpuId(0)), Some(Subqueue::TimeSliceEnd));
    let mut order = dispatched(&mut scheduler);
    order.extend(until_it_spins_no_more(&mut scheduler));
    assert_eq!(order, [1, 2, 3, 0]);
    assert_eq!(scheduler.statistics(VmId(0)).calls(), 1);
}

#[test]
fn under_rslp_the_last_subqueue_with_a_partner_decides() {
    use super::super::spin::{Answer, Partners, Rslp, SpinControl};
    let three = VcpuSet::of(&[3]);
    let mut partners = Partners { proper_ready: three, ..Partners::default() };
    let spin = |partners: &Partners| Rslp::new(4).spin(0, CALL, partners);
    assert_eq!(spin(&partners), Answer::Requeue(Subqueue::ProperReady));
    partners.time_slice_end = VcpuSet::of(&[2]);
    assert_eq!(spin(&partners), Answer::Requeue(Subqueue::TimeSliceEnd));
    partners.out_of_service = VcpuSet::of(&[1]);
    assert_eq!(spin(&partners), Answer::Requeue(Subqueue::OutOfService));
    assert_eq!(spin(&Partners::default()), Answer::Requeue(Subqueue::ProperReady));
}

#[test]
fn a_running_partner_is_no_reason_to_wait_under_wopd_but_a_ready_one_is_under_wapd() {
    for (method, goes_on) in [(SpinMethod::Wopd, true), (SpinMethod::WopdReady, false), (SpinMethod::Wapd, false)] {
        // LIP0 and LIP1 run, LIP2 is ready.
        let mut scheduler = host(2, &[shared(3, 100, method)]);
        assert_eq!(spins(&mut scheduler), goes_on, "{method}");
    }
}

#[test]
fn spinning_out_yielding_and_yielding_to_a_partner() {
    for (method, order) in [
        // Goes on: the paper's `spin`.
        (SpinMethod::None, vec![]),
        (SpinMethod::Gang, vec![]),
        // To the tail of the proper-ready queue, before LIP3.
        (SpinMethod::Yield, vec![1]),
        (SpinMethod::DirectedYield, vec![1]),
    ] {
        let mut scheduler = before_the_spin(method);
        let goes_on = spins(&mut scheduler);
        assert_eq!((goes_on, dispatched(&mut scheduler)), (order.is_empty(), order), "{method}");
        assert_ne!(scheduler.subqueue(VcpuId(0)), Some(Subqueue::TimeSliceEnd));
    }
    // A partner that is named runs at once, though it is last.
    let mut scheduler = before_the_spin(SpinMethod::DirectedYield);
    scheduler.spin(VcpuId(0), SpinCall { partner: Some(3), ..CALL }, T0);
    assert_eq!(running(&scheduler, 1), [3]);
}

#[test]
fn a_gang_comes_and_leaves_together() {
    let vms = [shared(2, 100, SpinMethod::None), shared(3, 100, SpinMethod::Gang)];
    let mut scheduler = host(3, &vms);
    // LIP2 of the gang was the third that woke: it runs, and its partners wait for pCPUs no longer than to the next decision.
    assert_eq!(running(&scheduler, 3), [0, 1, 2]);
    for vcpu in 0..3 {
        scheduler.charge(VcpuId(vcpu), Cycles(1));
    }
    scheduler.block(VcpuId(2), T0);
    assert_eq!(running(&scheduler, 3), [4, 1, 3], "LIP3 takes LIP4 along, on the pCPU of LIP0");
    scheduler.wake(VcpuId(2), T0);
    scheduler.charge(VcpuId(4), SLICE);
    scheduler.charge(VcpuId(3), SLICE);
    scheduler.slice_end(VcpuId(3), T0);
    assert_eq!(scheduler.statistics(VmId(1)).slice_ends, 2, "LIP4 leaves with LIP3");
    assert!(running(&scheduler, 3).contains(&0), "who was displaced goes on first");
    assert_eq!(scheduler.statistics(VmId(0)).preemptions, 1);
}

#[test]
fn no_vcpu_with_a_dedicated_processor_gives_way() {
    let vms = [
        VmParameters {
            allocation: Allocation::Dedicated(vec![PcpuId(1), PcpuId(2)]),
            ..shared(2, 100, SpinMethod::Wapd)
        },
        shared(3, 100, SpinMethod::Wapd),
    ];
    let mut scheduler = host(3, &vms);
    assert_eq!(running(&scheduler, 3), [2, 0, 1]);
    assert!(scheduler.spin(VcpuId(0), CALL, T0), "it goes on");
    assert_eq!(scheduler.limit(VcpuId(0)), None);
    scheduler.block(VcpuId(0), T0);
    assert_eq!(scheduler.occupant(PcpuId(1)), Some(VcpuId(0)), "it keeps its pCPU as it waits");
    assert!(!scheduler.spin(VcpuId(2), CALL, T0));
    assert_eq!(running(&scheduler, 3), [3, 0, 1]);
}

#[test]
fn the_scan_of_wapd_is_done_while_gspw_is_not_zero() {
    let mut scheduler = before_the_spin(SpinMethod::Wapd);
    scheduler.take_work();
    assert_eq!(scheduler.take_work(), Work::default());
    spins(&mut scheduler);
    // The call looks at three partners, and the dispatch of LIP1 at three masks.
    assert_eq!(scheduler.take_work(), Work { decisions: 1, examined: 6, deferred: 0 });
    // LIP2 and LIP3: the last of them ends the wait, and after that no other vCPU is considered.
    (0..3).for_each(|_| consume_slice(&mut scheduler));
    assert_eq!(scheduler.take_work(), Work { decisions: 3, examined: 6, deferred: 0 });
}
