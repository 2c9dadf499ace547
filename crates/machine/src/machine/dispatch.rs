//! Logical processors on real ones: what the scheduler decides happens here to clocks, TLBs and statistics.
//!
//! A *stay* is the time from a despatch to the next change of the real processor: what the MMU and the hypervisor count meanwhile is the logical
//! processor's. One with a dedicated real processor has one stay, and nothing of this file costs it anything.
//!
//! Two logical processors of a VM have the same VMID, and their guest the same ASIDs. A fence that a hart executes reaches the TLB of the real
//! processor that it runs on, and nothing else. So the VMID's entries are flushed at a despatch, unless the logical processor was the last of
//! its VM to run there and has run nowhere else since. It is what KVM does (`last_vcpu_ran`, Linux 6.1, `arch/arm64/kvm/arm.c`, and
//! `kvm_riscv_local_tlb_sanitize`), and the price of floating for TLBs: what is still warm is only what one logical processor left behind.

use crate::parts::dispatch::{Counted, Residence};
use crate::{
    machine::Machine,
    parts::logical::Logical,
    results::statistics::{Statistics, Time},
    results::trace::Stay,
    world::World,
};
use hypervisor::{
    ExitReason,
    sched::{Change, LogicalId, RealId, State, VmId, VmStatistics, Why},
};
use mmu::Fence;
use types::Cycles;

impl World {
    fn counted(&self, real: usize) -> Counted {
        let processor = &self.processors[real];
        Counted {
            mmu: *processor.mmu.statistics(),
            exits: processor.exits,
            paging: processor.paging,
            hypervisor: processor.hypervisor,
            traps: processor.traps,
            caches: self.cache_statistics(real),
        }
    }
}

impl Machine {
    /// Logical processor `index` has something to do from `now` on.
    pub(crate) fn rouse(&mut self, index: usize, now: Cycles) {
        self.dispatch.scheduler.wake(LogicalId(index), now);
        self.steal_begins(index, now);
        self.carry_out(now);
    }

    /// The same, unless it still waits.
    pub(crate) fn rouse_if_woken(&mut self, index: usize, now: Cycles) {
        let waits = self.dispatch.scheduler.state(LogicalId(index)) == State::Waiting;
        if waits && self.logicals[index].residence.real.is_none() && !self.logicals[index].is_idle() {
            self.rouse(index, now);
        }
    }

    /// The first timer of those without a real processor is due.
    pub(crate) fn timer_due(&mut self) {
        let Some((due, index)) = self.dispatch.timers.pop_first() else { return };
        let logical = &mut self.logicals[index];
        let timer = logical.hart.timer_interrupt().and_then(|timer| self.world.clock().cycle_of(timer));
        let waits = self.dispatch.scheduler.state(LogicalId(index)) == State::Waiting;
        if waits && logical.residence.real.is_none() && timer == Some(due) {
            logical.hart.set_pending(hart::Interrupt::Timer, true);
            logical.event = due;
            logical.residence.owed.push(ExitReason::Timer);
            self.rouse_if_woken(index, due);
        }
    }

    /// What follows from the turn of `index` on `real` beside what the guest asked for: whether it waits now, or its slice is over.
    pub(crate) fn after_turn(&mut self, index: usize, real: usize) {
        self.account(real);
        let logical = LogicalId(index);
        if self.dispatch.scheduler.state(logical) != State::Running(RealId(real)) {
            return;
        }
        if self.logicals[index].is_idle() {
            let now = self.clock_of_real(real);
            self.dispatch.scheduler.block(logical, now);
            self.carry_out(now);
            self.keep_timer(index);
        } else if self.dispatch.scheduler.is_over(logical) {
            self.world.charge(real, self.logicals[index].guest, ExitReason::SliceEnd);
            self.account(real);
            let now = self.clock_of_real(real);
            self.dispatch.scheduler.slice_end(logical, now);
            self.carry_out(now);
        }
    }

    /// Notes the timer of a logical processor that waits without a real one.
    pub(crate) fn keep_timer(&mut self, index: usize) {
        let logical = &self.logicals[index];
        let due = logical.hart.timer_interrupt().and_then(|timer| self.clock().cycle_of(timer));
        if logical.residence.real.is_none()
            && let Some(due) = due
        {
            self.dispatch.timers.insert((due, index));
        }
    }

    /// An event of `index` that the hypervisor handles: charged where it has a real processor, or when it gets one.
    pub(crate) fn charge_logical(&mut self, index: usize, reason: ExitReason) {
        let guest = self.logicals[index].guest;
        match self.logicals[index].residence.real {
            Some(real) => self.world.charge(real, guest, reason),
            None => self.logicals[index].residence.owed.push(reason),
        }
    }

    /// Charges whoever has `real` for the time since this was last done.
    pub(crate) fn account(&mut self, real: usize) {
        let now = self.clock_of_real(real);
        let processor = &mut self.world.processors[real];
        let busy = Cycles(now.0 - processor.accounted.0);
        processor.accounted = now;
        if let Some(index) = self.dispatch.seats[real] {
            self.dispatch.scheduler.charge(LogicalId(index), busy);
        }
    }

    /// Carries out what the scheduler has decided at `now`. The work for it is done by the real processor whose turn it is.
    pub(crate) fn carry_out(&mut self, now: Cycles) {
        let changes = self.dispatch.scheduler.take_changes();
        let work = self.dispatch.scheduler.take_work();
        let prices = self.dispatch.prices;
        let here = self.world.current.processor;
        let price = prices.decision * work.decisions + prices.partner * work.examined;
        let mut touched: Vec<(usize, Why)> = Vec::new();
        for change in changes {
            let (RealId(real), why) = match change {
                Change::Left { real, why, .. } => (real, why),
                Change::Despatched { real, .. } => (real, Why::Removed),
            };
            if touched.iter().all(|&(other, _)| other != real) {
                touched.push((real, why));
            }
        }
        touched.retain(|&(real, _)| self.dispatch.seats[real] != self.seat(real));
        for &(real, why) in &touched {
            self.end_stay(real, why);
        }
        self.world.processors[here].spend_on_scheduling(price);
        for &(real, _) in &touched {
            if let Some(index) = self.seat(real) {
                self.world.processors[real].spend_on_scheduling(prices.switch);
                self.begin_stay(index, real, now);
            }
        }
    }

    /// The same while the machine is put together, when nothing costs anything.
    pub(crate) fn carry_out_for_free(&mut self) {
        let prices = std::mem::take(&mut self.dispatch.prices);
        self.carry_out(Cycles(0));
        self.dispatch.prices = prices;
    }

    /// Who has `real` by the scheduler.
    fn seat(&self, real: usize) -> Option<usize> {
        self.dispatch.scheduler.occupant(RealId(real)).map(|LogicalId(index)| index)
    }

    fn end_stay(&mut self, real: usize, why: Why) {
        self.account(real);
        let now = self.clock_of_real(real);
        let Some(index) = self.dispatch.seats[real].take() else { return };
        let counted = self.world.counted(real);
        let logical = &mut self.logicals[index];
        self.world.pmu_leaves(real, (logical.guest, logical.hart_id), logical.hart.counts().instructions);
        let processor = &mut self.world.processors[real];
        processor.instructions += logical.hart.counts().instructions - processor.entered;
        processor.entered = 0;
        let residence = &mut logical.residence;
        residence.past.add(&counted.since(&residence.begun));
        residence.real = None;
        residence.pauses.end();
        if let Some(stays) = &mut self.dispatch.stays {
            let Residence { since, .. } = *residence;
            stays.push(Stay { real, guest: logical.guest, hart: logical.hart_id, from: since, to: now, why });
        }
        self.steal_tells_preempted(index, now);
    }

    fn begin_stay(&mut self, index: usize, real: usize, now: Cycles) {
        // An idle processor's clock stood still.
        let clock = self.clock_of_real(real);
        self.world.processors[real].idle += Cycles(now.0.saturating_sub(clock.0));
        let guest = self.logicals[index].guest;
        self.warm_or_flush(index, real, guest);
        self.world.load_segments(real, guest, self.logicals[index].hart_id);
        let logical = &mut self.logicals[index];
        let processor = &mut self.world.processors[real];
        processor.entered = logical.hart.counts().instructions;
        logical.residence.real = Some(real);
        logical.residence.ran_on = Some(real);
        logical.residence.since = clock.max(now);
        self.dispatch.seats[real] = Some(index);
        let begun = self.world.counted(real);
        self.logicals[index].residence.begun = begun;
        for reason in std::mem::take(&mut self.logicals[index].residence.owed) {
            self.world.charge(real, guest, reason);
        }
        self.world.processors[real].accounted = self.clock_of_real(real);
        let Logical { hart, hart_id, features, .. } = &self.logicals[index];
        self.world.pmu_enters(real, (guest, *hart_id), hart.counts().instructions);
        self.world.switch_hardware_ad(real, features);
        self.steal_ends(index, clock.max(now));
    }

    /// Flushes what other logical processors of the VM left in the TLBs of `real`, or `index` itself before it ran elsewhere. See the module.
    fn warm_or_flush(&mut self, index: usize, real: usize, guest: usize) {
        let tenants = &mut self.world.processors[real].tenants;
        if tenants.len() <= guest {
            tenants.resize(guest + 1, None);
        }
        let before = tenants[guest].replace(index);
        let stayed = self.logicals[index].residence.ran_on == Some(real);
        if before.is_some_and(|before| before != index || !stayed) {
            let vmid = self.world.vms[guest].vmid();
            self.world.processors[real].mmu.fence(&Fence::Vvma { vmid, gva: None, asid: None });
        }
    }

    /// What logical processor `index` has counted.
    pub(crate) fn statistics_of_logical(&self, index: usize) -> Statistics {
        let Self { world, logicals, .. } = self;
        let (residence, counts) = (&logicals[index].residence, logicals[index].hart.counts());
        let mut counted = residence.past;
        if let Some(real) = residence.real {
            counted.add(&world.counted(real).since(&residence.begun));
        }
        Statistics {
            instructions: counts.instructions,
            loads: counts.loads,
            stores: counts.stores,
            // Of the guest, not of one hart of it.
            transactions: 0,
            mmu: counted.mmu,
            exits: counted.exits,
            paging: counted.paging,
            caches: counted.caches,
            shadow: None,
            time: Time {
                guest: world.clock().instructions(counts.instructions)
                    + counted.traps
                    + counted.caches.map_or(Cycles(0), |caches| caches.stalls()),
                translation: world.translation(&counted.mmu, counted.caches.as_ref()),
                hypervisor: counted.hypervisor,
            },
        }
    }

    /// The clock of a real processor, whoever has it.
    pub(crate) fn clock_of_real(&self, real: usize) -> Cycles {
        let instructions = match self.dispatch.seats[real] {
            Some(index) => self.logicals[index].hart.counts().instructions,
            None => self.world.processors[real].entered,
        };
        self.world.clock_of(real, instructions)
    }

    /// What the scheduler has counted of a guest.
    #[must_use]
    pub fn scheduling_of(&self, guest: usize) -> &VmStatistics {
        self.dispatch.scheduler.statistics(VmId(guest))
    }

    /// Time that all real processors have spent on scheduling.
    #[must_use]
    pub fn scheduling_time(&self) -> Cycles {
        self.world.processors.iter().map(|processor| processor.scheduling).sum()
    }

    /// Simulated time since the beginning: the clock of the real processor that is furthest.
    #[must_use]
    pub fn elapsed(&self) -> Cycles {
        (0..self.world.processors.len()).map(|real| self.clock_of_real(real)).max().unwrap_or_default()
    }

    /// Keeps the stays that end from now on.
    pub fn record_stays(&mut self) {
        self.dispatch.stays.get_or_insert_default();
    }

    /// The stays that have ended since they are kept, or were last taken.
    pub fn take_stays(&mut self) -> Vec<Stay> {
        self.dispatch.stays.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A guest has ended: others have its real processors.
    pub(crate) fn remove_from_dispatch(&mut self, guest: usize, now: Cycles) {
        self.dispatch.scheduler.remove_vm(VmId(guest), now);
        self.carry_out(now);
    }
}
