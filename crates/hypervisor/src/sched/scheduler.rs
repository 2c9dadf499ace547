//! The scheduler: the states of vCPUs, and what changes them.
//!
//! ```text
//!            dispatched                     block
//!   Ready ───────────────► Running ──────────────────► Waiting
//!    ▲ ▲  ◄───────────────    │                           │
//!    │ │   slice_end, spin    │ spin                      │
//!    │ └──────────────────────┼───────────────────────────┘ wake
//!    │        released        ▼
//!    └───────────────── SpinWaiting
//! ```
//! A vCPU with a dedicated pCPU is only ever running or waiting, and keeps its pCPU in both.
//!
//! Each public function leaves the scheduler work conserving: a shared pCPU is idle only if no vCPU that could use it is ready.
//! The lock of the paper's dispatcher is the exclusive reference.

use super::{
    PcpuId, VcpuId, VcpuSet, VmId,
    account::{Account, Contenders},
    blocks::{Change, Parameters, Real, State, VcpuBlock, VmBlock, VmParameters, Why, Work},
    ready_queue::{ReadyQueue, Subqueue},
    spin::{Answer, Partners, SpinCall, SpinControl},
    statistics::VmStatistics,
};
use core::mem;
use std::collections::BTreeSet;
use types::Cycles;

/// The states of all vCPUs, and the ready queues and pCPUs that they are in.
#[derive(Debug)]
pub struct Scheduler {
    pub(super) parameters: Parameters,
    pub(super) vms: Vec<VmBlock>,
    pub(super) vcpus: Vec<VcpuBlock>,
    pub(super) pcpus: Vec<Real>,
    /// Shared pCPUs that are idle.
    pub(super) idle: BTreeSet<PcpuId>,
    pub(super) queue: ReadyQueue,
    /// Of the VMs of weight 0.
    background: ReadyQueue,
    /// pCPUs with one of these.
    background_pcpus: BTreeSet<PcpuId>,
    /// Rounds of service that have begun.
    pub(super) round: u64,
    /// What of the queue's rounds is among them.
    queue_rounds: u64,
    pub(super) contenders: Contenders,
    changes: Vec<Change>,
    work: Work,
}

impl Scheduler {
    /// This many pCPUs, all shared, and no VM.
    #[must_use]
    pub fn new(pcpus: usize, parameters: Parameters) -> Self {
        Self {
            parameters,
            vms: Vec::new(),
            vcpus: Vec::new(),
            pcpus: vec![Real::default(); pcpus],
            idle: (0..pcpus).map(PcpuId).collect(),
            queue: ReadyQueue::default(),
            background: ReadyQueue::default(),
            background_pcpus: BTreeSet::new(),
            round: 0,
            queue_rounds: 0,
            contenders: Contenders::default(),
            changes: Vec::new(),
            work: Work::default(),
        }
    }

    /// One more pCPU, shared.
    pub fn add_pcpu(&mut self) {
        self.idle.insert(PcpuId(self.pcpus.len()));
        self.pcpus.push(Real::default());
    }

    /// Adds the control blocks of a shared VM whose vCPUs all wait.
    pub(super) fn add_blocks(&mut self, parameters: &VmParameters) -> VmId {
        let (vm, first) = (self.vms.len(), self.vcpus.len());
        self.vcpus.extend((0..parameters.vcpus).map(|number| VcpuBlock {
            vm,
            number,
            state: State::Waiting,
            dedicated: None,
            slice_left: self.parameters.slice,
            since: Cycles(0),
            spun: false,
            fresh: false,
            ran_on: None,
        }));
        self.vms.push(VmBlock {
            first,
            count: parameters.vcpus,
            weight: parameters.weight,
            shared: true,
            alive: true,
            control: parameters.spin.control(parameters.vcpus),
            account: Account::unlimited(),
            active: 0,
            running: VcpuSet::EMPTY,
            statistics: VmStatistics::default(),
            examined: 0,
        });
        VmId(vm)
    }

    /// `vcpu` has something to do. Nothing happens to one that does not wait.
    pub fn wake(&mut self, vcpu: VcpuId, now: Cycles) {
        let block = &mut self.vcpus[vcpu.0];
        if block.state != State::Waiting || !self.vms[block.vm].alive {
            return;
        }
        if let Some(pcpu) = block.dedicated {
            self.set_state(vcpu, State::Running(pcpu));
            return;
        }
        block.slice_left = self.parameters.slice;
        self.enqueue(vcpu, Subqueue::ProperReady, now);
        self.fill(now);
    }

    /// `vcpu`, which runs, has nothing to do any more.
    pub fn block(&mut self, vcpu: VcpuId, now: Cycles) {
        let State::Running(_) = self.state(vcpu) else { return };
        if self.vcpus[vcpu.0].dedicated.is_none() {
            self.leave(vcpu, Why::Waits);
        }
        self.set_state(vcpu, State::Waiting);
        self.fill(now);
    }

    /// `vcpu`, which runs, spins; whether it goes on without having left its pCPU.
    pub fn spin(&mut self, vcpu: VcpuId, call: SpinCall, now: Cycles) -> bool {
        let State::Running(pcpu) = self.vcpus[vcpu.0].state else { return false };
        let partners = self.partners(vcpu);
        let VcpuBlock { vm, number, dedicated, .. } = self.vcpus[vcpu.0];
        let vm = &mut self.vms[vm];
        vm.statistics.spin_calls[call.reason as usize] += 1;
        // A vCPU with a dedicated pCPU takes it from no other: "spins give a better performance".
        let answer = if dedicated.is_some() { Answer::Continue } else { vm.control.spin(number, call, &partners) };
        if answer == Answer::Continue {
            vm.statistics.continued += 1;
            self.note_examined(vcpu);
            return true;
        }
        let first = vm.first;
        self.note_examined(vcpu);
        self.leave(vcpu, Why::Spins);
        match answer {
            Answer::Continue => {}
            Answer::Wait => {
                let ticket = self.queue_of(vcpu).hold();
                self.stand(vcpu, State::SpinWaiting(ticket), now);
            }
            Answer::Requeue(subqueue) => {
                if subqueue != Subqueue::ProperReady {
                    self.vcpus[vcpu.0].slice_left = self.parameters.slice;
                }
                self.enqueue(vcpu, subqueue, now);
            }
            Answer::YieldTo(partner) => {
                self.enqueue(vcpu, Subqueue::ProperReady, now);
                let partner = VcpuId(first + partner);
                if let State::Ready(ticket) = self.vcpus[partner.0].state {
                    self.queue_of(partner).remove(ticket);
                    self.run(partner, pcpu, now);
                }
            }
        }
        self.vcpus[vcpu.0].spun = true;
        self.fill(now);
        false
    }

    /// The slice of `vcpu`, which runs, is over, or its VM's service quantity consumed.
    pub fn slice_end(&mut self, vcpu: VcpuId, now: Cycles) {
        let block = &self.vcpus[vcpu.0];
        if block.dedicated.is_some() || !matches!(block.state, State::Running(_)) {
            return;
        }
        let vm = &self.vms[block.vm];
        // A gang leaves together, as it came. Who joined it later and has had no time yet stays: it might join and leave like that for ever.
        let leaving: Vec<VcpuId> = if vm.control.co_schedules() {
            let members = vm.running.iter().map(|number| VcpuId(vm.first + number));
            members.filter(|&member| member == vcpu || !self.vcpus[member.0].fresh).collect()
        } else {
            vec![vcpu]
        };
        for vcpu in leaving {
            let vm = self.vcpus[vcpu.0].vm;
            let served = self.is_served(vm);
            let statistics = &mut self.vms[vm].statistics;
            let (subqueue, why) = if served {
                statistics.service_ends += 1;
                (Subqueue::OutOfService, Why::OutOfService)
            } else {
                statistics.slice_ends += 1;
                (Subqueue::TimeSliceEnd, Why::SliceEnd)
            };
            self.leave(vcpu, why);
            self.vcpus[vcpu.0].slice_left = self.parameters.slice;
            self.enqueue(vcpu, subqueue, now);
        }
        self.fill(now);
    }

    /// Who has `pcpu`: who runs there, or the one that it is dedicated to.
    #[must_use]
    pub fn occupant(&self, pcpu: PcpuId) -> Option<VcpuId> {
        self.pcpus[pcpu.0].occupant
    }

    /// The state of `vcpu`.
    #[must_use]
    pub fn state(&self, vcpu: VcpuId) -> State {
        self.vcpus[vcpu.0].state
    }

    /// The pCPU that `vcpu` has: where it runs, or that is dedicated to it.
    #[must_use]
    pub fn seat(&self, vcpu: VcpuId) -> Option<PcpuId> {
        let block = &self.vcpus[vcpu.0];
        match block.state {
            State::Running(pcpu) => Some(pcpu),
            State::Waiting | State::Ready(_) | State::SpinWaiting(_) => block.dedicated,
        }
    }

    /// What has been counted of a VM.
    #[must_use]
    pub fn statistics(&self, vm: VmId) -> &VmStatistics {
        &self.vms[vm.0].statistics
    }

    /// The counts of a VM, to add what the guest reports itself.
    pub fn statistics_mut(&mut self, vm: VmId) -> &mut VmStatistics {
        &mut self.vms[vm.0].statistics
    }

    /// A VM's spin control.
    #[must_use]
    pub fn control(&self, vm: VmId) -> &dyn SpinControl {
        &*self.vms[vm.0].control
    }

    /// What happened to pCPUs since this was last asked, in order.
    pub fn take_changes(&mut self) -> Vec<Change> {
        mem::take(&mut self.changes)
    }

    /// What was done since this was last asked.
    pub fn take_work(&mut self) -> Work {
        mem::take(&mut self.work)
    }

    /// The queue of those that a weight entitles, and that of those without.
    #[must_use]
    pub const fn queues(&self) -> [&ReadyQueue; 2] {
        [&self.queue, &self.background]
    }

    /// Dispatches ready vCPUs on idle pCPUs, until either run out.
    pub(super) fn fill(&mut self, now: Cycles) {
        while !(self.queue.is_empty() && self.background.is_empty()) {
            if self.idle.is_empty() {
                // Those without a weight make room for those with one.
                let Some(&pcpu) = self.background_pcpus.last().filter(|_| !self.queue.is_empty()) else { break };
                let vcpu = self.pcpus[pcpu.0].occupant.expect("a vCPU of weight 0 runs there");
                self.displace(vcpu, now);
            }
            let Some(vcpu) = self.next() else { break };
            let pcpu = self.vcpus[vcpu.0].ran_on.filter(|pcpu| self.idle.contains(pcpu));
            let pcpu = pcpu.or_else(|| self.idle.first().copied()).expect("one is idle");
            self.run(vcpu, pcpu, now);
        }
    }

    /// Takes the next to be dispatched out of the queue.
    fn next(&mut self) -> Option<VcpuId> {
        self.work.decisions += 1;
        // The fewest rounds that any of those found in debt owes.
        let mut owed: Option<u64> = None;
        let mut moved = false;
        loop {
            let Some((place, vcpu)) = self.queue.pop() else {
                return self.background.pop().map(|(_, vcpu)| vcpu);
            };
            let vm = self.vcpus[vcpu.0].vm;
            if self.queue.services() != self.queue_rounds {
                self.queue_rounds = self.queue.services();
                // Every VM was out of service: a round begins. If no VM is in credit after one, rounds pass until one is.
                self.round += if mem::replace(&mut moved, true) { owed.take().unwrap_or(1) } else { 1 };
                owed = None;
            }
            if !self.is_limited(vm) {
                return Some(vcpu);
            }
            self.settle(vm);
            if !self.is_served(vm) {
                return Some(vcpu);
            }
            let rounds = self.vms[vm].account.rounds_owed(self.quantity(vm));
            owed = Some(owed.map_or(rounds, |owed| owed.min(rounds)));
            self.work.deferred += 1;
            let ticket = self.queue.defer(place, vcpu);
            self.set_state(vcpu, State::Ready(ticket));
        }
    }

    /// Dispatches `vcpu`, which is in no queue, on `pcpu`, which is idle.
    pub(super) fn run(&mut self, vcpu: VcpuId, pcpu: PcpuId, now: Cycles) {
        self.idle.remove(&pcpu);
        self.pcpus[pcpu.0].occupant = Some(vcpu);
        self.changes.push(Change::Dispatched { pcpu, vcpu });
        self.set_state(vcpu, State::Running(pcpu));
        let block = &mut self.vcpus[vcpu.0];
        block.fresh = true;
        let vm = &mut self.vms[block.vm];
        let wait = Cycles(now.0.saturating_sub(block.since.0));
        vm.statistics.dispatches += 1;
        vm.statistics.migrations += u64::from(block.ran_on.replace(pcpu).is_some_and(|before| before != pcpu));
        if mem::take(&mut block.spun) {
            vm.statistics.spin_waits.count(wait);
        } else {
            vm.statistics.waits.count(wait);
        }
        if vm.shared && vm.weight == 0 {
            self.background_pcpus.insert(pcpu);
        }
        let (vm, number) = (block.vm, block.number);
        self.vms[vm].running.insert(number);
        let released = self.vms[vm].control.dispatched(number);
        self.note_examined(vcpu);
        self.release(vm, released);
        if self.vms[vm].control.co_schedules() {
            self.gather(vcpu, now);
        }
    }

    /// Takes `vcpu`, which runs on a shared pCPU, off it.
    pub(super) fn leave(&mut self, vcpu: VcpuId, why: Why) {
        let block = &self.vcpus[vcpu.0];
        let State::Running(pcpu) = block.state else { panic!("only who runs leaves") };
        let vm = &mut self.vms[block.vm];
        vm.running.remove(block.number);
        vm.statistics.preemptions += u64::from(why == Why::Preempted);
        self.pcpus[pcpu.0].occupant = None;
        self.idle.insert(pcpu);
        self.background_pcpus.remove(&pcpu);
        self.changes.push(Change::Left { pcpu, vcpu, why });
    }

    /// Takes `vcpu` off its pCPU for another vCPU; it keeps its slice, and is the first to go on.
    pub(super) fn displace(&mut self, vcpu: VcpuId, now: Cycles) {
        self.leave(vcpu, Why::Preempted);
        let ticket = self.queue_of(vcpu).enqueue_first(vcpu);
        self.stand(vcpu, State::Ready(ticket), now);
    }

    /// Puts `vcpu`, which is in no queue, into a subqueue.
    pub(super) fn enqueue(&mut self, vcpu: VcpuId, subqueue: Subqueue, now: Cycles) {
        let ticket = self.queue_of(vcpu).enqueue(subqueue, vcpu);
        self.stand(vcpu, State::Ready(ticket), now);
    }

    /// `vcpu` is in the queue from now on.
    fn stand(&mut self, vcpu: VcpuId, state: State, now: Cycles) {
        self.set_state(vcpu, state);
        self.vcpus[vcpu.0].since = now;
    }

    /// Changes a state, and with it whether the VM contends for its part of the service.
    pub(super) fn set_state(&mut self, vcpu: VcpuId, state: State) {
        let block = &mut self.vcpus[vcpu.0];
        let (was, is) = (block.state != State::Waiting, state != State::Waiting);
        block.state = state;
        if was == is {
            return;
        }
        let vm = block.vm;
        let before = self.vms[vm].active;
        self.vms[vm].active = if is { before + 1 } else { before - 1 };
        if before == 0 || self.vms[vm].active == 0 {
            self.contend(vm, is);
        }
    }

    /// Those of a VM whose wait state due to spinning is over can be dispatched.
    pub(super) fn release(&mut self, vm: usize, released: VcpuSet) {
        for number in released.iter() {
            let vcpu = VcpuId(self.vms[vm].first + number);
            if let State::SpinWaiting(ticket) = self.vcpus[vcpu.0].state {
                self.queue_of(vcpu).release(ticket, vcpu);
                self.set_state(vcpu, State::Ready(ticket));
            }
        }
    }

    /// Takes `vcpu` out of the queue, if it is there.
    pub(super) fn withdraw(&mut self, vcpu: VcpuId) {
        if let State::Ready(ticket) = self.vcpus[vcpu.0].state {
            self.queue_of(vcpu).remove(ticket);
        }
    }

    /// The queue that `vcpu` is in when it is ready.
    fn queue_of(&mut self, vcpu: VcpuId) -> &mut ReadyQueue {
        if self.vms[self.vcpus[vcpu.0].vm].weight == 0 { &mut self.background } else { &mut self.queue }
    }

    /// The states of the partners of `vcpu`.
    fn partners(&self, vcpu: VcpuId) -> Partners {
        let mut partners = Partners::default();
        for partner in self.vms[self.vcpus[vcpu.0].vm].members().filter(|&partner| partner != vcpu.0) {
            let set = match (self.vcpus[partner].state, self.subqueue(VcpuId(partner))) {
                (State::Running(_), _) => &mut partners.running,
                (State::Ready(_), Some(Subqueue::ProperReady)) => &mut partners.proper_ready,
                (State::Ready(_), Some(Subqueue::TimeSliceEnd)) => &mut partners.time_slice_end,
                (State::Ready(_), Some(Subqueue::OutOfService)) => &mut partners.out_of_service,
                (State::Waiting | State::SpinWaiting(_) | State::Ready(_), _) => continue,
            };
            set.insert(self.vcpus[partner].number);
        }
        partners
    }

    /// The subqueue in which `vcpu` is.
    #[must_use]
    pub fn subqueue(&self, vcpu: VcpuId) -> Option<Subqueue> {
        let weight = self.vms[self.vcpus[vcpu.0].vm].weight;
        let queue = if weight == 0 { &self.background } else { &self.queue };
        match self.vcpus[vcpu.0].state {
            State::Ready(ticket) | State::SpinWaiting(ticket) => Some(queue.subqueue_of(ticket)),
            State::Waiting | State::Running(_) => None,
        }
    }

    /// Takes over what the spin control of a vCPU's VM has looked at.
    fn note_examined(&mut self, vcpu: VcpuId) {
        let vm = &mut self.vms[self.vcpus[vcpu.0].vm];
        let examined = vm.control.examined();
        self.work.examined += examined - mem::replace(&mut vm.examined, examined);
    }
}
