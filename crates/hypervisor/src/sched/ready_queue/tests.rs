use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

fn drain(queue: &mut ReadyQueue) -> Vec<usize> {
    core::iter::from_fn(|| queue.pop().map(|(_, vcpu)| vcpu.0)).collect()
}

#[test]
fn the_subqueues_follow_each_other() {
    let mut queue = ReadyQueue::default();
    queue.enqueue(Subqueue::OutOfService, VcpuId(0));
    queue.enqueue(Subqueue::TimeSliceEnd, VcpuId(1));
    queue.enqueue(Subqueue::ProperReady, VcpuId(2));
    queue.enqueue(Subqueue::TimeSliceEnd, VcpuId(3));
    queue.enqueue_first(VcpuId(4));
    assert_eq!(drain(&mut queue), [4, 2, 1, 3, 0]);
    assert_eq!(queue.services(), 1);
}

#[test]
fn who_waits_is_passed_over_and_comes_back_to_its_position() {
    let mut queue = ReadyQueue::default();
    let held = queue.hold();
    queue.enqueue(Subqueue::ProperReady, VcpuId(1));
    queue.release(held, VcpuId(0));
    assert_eq!(drain(&mut queue), [0, 1]);

    // Also where the queue has been filled up meanwhile.
    let held = queue.hold();
    queue.enqueue(Subqueue::TimeSliceEnd, VcpuId(1));
    queue.enqueue(Subqueue::TimeSliceEnd, VcpuId(2));
    assert_eq!(queue.pop().unwrap().1, VcpuId(1));
    queue.release(held, VcpuId(0));
    assert_eq!(drain(&mut queue), [0, 2]);
}

#[test]
fn who_was_deferred_is_before_those_who_were_behind() {
    let mut queue = ReadyQueue::default();
    for vcpu in 0..3 {
        queue.enqueue(Subqueue::ProperReady, VcpuId(vcpu));
    }
    queue.pop();
    queue.enqueue(Subqueue::OutOfService, VcpuId(0));
    let (place, deferred) = queue.pop().unwrap();
    let ticket = queue.defer(place, deferred);
    assert_eq!(queue.subqueue_of(ticket), Subqueue::OutOfService);
    assert_eq!(drain(&mut queue), [2, 1, 0]);
}

/// The queue as the paper has it: three lists, and a flag for who waits.
#[derive(Default)]
struct Lists {
    proper: VecDeque<(usize, bool)>,
    time_slice_end: VecDeque<(usize, bool)>,
    out_of_service: VecDeque<(usize, bool)>,
}

impl Lists {
    fn pop(&mut self) -> Option<usize> {
        for _ in 0..3 {
            if let Some(at) = self.proper.iter().position(|&(_, waits)| !waits) {
                return self.proper.remove(at).map(|(vcpu, _)| vcpu);
            }
            let next = if self.time_slice_end.is_empty() { &mut self.out_of_service } else { &mut self.time_slice_end };
            self.proper.append(next);
        }
        None
    }

    fn remove(&mut self, vcpu: usize) {
        for list in [&mut self.proper, &mut self.time_slice_end, &mut self.out_of_service] {
            list.retain(|&(other, _)| other != vcpu);
        }
    }

    fn subqueue_of(&self, vcpu: usize) -> Subqueue {
        let holds = |list: &VecDeque<(usize, bool)>| list.iter().any(|&(other, _)| other == vcpu);
        match (holds(&self.time_slice_end), holds(&self.out_of_service)) {
            (true, _) => Subqueue::TimeSliceEnd,
            (_, true) => Subqueue::OutOfService,
            _ => Subqueue::ProperReady,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Enqueue(u8),
    First,
    Hold,
    Release(usize),
    Remove(usize),
    Pop,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0_u8..3).prop_map(Step::Enqueue),
        1 => Just(Step::First),
        2 => Just(Step::Hold),
        2 => (0_usize..8).prop_map(Step::Release),
        1 => (0_usize..16).prop_map(Step::Remove),
        4 => Just(Step::Pop),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #[test]
    fn the_maps_are_the_papers_three_lists(steps in steps()) {
        let (mut queue, mut lists) = (ReadyQueue::default(), Lists::default());
        let mut held: Vec<(usize, Ticket)> = Vec::new();
        let mut standing: Vec<(usize, Ticket)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            let vcpu = VcpuId(number);
            match step {
                Step::Enqueue(which) => {
                    let (subqueue, list) = match which {
                        0 => (Subqueue::ProperReady, &mut lists.proper),
                        1 => (Subqueue::TimeSliceEnd, &mut lists.time_slice_end),
                        _ => (Subqueue::OutOfService, &mut lists.out_of_service),
                    };
                    list.push_back((number, false));
                    standing.push((number, queue.enqueue(subqueue, vcpu)));
                }
                Step::First => {
                    lists.proper.push_front((number, false));
                    standing.push((number, queue.enqueue_first(vcpu)));
                }
                Step::Hold => {
                    lists.proper.push_back((number, true));
                    held.push((number, queue.hold()));
                }
                Step::Release(which) if which < held.len() => {
                    let (number, ticket) = held.remove(which);
                    lists.proper.iter_mut().find(|(vcpu, _)| *vcpu == number).unwrap().1 = false;
                    queue.release(ticket, VcpuId(number));
                    standing.push((number, ticket));
                }
                Step::Remove(which) if which < standing.len() => {
                    let (number, ticket) = standing.remove(which);
                    prop_assert_eq!(queue.subqueue_of(ticket), lists.subqueue_of(number));
                    queue.remove(ticket);
                    lists.remove(number);
                }
                Step::Pop => {
                    let popped = queue.pop().map(|(_, vcpu)| vcpu.0);
                    prop_assert_eq!(popped, lists.pop());
                    standing.retain(|&(number, _)| Some(number) != popped);
                }
                Step::Release(_) | Step::Remove(_) => {}
            }
            prop_assert_eq!(queue.len(), standing.len());
        }
    }
}
