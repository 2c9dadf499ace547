//! Model checking: every state that small hosts can reach, by whatever happens to them, and random walks through larger ones.

use super::super::ready_queue::{ReadyQueue, Subqueue};
use super::*;
use proptest::prelude::*;
use std::collections::{HashSet, VecDeque};

/// What can happen to the vCPU that is named; nothing, where it does not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Wake(usize),
    Block(usize),
    Spin(usize),
    SliceEnd(usize),
}

fn apply(scheduler: &mut Scheduler, step: Step) {
    match step {
        Step::Wake(vcpu) => scheduler.wake(VcpuId(vcpu), T0),
        Step::Block(vcpu) => scheduler.block(VcpuId(vcpu), T0),
        Step::Spin(vcpu) => drop(scheduler.spin(VcpuId(vcpu), CALL, T0)),
        Step::SliceEnd(vcpu) => scheduler.slice_end(VcpuId(vcpu), T0),
    }
}

fn vcpus(vms: &[VmParameters]) -> usize {
    vms.iter().map(|vm| vm.vcpus).sum()
}

/// What must hold in every state.
fn check(scheduler: &mut Scheduler, pcpus: usize, vms: &[VmParameters]) {
    let count = vcpus(vms);
    let states: Vec<State> = (0..count).map(|vcpu| scheduler.state(VcpuId(vcpu))).collect();
    // One to one: a pCPU has the vCPU that says it runs there.
    for (vcpu, state) in states.iter().enumerate() {
        if let State::Running(pcpu) = state {
            assert_eq!(scheduler.occupant(*pcpu), Some(VcpuId(vcpu)));
        }
    }
    // The queue holds those that are ready, each once, and no other.
    let mut queued: Vec<usize> =
        scheduler.queues().into_iter().flat_map(ReadyQueue::iter).map(|(_, vcpu)| vcpu.0).collect();
    queued.sort_unstable();
    let is_ready = |&vcpu: &usize| matches!(states[vcpu], State::Ready(_));
    assert_eq!(queued, (0..count).filter(is_ready).collect::<Vec<_>>());
    // Work conserving.
    let idle = (0..pcpus).filter(|&pcpu| scheduler.occupant(PcpuId(pcpu)).is_none()).count();
    assert!(idle == 0 || queued.is_empty(), "{idle} pCPUs are idle and {queued:?} are ready");
    // GSPW is the number of ASPW = 1, and these are the states of the vCPUs. A vCPU that waits has a partner that is ready.
    let mut first = 0;
    for (vm, parameters) in vms.iter().enumerate() {
        let waiting = scheduler.control(VmId(vm)).waiting();
        for number in 0..parameters.vcpus {
            let waits = matches!(states[first + number], State::SpinWaiting(_));
            assert_eq!(waiting.contains(number), waits, "{:?}", scheduler.control(VmId(vm)));
        }
        let ready = (first..first + parameters.vcpus).any(|vcpu| is_ready(&vcpu));
        assert!(waiting.is_empty() || ready, "{waiting:?} of VM {vm} wait for no vCPU");
        let control = format!("{:?}", scheduler.control(VmId(vm)));
        if parameters.spin == SpinMethod::Wapd {
            assert!(control.contains(&format!("gspw: {},", waiting.len())), "{control} with {} waiting", waiting.len());
        }
        first += parameters.vcpus;
    }
}

/// From here on no vCPU is woken and none blocks: each that runs spins while a partner can run, and then ends its slice.
/// Everybody who is ready or waits because of a spin gets some time of a processor sooner or later: to be dispatched is not enough.
fn check_no_vcpu_waits_for_ever(scheduler: &mut Scheduler, pcpus: usize, vms: &[VmParameters]) {
    let count = vcpus(vms);
    let weights: Vec<u32> = vms.iter().flat_map(|vm| core::iter::repeat_n(vm.weight, vm.vcpus)).collect();
    let wants = |&n: &usize| matches!(scheduler.state(VcpuId(n)), State::Ready(_) | State::SpinWaiting(_));
    // That one without a weight may wait for ever is what a service ratio of zero means.
    let mut missing: HashSet<usize> = (0..count).filter(wants).filter(|&n| weights[n] > 0).collect();
    scheduler.take_changes();
    // Long enough for a VM of weight 1 among many of weight 99.
    for _ in 0..2000 * count {
        if missing.is_empty() {
            break;
        }
        for pcpu in (0..pcpus).map(PcpuId) {
            let Some(vcpu) = scheduler.occupant(pcpu) else { continue };
            scheduler.charge(vcpu, Cycles(SLICE.0 / 3));
            missing.remove(&vcpu.0);
            if scheduler.is_over(vcpu) {
                scheduler.slice_end(vcpu, T0);
            } else {
                scheduler.spin(vcpu, CALL, T0);
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?} of {vms:?} wait for ever");
}

/// Two states of the same fingerprint have the same future: who stands where, in which order, and what spin control remembers.
fn fingerprint(scheduler: &Scheduler, count: usize, vms: usize) -> String {
    let kind = |state| match state {
        State::Waiting => 'w',
        State::Ready(_) => 'r',
        State::SpinWaiting(_) => 's',
        State::Running(_) => 'R',
    };
    let states: Vec<_> =
        (0..count).map(|vcpu| (kind(scheduler.state(VcpuId(vcpu))), scheduler.seat(VcpuId(vcpu)))).collect();
    let queue: Vec<_> = scheduler.queues().into_iter().flat_map(ReadyQueue::iter).collect();
    let controls: Vec<String> =
        (0..vms).map(|vm| without_counts(&format!("{:?}", scheduler.control(VmId(vm))))).collect();
    // Positions of those who are held, relative to the others.
    let mut held: Vec<_> = (0..count)
        .filter_map(|vcpu| match scheduler.state(VcpuId(vcpu)) {
            State::SpinWaiting(ticket) | State::Ready(ticket) => Some((ticket, vcpu)),
            State::Waiting | State::Running(_) => None,
        })
        .collect();
    held.sort_unstable_by_key(|&(ticket, _)| ticket.key());
    let held: Vec<usize> = held.into_iter().map(|(_, vcpu)| vcpu).collect();
    format!("{states:?}{queue:?}{held:?}{controls:?}")
}

fn without_counts(control: &str) -> String {
    control.split(", examined").next().unwrap_or_default().to_owned()
}

/// Every state that can be reached, up to this many.
fn explore(pcpus: usize, vms: &[VmParameters], most: usize) -> usize {
    let count = vcpus(vms);
    let new = || {
        let mut scheduler = Scheduler::new(pcpus, Parameters { slice: SLICE });
        for vm in vms {
            scheduler.add_vm(vm, T0).unwrap();
        }
        scheduler
    };
    let replay = |path: &[Step]| {
        let mut scheduler = new();
        path.iter().for_each(|&step| apply(&mut scheduler, step));
        scheduler
    };
    let mut seen = HashSet::from([fingerprint(&new(), count, vms.len())]);
    let mut open = VecDeque::from([Vec::new()]);
    while let Some(path) = open.pop_front() {
        check_no_vcpu_waits_for_ever(&mut replay(&path), pcpus, vms);
        for vcpu in 0..count {
            let before = replay(&path);
            let steps: &[Step] = match before.state(VcpuId(vcpu)) {
                State::Waiting => &[Step::Wake(vcpu)],
                State::Running(_) => &[Step::Block(vcpu), Step::Spin(vcpu), Step::SliceEnd(vcpu)],
                State::Ready(_) | State::SpinWaiting(_) => &[],
            };
            for &step in steps {
                let mut scheduler = replay(&path);
                apply(&mut scheduler, step);
                check(&mut scheduler, pcpus, vms);
                if seen.len() < most && seen.insert(fingerprint(&scheduler, count, vms.len())) {
                    open.push_back(path.iter().copied().chain([step]).collect());
                }
            }
        }
    }
    seen.len()
}

#[test]
fn every_reachable_state_of_small_hosts_is_sound() {
    for method in SpinMethod::ALL {
        let states = explore(1, &[shared(3, 1, method), shared(1, 1, method)], 3000);
        assert!(states > 100, "{method}: only {states} states");
        explore(2, &[shared(3, 1, method), shared(2, 1, SpinMethod::None)], 1500);
        explore(2, &[shared(2, 1, method), shared(2, 1, method)], 1500);
        // One without a weight, and one with its own processors.
        explore(1, &[shared(2, 0, method), shared(1, 1, method)], 1000);
    }
}

fn step(count: usize) -> impl Strategy<Value = Step> {
    (0..count, 0_u8..6).prop_map(|(vcpu, what)| match what {
        0 | 1 => Step::Wake(vcpu),
        2 => Step::Block(vcpu),
        3 | 4 => Step::Spin(vcpu),
        _ => Step::SliceEnd(vcpu),
    })
}

fn method() -> impl Strategy<Value = SpinMethod> {
    prop::sample::select(SpinMethod::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn random_hosts_stay_sound(
        pcpus in 1_usize..5,
        vms in prop::collection::vec((1_usize..6, 1_u32..100, method()), 1..6),
        steps in prop::collection::vec((step(30), 0_u64..1500), 0..300),
    ) {
        let vms: Vec<VmParameters> = vms.into_iter().map(|(vcpus, weight, spin)| shared(vcpus, weight, spin)).collect();
        let mut scheduler = host(pcpus, &vms);
        let count = vcpus(&vms);
        for (step, consumed) in steps {
            let (Step::Wake(vcpu) | Step::Block(vcpu) | Step::Spin(vcpu) | Step::SliceEnd(vcpu)) = step;
            if vcpu >= count {
                continue;
            }
            if let State::Running(_) = scheduler.state(VcpuId(vcpu)) {
                scheduler.charge(VcpuId(vcpu), Cycles(consumed));
            }
            apply(&mut scheduler, step);
            check(&mut scheduler, pcpus, &vms);
        }
        check_no_vcpu_waits_for_ever(&mut scheduler, pcpus, &vms);
    }

    #[test]
    fn allocations_change_and_everything_stays_sound(
        steps in prop::collection::vec((step(7), 0_u8..12), 0..200),
    ) {
        let vms = [shared(2, 3, SpinMethod::Wapd), shared(3, 1, SpinMethod::Wopd), shared(2, 2, SpinMethod::Gang)];
        let mut scheduler = host(4, &vms);
        for (step, change) in steps {
            apply(&mut scheduler, step);
            match change {
                0 => drop(scheduler.allocate(VmId(0), &Allocation::Dedicated(vec![PcpuId(3), PcpuId(1)]), T0)),
                1 => drop(scheduler.allocate(VmId(2), &Allocation::Dedicated(vec![PcpuId(1), PcpuId(0)]), T0)),
                2 => scheduler.allocate(VmId(0), &Allocation::Shared, T0).unwrap(),
                3 => scheduler.allocate(VmId(2), &Allocation::Shared, T0).unwrap(),
                4 => scheduler.set_weight(VmId(1), 0, T0).unwrap(),
                5 => scheduler.set_weight(VmId(1), 9, T0).unwrap(),
                _ => {}
            }
            let dedicated: Vec<bool> = (0..3).map(|vm| scheduler.is_dedicated(VmId(vm))).collect();
            let owned = 2 * usize::from(dedicated[0]) + 2 * usize::from(dedicated[2]);
            prop_assert!(owned <= 3, "a VM shares, and a pCPU is left to share");
            let queued: usize = scheduler.queues().into_iter().map(ReadyQueue::len).sum();
            let idle = (0..4).filter(|&pcpu| scheduler.occupant(PcpuId(pcpu)).is_none()).count();
            prop_assert!(idle == 0 || queued == 0);
            for vcpu in (0..7).map(VcpuId) {
                if let Some(pcpu) = scheduler.seat(vcpu) {
                    prop_assert_eq!(scheduler.occupant(pcpu), Some(vcpu));
                }
            }
        }
        for vm in 0..3 {
            scheduler.allocate(VmId(vm), &Allocation::Shared, T0).unwrap();
        }
        scheduler.set_weight(VmId(1), 9, T0).unwrap();
        check_no_vcpu_waits_for_ever(&mut scheduler, 4, &vms);
    }
}

/// Found by `random_hosts_stay_sound`: with one VM left to contend no VM is limited, so that time-slice ends alone kept the proper-ready queue full.
#[test]
fn who_is_out_of_service_when_contention_ends_does_not_wait_for_ever() {
    let vms = [shared(1, 37, SpinMethod::None), shared(4, 32, SpinMethod::None)];
    let mut scheduler = host(3, &vms);
    for (step, consumed) in [
        (Step::SliceEnd(2), 1050),
        (Step::Wake(1), 1153),
        (Step::SliceEnd(1), 1440),
        (Step::Wake(3), 271),
        (Step::Spin(3), 1252),
        (Step::Spin(3), 281),
        (Step::SliceEnd(3), 1056),
        (Step::Wake(2), 696),
        (Step::Block(0), 0),
        (Step::Wake(0), 0),
        (Step::Wake(1), 422),
        (Step::Wake(1), 259),
        (Step::Block(2), 1395),
        (Step::Wake(2), 0),
    ] {
        let (Step::Wake(vcpu) | Step::Block(vcpu) | Step::Spin(vcpu) | Step::SliceEnd(vcpu)) = step;
        if let State::Running(_) = scheduler.state(VcpuId(vcpu)) {
            scheduler.charge(VcpuId(vcpu), Cycles(consumed));
        }
        apply(&mut scheduler, step);
    }
    assert_eq!(scheduler.subqueue(VcpuId(3)), Some(Subqueue::OutOfService));
    scheduler.block(VcpuId(0), T0);
    check_no_vcpu_waits_for_ever(&mut scheduler, 3, &vms);
}
