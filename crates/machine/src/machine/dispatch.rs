//! vCPUs on pCPUs: what the scheduler decides happens here to clocks, TLBs and statistics.
//!
//! A *stay* is the time from a dispatch to the next change of the pCPU: what the MMU and the hypervisor count meanwhile is the
//! vCPU's. One with a dedicated pCPU has one stay, and nothing of this file costs it anything.
//!
//! Two vCPUs of a VM have the same VMID, and their guest the same ASIDs. A fence that a hart executes reaches the TLB of the pcpu
//! processor that it runs on, and nothing else. So the VMID's entries are flushed at a dispatch, unless the vCPU was the last of
//! its VM to run there and has run nowhere else since. It is what KVM does (`last_vcpu_ran`, Linux 6.1, `arch/arm64/kvm/arm.c`, and
//! `kvm_riscv_local_tlb_sanitize`), and the cost of floating for TLBs: what is still warm is only what one vCPU left behind.

use super::{profile, trace};
use crate::pace::Together;
use crate::parts::dispatch::{Counted, Residence};
use crate::parts::vcpu::Activity;
use crate::results::events::{EventInterrupt, EventKind};
use crate::schedule::{Turn, next_turn};
use crate::state::footprint;
use crate::state::pmu;
use crate::state::primary_region;
use crate::{
    machine::Machine,
    parts::vcpu::Vcpu,
    results::statistics::{Statistics, Time},
    results::trace::Stay,
    state::{MachineState, Waits},
};
use hypervisor::{
    ExitReason,
    footprint::{FootprintEvent, FootprintPlace},
    sched::{Change, PcpuId, State, VcpuId, VmId, VmStatistics, Why},
};
use mmu::Fence;
use types::Cycles;

fn counts_of(state: &MachineState, pcpu: usize) -> Counted {
    let processor = &state.processors[pcpu];
    Counted {
        mmu: *processor.mmu.statistics(),
        exits: processor.exits,
        paging: processor.paging,
        hypervisor: processor.hypervisor,
        traps: processor.traps,
        caches: state.cache_statistics(pcpu),
        core: state.core_statistics(pcpu),
        footprint: footprint::statistics(state, pcpu),
    }
}

impl Machine {
    /// The next turn. Clocks of other guests bound it unless guests are independent.
    pub(crate) fn next_turn(&self) -> Option<Turn> {
        let turn = next_turn((0..self.state.processors.len()).map(|pcpu| self.ready(pcpu)))?;
        if self.pace.together == Together::Host {
            return Some(turn);
        }
        let guest = self.guest_of(turn);
        let others = self.harts_of(guest).filter_map(|index| self.vcpus[index].residence.pcpu);
        let next = others.filter(|&pcpu| pcpu != turn.index).filter_map(|pcpu| self.ready(pcpu)).min();
        Some(Turn { next, ..turn })
    }

    /// The time of a device that bounds a turn, where `first` is the first one of all guests.
    pub(crate) fn device_of(&self, turn: Turn, first: Option<Cycles>) -> Option<Cycles> {
        match self.pace.together {
            Together::Host => first,
            Together::Guest => self.disks.first_due_of(self.guest_of(turn)),
        }
    }

    /// Whether nothing wakes a guest any more, which no other guest could do.
    pub(crate) fn waits_for_ever(&self, guest: usize) -> bool {
        let mut pcpus = self.harts_of(guest).filter_map(|index| self.vcpus[index].residence.pcpu);
        self.pace.together == Together::Guest
            && pcpus.all(|pcpu| self.ready(pcpu).is_none())
            && self.disks.first_due_of(guest).is_none()
    }

    fn guest_of(&self, turn: Turn) -> usize {
        let index = self.dispatch.occupant(turn.index).expect("a vCPU is ready there");
        self.vcpus[index].guest
    }

    /// When the vCPU that has a pCPU can run there.
    fn ready(&self, pcpu: usize) -> Option<Cycles> {
        let vcpu = &self.vcpus[self.dispatch.occupant(pcpu)?];
        let clock = self.clock_of_pcpu(pcpu);
        match vcpu.activity() {
            Activity::Stopped => None,
            Activity::Running => Some(clock.max(vcpu.event)),
            Activity::Waiting if vcpu.hart.wakes() => Some(clock.max(vcpu.event)),
            Activity::Waiting => {
                let timer = vcpu.hart.timer_interrupt()?;
                Some(clock.max(self.clock().cycle_of(timer)?))
            }
        }
    }

    /// vCPU `index` has something to do from `now` on.
    pub(crate) fn wake(&mut self, index: usize, now: Cycles) {
        self.dispatch.scheduler.wake(VcpuId(index), now);
        self.steal_begins(index, now);
        self.carry_out(now);
    }

    /// The same, unless it still waits.
    pub(crate) fn wake_if_due(&mut self, index: usize, now: Cycles) {
        let waits = self.dispatch.scheduler.state(VcpuId(index)) == State::Waiting;
        if waits && self.vcpus[index].residence.pcpu.is_none() && !self.vcpus[index].is_idle() {
            self.wake(index, now);
        }
    }

    /// The first timer of those without a pCPU is due.
    pub(crate) fn timer_due(&mut self) {
        let Some((due, index)) = self.dispatch.timers.pop_first() else { return };
        let vcpu = &mut self.vcpus[index];
        let timer = vcpu.hart.timer_interrupt().and_then(|timer| self.state.clock().cycle_of(timer));
        let waits = self.dispatch.scheduler.state(VcpuId(index)) == State::Waiting;
        if waits && vcpu.residence.pcpu.is_none() && timer == Some(due) {
            vcpu.hart.set_pending(hart::Interrupt::Timer, true);
            vcpu.event = due;
            vcpu.residence.owed.push(ExitReason::Timer);
            trace::interrupt(self, index, due, EventInterrupt::Timer);
            self.wake_if_due(index, due);
        }
    }

    /// What follows from the turn of `index` on `pcpu` beside what the guest asked for: whether it waits now, or its slice is over.
    pub(crate) fn after_turn(&mut self, index: usize, pcpu: usize) {
        self.account(pcpu);
        let vcpu = VcpuId(index);
        if self.dispatch.scheduler.state(vcpu) != State::Running(PcpuId(pcpu)) {
            return;
        }
        if self.vcpus[index].is_idle() {
            let now = self.clock_of_pcpu(pcpu);
            self.dispatch.scheduler.block(vcpu, now);
            self.carry_out(now);
            self.keep_timer(index);
        } else if self.dispatch.scheduler.is_over(vcpu) {
            self.state.charge(pcpu, self.vcpus[index].guest, ExitReason::SliceEnd);
            self.account(pcpu);
            let now = self.clock_of_pcpu(pcpu);
            self.dispatch.scheduler.slice_end(vcpu, now);
            self.carry_out(now);
        }
    }

    /// Notes the timer of a vCPU that waits without a pCPU.
    pub(crate) fn keep_timer(&mut self, index: usize) {
        let vcpu = &self.vcpus[index];
        let due = vcpu.hart.timer_interrupt().and_then(|timer| self.clock().cycle_of(timer));
        if vcpu.residence.pcpu.is_none()
            && let Some(due) = due
        {
            self.dispatch.timers.insert((due, index));
        }
    }

    /// An event of `index` that the hypervisor handles: charged where it has a pCPU, or when it gets one.
    pub(crate) fn charge_vcpu(&mut self, index: usize, reason: ExitReason) {
        let guest = self.vcpus[index].guest;
        match self.vcpus[index].residence.pcpu {
            Some(pcpu) => self.state.charge(pcpu, guest, reason),
            None => self.vcpus[index].residence.owed.push(reason),
        }
    }

    /// Charges the vCPU that has `pcpu` for the time since this was last done.
    pub(crate) fn account(&mut self, pcpu: usize) {
        let now = self.clock_of_pcpu(pcpu);
        let processor = &mut self.state.processors[pcpu];
        let busy = Cycles(now.0 - processor.accounted.0);
        processor.accounted = now;
        if let Some(index) = self.dispatch.seats[pcpu] {
            self.dispatch.scheduler.charge(VcpuId(index), busy);
        }
    }

    /// Carries out what the scheduler has decided at `now`. The work for it is done by the pCPU whose turn it is.
    pub(crate) fn carry_out(&mut self, now: Cycles) {
        let changes = self.dispatch.scheduler.take_changes();
        let work = self.dispatch.scheduler.take_work();
        let prices = self.dispatch.prices;
        let here = self.state.current.processor;
        let price = prices.decision * work.decisions + prices.partner * work.examined;
        let mut touched: Vec<(usize, Why)> = Vec::new();
        for change in changes {
            let (PcpuId(pcpu), why) = match change {
                Change::Left { pcpu, why, .. } => (pcpu, why),
                Change::Dispatched { pcpu, .. } => (pcpu, Why::Removed),
            };
            if touched.iter().all(|&(other, _)| other != pcpu) {
                touched.push((pcpu, why));
            }
        }
        touched.retain(|&(pcpu, _)| self.dispatch.seats[pcpu] != self.seat(pcpu));
        for &(pcpu, why) in &touched {
            self.end_stay(pcpu, why);
        }
        if price > Cycles(0) {
            self.state.note_spending(here, price, EventKind::Scheduling);
        }
        self.state.processors[here].spend_on_scheduling(price);
        for &(pcpu, _) in &touched {
            if let Some(index) = self.seat(pcpu) {
                if prices.switch > Cycles(0) {
                    self.state.note_spending(pcpu, prices.switch, EventKind::Scheduling);
                }
                self.state.processors[pcpu].spend_on_scheduling(prices.switch);
                let at = FootprintPlace { pcpu, vm: self.vcpus[index].guest };
                footprint::touch(&mut self.state, at, FootprintEvent::Dispatch);
                self.begin_stay(index, pcpu, now);
            }
        }
    }

    /// The same while the machine is put together, when nothing costs anything.
    pub(crate) fn carry_out_for_free(&mut self) {
        let prices = std::mem::take(&mut self.dispatch.prices);
        let footprint = self.state.footprint.take();
        self.carry_out(Cycles(0));
        self.state.footprint = footprint;
        self.dispatch.prices = prices;
    }

    /// Who has `pcpu` by the scheduler.
    fn seat(&self, pcpu: usize) -> Option<usize> {
        self.dispatch.scheduler.occupant(PcpuId(pcpu)).map(|VcpuId(index)| index)
    }

    fn end_stay(&mut self, pcpu: usize, why: Why) {
        self.account(pcpu);
        let now = self.clock_of_pcpu(pcpu);
        let Some(index) = self.dispatch.seats[pcpu].take() else { return };
        profile::end_stay(self, index, pcpu);
        let counted = counts_of(&self.state, pcpu);
        let vcpu = &mut self.vcpus[index];
        pmu::leave(&mut self.state, pcpu, (vcpu.guest, vcpu.hart_id), vcpu.hart.counts().instructions);
        let processor = &mut self.state.processors[pcpu];
        processor.instructions += vcpu.hart.counts().instructions - processor.entered;
        processor.entered = 0;
        processor.stands = 0;
        let residence = &mut vcpu.residence;
        residence.past.add(&counted.since(&residence.begun));
        residence.pcpu = None;
        residence.pauses.end();
        if let Some(stays) = &mut self.dispatch.stays {
            let Residence { since, .. } = *residence;
            stays.push(Stay { pcpu, guest: vcpu.guest, hart: vcpu.hart_id, from: since, to: now, why });
        }
        self.steal_tells_preempted(index, now);
    }

    fn begin_stay(&mut self, index: usize, pcpu: usize, now: Cycles) {
        // An idle processor's clock stood still.
        let clock = self.clock_of_pcpu(pcpu);
        self.state.processors[pcpu].idle += Cycles(now.0.saturating_sub(clock.0));
        let guest = self.vcpus[index].guest;
        self.warm_or_flush(index, pcpu, guest);
        primary_region::load(&mut self.state, pcpu, guest, self.vcpus[index].hart_id);
        let vcpu = &mut self.vcpus[index];
        let processor = &mut self.state.processors[pcpu];
        processor.entered = vcpu.hart.counts().instructions;
        vcpu.residence.pcpu = Some(pcpu);
        vcpu.residence.ran_on = Some(pcpu);
        vcpu.residence.since = clock.max(now);
        self.dispatch.seats[pcpu] = Some(index);
        profile::begin_stay(self, index, pcpu);
        trace::begin_stay(self, index);
        let begun = counts_of(&self.state, pcpu);
        self.vcpus[index].residence.begun = begun;
        for reason in std::mem::take(&mut self.vcpus[index].residence.owed) {
            self.state.charge(pcpu, guest, reason);
        }
        self.state.processors[pcpu].accounted = self.clock_of_pcpu(pcpu);
        let Vcpu { hart, hart_id, features, .. } = &self.vcpus[index];
        pmu::enter(&mut self.state, pcpu, (guest, *hart_id), hart.counts().instructions);
        super::firmware::switch_hardware_ad(&mut self.state.processors[pcpu].mmu, features);
        self.steal_ends(index, clock.max(now));
    }

    /// Flushes what other vCPUs of the VM left in the TLBs of `pcpu`, or `index` itself before it ran elsewhere. See the module.
    fn warm_or_flush(&mut self, index: usize, pcpu: usize, guest: usize) {
        let tenants = &mut self.state.processors[pcpu].tenants;
        if tenants.len() <= guest {
            tenants.resize(guest + 1, None);
        }
        let before = tenants[guest].replace(index);
        let stayed = self.vcpus[index].residence.ran_on == Some(pcpu);
        if before.is_some_and(|before| before != index || !stayed) {
            let vmid = self.state.vms[guest].vmid();
            self.state.processors[pcpu].mmu.fence(&Fence::Vvma { vmid, gva: None, asid: None });
        }
    }

    /// What vCPU `index` has counted.
    pub(crate) fn statistics_of_vcpu(&self, index: usize) -> Statistics {
        let Self { state, vcpus, .. } = self;
        let (residence, counts) = (&vcpus[index].residence, vcpus[index].hart.counts());
        let mut counted = residence.past;
        if let Some(pcpu) = residence.pcpu {
            counted.add(&counts_of(state, pcpu).since(&residence.begun));
        }
        let waits = Waits::of(counted.caches, counted.core);
        Statistics {
            instructions: counts.instructions,
            loads: counts.loads,
            stores: counts.stores,
            page_faults: counts.page_faults,
            page_fault_instructions: counts.page_fault_instructions,
            // Of the guest, not of one hart of it.
            transactions: 0,
            mmu: counted.mmu,
            exits: counted.exits,
            paging: counted.paging,
            caches: counted.caches,
            core: counted.core,
            footprint: counted.footprint,
            shadow: None,
            time: Time {
                guest: state.guest_time(counts.instructions, &waits) + counted.traps,
                translation: state.translation(&counted.mmu, &waits),
                hypervisor: counted.hypervisor,
            },
        }
    }

    /// The clock of a pCPU, whichever vCPU has it.
    pub(crate) fn clock_of_pcpu(&self, pcpu: usize) -> Cycles {
        let instructions = match self.dispatch.seats[pcpu] {
            Some(index) => self.vcpus[index].hart.counts().instructions,
            None => self.state.processors[pcpu].entered,
        };
        self.state.clock_of(pcpu, instructions)
    }

    /// What the scheduler has counted of a guest.
    #[must_use]
    pub fn scheduling_of(&self, guest: usize) -> &VmStatistics {
        self.dispatch.scheduler.statistics(VmId(guest))
    }

    /// Time that all pCPUs have spent on scheduling.
    #[must_use]
    pub fn scheduling_time(&self) -> Cycles {
        self.state.processors.iter().map(|processor| processor.scheduling).sum()
    }

    /// Simulated time since the beginning: the clock of the pCPU that is furthest.
    #[must_use]
    pub fn elapsed(&self) -> Cycles {
        (0..self.state.processors.len()).map(|pcpu| self.clock_of_pcpu(pcpu)).max().unwrap_or_default()
    }

    /// The stays that have ended since they are kept.
    #[must_use]
    pub fn stays(&self) -> &[Stay] {
        self.dispatch.stays.as_deref().unwrap_or_default()
    }

    /// Keeps the stays that end from now on.
    pub fn record_stays(&mut self) {
        self.dispatch.stays.get_or_insert_default();
    }

    /// The stays that have ended since they are kept, or were last taken.
    pub fn take_stays(&mut self) -> Vec<Stay> {
        self.dispatch.stays.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A guest has ended: others have its pCPUs.
    pub(crate) fn remove_from_dispatch(&mut self, guest: usize, now: Cycles) {
        self.dispatch.scheduler.remove_vm(VmId(guest), now);
        self.carry_out(now);
    }
}
