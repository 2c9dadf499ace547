//! The scheduler: the states of logical processors, and what changes them.
//!
//! ```text
//!            despatched                     block
//!   Ready ───────────────► Running ──────────────────► Waiting
//!    ▲ ▲  ◄───────────────    │                           │
//!    │ │   slice_end, spin    │ spin                      │
//!    │ └──────────────────────┼───────────────────────────┘ wake
//!    │        released        ▼
//!    └───────────────── SpinWaiting
//! ```
//! A logical processor with a dedicated real one is only ever running or waiting, and keeps its real processor in both.
//!
//! Each public function leaves the scheduler work conserving: a shared real processor is idle only if nobody that could use it is ready.
//! The lock of the paper's despatcher is the exclusive reference.

use super::{
    LogicalId, LogicalSet, RealId, VmId,
    account::{Account, Contenders},
    blocks::{Change, LogicalBlock, Parameters, Real, State, VmBlock, VmParameters, Why, Work},
    ready_queue::{ReadyQueue, Subqueue},
    spin::{Answer, Partners, SpinCall, SpinControl},
    statistics::VmStatistics,
};
use core::mem;
use std::collections::BTreeSet;
use types::Cycles;

/// See the module.
#[derive(Debug)]
pub struct Scheduler {
    pub(super) parameters: Parameters,
    pub(super) vms: Vec<VmBlock>,
    pub(super) logicals: Vec<LogicalBlock>,
    pub(super) reals: Vec<Real>,
    /// Shared real processors that nobody has.
    pub(super) idle: BTreeSet<RealId>,
    pub(super) queue: ReadyQueue,
    /// Of the VMs of weight 0.
    background: ReadyQueue,
    /// Real processors with one of these.
    background_reals: BTreeSet<RealId>,
    /// Rounds of service that have begun.
    pub(super) round: u64,
    /// What of the queue's rounds is among them.
    queue_rounds: u64,
    pub(super) contenders: Contenders,
    changes: Vec<Change>,
    work: Work,
}

impl Scheduler {
    /// So many real processors, all shared, and no VM.
    #[must_use]
    pub fn new(reals: usize, parameters: Parameters) -> Self {
        Self {
            parameters,
            vms: Vec::new(),
            logicals: Vec::new(),
            reals: vec![Real::default(); reals],
            idle: (0..reals).map(RealId).collect(),
            queue: ReadyQueue::default(),
            background: ReadyQueue::default(),
            background_reals: BTreeSet::new(),
            round: 0,
            queue_rounds: 0,
            contenders: Contenders::default(),
            changes: Vec::new(),
            work: Work::default(),
        }
    }

    /// One more real processor, shared.
    pub fn add_real(&mut self) {
        self.idle.insert(RealId(self.reals.len()));
        self.reals.push(Real::default());
    }

    /// Adds the control blocks of a shared VM whose logical processors all wait.
    pub(super) fn add_blocks(&mut self, parameters: &VmParameters) -> VmId {
        let (vm, first) = (self.vms.len(), self.logicals.len());
        self.logicals.extend((0..parameters.logicals).map(|number| LogicalBlock {
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
            count: parameters.logicals,
            weight: parameters.weight,
            shared: true,
            alive: true,
            control: parameters.spin.control(parameters.logicals),
            account: Account::unlimited(),
            active: 0,
            running: LogicalSet::EMPTY,
            statistics: VmStatistics::default(),
            examined: 0,
        });
        VmId(vm)
    }

    /// `logical` has something to do. Nothing happens to one that does not wait.
    pub fn wake(&mut self, logical: LogicalId, now: Cycles) {
        let block = &mut self.logicals[logical.0];
        if block.state != State::Waiting || !self.vms[block.vm].alive {
            return;
        }
        if let Some(real) = block.dedicated {
            self.set_state(logical, State::Running(real));
            return;
        }
        block.slice_left = self.parameters.slice;
        self.enqueue(logical, Subqueue::ProperReady, now);
        self.fill(now);
    }

    /// `logical`, which runs, has nothing to do any more.
    pub fn block(&mut self, logical: LogicalId, now: Cycles) {
        let State::Running(_) = self.state(logical) else { return };
        if self.logicals[logical.0].dedicated.is_none() {
            self.leave(logical, Why::Waits);
        }
        self.set_state(logical, State::Waiting);
        self.fill(now);
    }

    /// `logical`, which runs, spins; whether it goes on without having left its real processor.
    pub fn spin(&mut self, logical: LogicalId, call: SpinCall, now: Cycles) -> bool {
        let State::Running(real) = self.logicals[logical.0].state else { return false };
        let partners = self.partners(logical);
        let LogicalBlock { vm, number, dedicated, .. } = self.logicals[logical.0];
        let vm = &mut self.vms[vm];
        vm.statistics.spin_calls[call.reason as usize] += 1;
        // Who has a real processor of its own takes it from nobody: "spins give a better performance".
        let answer = if dedicated.is_some() { Answer::Continue } else { vm.control.spin(number, call, &partners) };
        if answer == Answer::Continue {
            vm.statistics.continued += 1;
            self.note_examined(logical);
            return true;
        }
        let first = vm.first;
        self.note_examined(logical);
        self.leave(logical, Why::Spins);
        match answer {
            Answer::Continue => {}
            Answer::Wait => {
                let ticket = self.queue_of(logical).hold();
                self.stand(logical, State::SpinWaiting(ticket), now);
            }
            Answer::Requeue(subqueue) => {
                if subqueue != Subqueue::ProperReady {
                    self.logicals[logical.0].slice_left = self.parameters.slice;
                }
                self.enqueue(logical, subqueue, now);
            }
            Answer::YieldTo(partner) => {
                self.enqueue(logical, Subqueue::ProperReady, now);
                let partner = LogicalId(first + partner);
                if let State::Ready(ticket) = self.logicals[partner.0].state {
                    self.queue_of(partner).remove(ticket);
                    self.run(partner, real, now);
                }
            }
        }
        self.logicals[logical.0].spun = true;
        self.fill(now);
        false
    }

    /// The slice of `logical`, which runs, is over, or its VM's service quantity consumed.
    pub fn slice_end(&mut self, logical: LogicalId, now: Cycles) {
        let block = &self.logicals[logical.0];
        if block.dedicated.is_some() || !matches!(block.state, State::Running(_)) {
            return;
        }
        let vm = &self.vms[block.vm];
        // A gang leaves together, as it came. Who joined it later and has had no time yet stays: it might join and leave like that for ever.
        let leaving: Vec<LogicalId> = if vm.control.co_schedules() {
            let members = vm.running.iter().map(|number| LogicalId(vm.first + number));
            members.filter(|&member| member == logical || !self.logicals[member.0].fresh).collect()
        } else {
            vec![logical]
        };
        for logical in leaving {
            let vm = self.logicals[logical.0].vm;
            let served = self.is_served(vm);
            let statistics = &mut self.vms[vm].statistics;
            let (subqueue, why) = if served {
                statistics.service_ends += 1;
                (Subqueue::OutOfService, Why::OutOfService)
            } else {
                statistics.slice_ends += 1;
                (Subqueue::TimeSliceEnd, Why::SliceEnd)
            };
            self.leave(logical, why);
            self.logicals[logical.0].slice_left = self.parameters.slice;
            self.enqueue(logical, subqueue, now);
        }
        self.fill(now);
    }

    /// Who has `real`: who runs there, or the one that it is dedicated to.
    #[must_use]
    pub fn occupant(&self, real: RealId) -> Option<LogicalId> {
        self.reals[real.0].occupant
    }

    /// Where `logical` stands.
    #[must_use]
    pub fn state(&self, logical: LogicalId) -> State {
        self.logicals[logical.0].state
    }

    /// The real processor that `logical` has: where it runs, or that is dedicated to it.
    #[must_use]
    pub fn seat(&self, logical: LogicalId) -> Option<RealId> {
        let block = &self.logicals[logical.0];
        match block.state {
            State::Running(real) => Some(real),
            State::Waiting | State::Ready(_) | State::SpinWaiting(_) => block.dedicated,
        }
    }

    /// What has been counted of a VM.
    #[must_use]
    pub fn statistics(&self, vm: VmId) -> &VmStatistics {
        &self.vms[vm.0].statistics
    }

    /// The same, for what the guest reports itself.
    pub fn statistics_mut(&mut self, vm: VmId) -> &mut VmStatistics {
        &mut self.vms[vm.0].statistics
    }

    /// A VM's spin control.
    #[must_use]
    pub fn control(&self, vm: VmId) -> &dyn SpinControl {
        &*self.vms[vm.0].control
    }

    /// What happened to real processors since this was last asked, in order.
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

    /// Despatches on idle real processors whoever is ready, as long as there are both.
    pub(super) fn fill(&mut self, now: Cycles) {
        while !(self.queue.is_empty() && self.background.is_empty()) {
            if self.idle.is_empty() {
                // Those without a weight make room for those with one.
                let Some(&real) = self.background_reals.last().filter(|_| !self.queue.is_empty()) else { break };
                let logical = self.reals[real.0].occupant.expect("somebody without a weight runs there");
                self.displace(logical, now);
            }
            let Some(logical) = self.next() else { break };
            let real = self.logicals[logical.0].ran_on.filter(|real| self.idle.contains(real));
            let real = real.or_else(|| self.idle.first().copied()).expect("one is idle");
            self.run(logical, real, now);
        }
    }

    /// Takes the next to be despatched out of the queue.
    fn next(&mut self) -> Option<LogicalId> {
        self.work.decisions += 1;
        // The fewest rounds that any of those found in debt owes.
        let mut owed: Option<u64> = None;
        let mut moved = false;
        loop {
            let Some((place, logical)) = self.queue.pop() else {
                return self.background.pop().map(|(_, logical)| logical);
            };
            let vm = self.logicals[logical.0].vm;
            if self.queue.services() != self.queue_rounds {
                self.queue_rounds = self.queue.services();
                // Everybody was out of service: a round begins. If nobody is in credit after one, rounds pass until somebody is.
                self.round += if mem::replace(&mut moved, true) { owed.take().unwrap_or(1) } else { 1 };
                owed = None;
            }
            if !self.is_limited(vm) {
                return Some(logical);
            }
            self.settle(vm);
            if !self.is_served(vm) {
                return Some(logical);
            }
            let rounds = self.vms[vm].account.rounds_owed(self.quantity(vm));
            owed = Some(owed.map_or(rounds, |owed| owed.min(rounds)));
            self.work.deferred += 1;
            let ticket = self.queue.defer(place, logical);
            self.set_state(logical, State::Ready(ticket));
        }
    }

    /// Despatches `logical`, which stands in no queue, on `real`, which nobody has.
    pub(super) fn run(&mut self, logical: LogicalId, real: RealId, now: Cycles) {
        self.idle.remove(&real);
        self.reals[real.0].occupant = Some(logical);
        self.changes.push(Change::Despatched { real, logical });
        self.set_state(logical, State::Running(real));
        let block = &mut self.logicals[logical.0];
        block.fresh = true;
        let vm = &mut self.vms[block.vm];
        let wait = Cycles(now.0.saturating_sub(block.since.0));
        vm.statistics.despatches += 1;
        vm.statistics.migrations += u64::from(block.ran_on.replace(real).is_some_and(|before| before != real));
        if mem::take(&mut block.spun) {
            vm.statistics.spin_waits.count(wait);
        } else {
            vm.statistics.waits.count(wait);
        }
        if vm.shared && vm.weight == 0 {
            self.background_reals.insert(real);
        }
        let (vm, number) = (block.vm, block.number);
        self.vms[vm].running.insert(number);
        let released = self.vms[vm].control.despatched(number);
        self.note_examined(logical);
        self.release(vm, released);
        if self.vms[vm].control.co_schedules() {
            self.gather(logical, now);
        }
    }

    /// Takes `logical`, which runs on a shared real processor, off it.
    pub(super) fn leave(&mut self, logical: LogicalId, why: Why) {
        let block = &self.logicals[logical.0];
        let State::Running(real) = block.state else { panic!("only who runs leaves") };
        let vm = &mut self.vms[block.vm];
        vm.running.remove(block.number);
        vm.statistics.preemptions += u64::from(why == Why::Preempted);
        self.reals[real.0].occupant = None;
        self.idle.insert(real);
        self.background_reals.remove(&real);
        self.changes.push(Change::Left { real, logical, why });
    }

    /// Takes `logical` off its real processor for somebody else; it keeps its slice, and is the first to go on.
    pub(super) fn displace(&mut self, logical: LogicalId, now: Cycles) {
        self.leave(logical, Why::Preempted);
        let ticket = self.queue_of(logical).enqueue_first(logical);
        self.stand(logical, State::Ready(ticket), now);
    }

    /// Puts `logical`, which stands nowhere, into a subqueue.
    pub(super) fn enqueue(&mut self, logical: LogicalId, subqueue: Subqueue, now: Cycles) {
        let ticket = self.queue_of(logical).enqueue(subqueue, logical);
        self.stand(logical, State::Ready(ticket), now);
    }

    /// `logical` stands in the queue from now on.
    fn stand(&mut self, logical: LogicalId, state: State, now: Cycles) {
        self.set_state(logical, state);
        self.logicals[logical.0].since = now;
    }

    /// Changes a state, and with it whether the VM contends for its part of the service.
    pub(super) fn set_state(&mut self, logical: LogicalId, state: State) {
        let block = &mut self.logicals[logical.0];
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

    /// Those of a VM whose wait state due to spinning is over can be despatched.
    pub(super) fn release(&mut self, vm: usize, released: LogicalSet) {
        for number in released.iter() {
            let logical = LogicalId(self.vms[vm].first + number);
            if let State::SpinWaiting(ticket) = self.logicals[logical.0].state {
                self.queue_of(logical).release(ticket, logical);
                self.set_state(logical, State::Ready(ticket));
            }
        }
    }

    /// Takes `logical` out of the queue, if it stands there.
    pub(super) fn withdraw(&mut self, logical: LogicalId) {
        if let State::Ready(ticket) = self.logicals[logical.0].state {
            self.queue_of(logical).remove(ticket);
        }
    }

    /// The queue that `logical` stands in when it is ready.
    fn queue_of(&mut self, logical: LogicalId) -> &mut ReadyQueue {
        if self.vms[self.logicals[logical.0].vm].weight == 0 { &mut self.background } else { &mut self.queue }
    }

    /// The states of the partners of `logical`.
    fn partners(&self, logical: LogicalId) -> Partners {
        let mut partners = Partners::default();
        for partner in self.vms[self.logicals[logical.0].vm].members().filter(|&partner| partner != logical.0) {
            let set = match (self.logicals[partner].state, self.subqueue(LogicalId(partner))) {
                (State::Running(_), _) => &mut partners.running,
                (State::Ready(_), Some(Subqueue::ProperReady)) => &mut partners.proper_ready,
                (State::Ready(_), Some(Subqueue::TimeSliceEnd)) => &mut partners.time_slice_end,
                (State::Ready(_), Some(Subqueue::OutOfService)) => &mut partners.out_of_service,
                (State::Waiting | State::SpinWaiting(_) | State::Ready(_), _) => continue,
            };
            set.insert(self.logicals[partner].number);
        }
        partners
    }

    /// The subqueue in which `logical` stands.
    #[must_use]
    pub fn subqueue(&self, logical: LogicalId) -> Option<Subqueue> {
        let weight = self.vms[self.logicals[logical.0].vm].weight;
        let queue = if weight == 0 { &self.background } else { &self.queue };
        match self.logicals[logical.0].state {
            State::Ready(ticket) | State::SpinWaiting(ticket) => Some(queue.subqueue_of(ticket)),
            State::Waiting | State::Running(_) => None,
        }
    }

    /// Takes over what the spin control of a logical processor's VM has looked at.
    fn note_examined(&mut self, logical: LogicalId) {
        let vm = &mut self.vms[self.logicals[logical.0].vm];
        let examined = vm.control.examined();
        self.work.examined += examined - mem::replace(&mut vm.examined, examined);
    }
}
