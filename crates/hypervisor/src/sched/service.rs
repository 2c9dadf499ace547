//! Service ratios (section 3.2.2): in a round of service each VM may consume a quantity of processor time that is its share of the round. One
//! that has consumed it is out of service until the out-of-service queue moves on, which begins the next round.
//!
//! The paper counts in vCPUs and speaks of ratios of VMs; here the quantity is the VM's, for its vCPUs together, so
//! that the ratio holds however many of them are busy. What is consumed beyond it, because several ran at once, is owed in the next round;
//! what is left is kept, up to `MOST_SAVED` quantities: a VM that had no chance to consume its share has not lost it.

use super::{VcpuId, account::Contenders, blocks::VmBlock, scheduler::Scheduler};
use types::Cycles;

/// The largest weight of a VM.
pub const MOST_WEIGHT: u32 = 10_000;

/// Time slices that a vCPU has in a round of service, if all weights are the same.
const SLICES_IN_ROUND: u64 = 4;

/// A vCPU that is dispatched runs for this part of a slice at least, however little of its service quantity is left.
const LEAST_SLICE: u64 = 8;

impl Scheduler {
    /// `vcpu` has been busy for so long.
    pub fn charge(&mut self, vcpu: VcpuId, busy: Cycles) {
        let block = &mut self.vcpus[vcpu.0];
        block.fresh &= busy == Cycles(0);
        self.vms[block.vm].statistics.busy += busy;
        if block.dedicated.is_none() {
            block.slice_left = Cycles(block.slice_left.0.saturating_sub(busy.0));
            let vm = block.vm;
            if self.is_limited(vm) {
                self.settle(vm);
                self.vms[vm].account.consume(busy);
            }
        }
    }

    /// How much longer `vcpu` may run; `None` for one with a pCPU of its own.
    #[must_use]
    pub fn limit(&self, vcpu: VcpuId) -> Option<Cycles> {
        let block = &self.vcpus[vcpu.0];
        if block.dedicated.is_some() {
            return None;
        }
        let least = Cycles(self.parameters.slice.0 / LEAST_SLICE);
        let service =
            if self.is_limited(block.vm) { self.vms[block.vm].account.left().max(least) } else { Cycles(u64::MAX) };
        Some(block.slice_left.min(service))
    }

    /// Whether [`Scheduler::slice_end`] is due for `vcpu`, which runs.
    #[must_use]
    pub fn is_over(&self, vcpu: VcpuId) -> bool {
        let block = &self.vcpus[vcpu.0];
        block.dedicated.is_none() && (block.slice_left == Cycles(0) || self.is_served(block.vm))
    }

    /// A VM begins to contend, or ends.
    pub(super) fn contend(&mut self, vm: usize, begins: bool) {
        let VmBlock { weight, shared, count, .. } = self.vms[vm];
        if !shared || weight == 0 {
            return;
        }
        let Contenders { vms, weight: sum, vcpus } = self.contenders;
        let (weight, count) = (u64::from(weight), count as u64);
        if begins {
            self.contenders = Contenders { vms: vms + 1, weight: sum + weight, vcpus: vcpus + count };
            // No VM saves credit while it has no work.
            let (quantity, round) = (self.quantity(vm), self.round);
            self.vms[vm].account.resume(quantity, round);
        } else {
            self.contenders = Contenders { vms: vms - 1, weight: sum - weight, vcpus: vcpus - count };
            if self.contenders.vms == 1 {
                // Service ratios limit no VM any more. Without limits no VM goes out of service, and who is there would wait behind slice ends for ever.
                self.queue.begin_service();
            }
        }
    }

    /// Whether service ratios limit a VM: it has a weight, and another VM to share with.
    pub(super) fn is_limited(&self, vm: usize) -> bool {
        let vm = &self.vms[vm];
        vm.shared && vm.weight > 0 && self.contenders.vms > 1
    }

    /// Whether a VM has consumed its service quantity.
    pub(super) fn is_served(&self, vm: usize) -> bool {
        self.is_limited(vm) && self.vms[vm].account.left() == Cycles(0)
    }

    pub(super) fn settle(&mut self, vm: usize) {
        let (quantity, round) = (self.quantity(vm), self.round);
        self.vms[vm].account.settle(quantity, round);
    }

    /// The service quantity of a VM in a round.
    pub(super) fn quantity(&self, vm: usize) -> Cycles {
        let round = u128::from(self.parameters.slice.0) * u128::from(SLICES_IN_ROUND * self.contenders.vcpus);
        let share = round * u128::from(self.vms[vm].weight) / u128::from(self.contenders.weight.max(1));
        Cycles((share as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::account::Account;

    #[test]
    fn debts_carry_over_and_savings_are_limited() {
        let quantity = Cycles(100);
        let mut account = Account::unlimited();
        account.resume(quantity, 0);
        account.consume(Cycles(250));
        assert_eq!((account.left(), account.rounds_owed(quantity)), (Cycles(0), 2));
        account.settle(quantity, 1);
        assert_eq!((account.left(), account.rounds_owed(quantity)), (Cycles(0), 1));
        account.settle(quantity, 2);
        assert_eq!((account.left(), account.rounds_owed(quantity)), (Cycles(50), 0));
        account.settle(quantity, 1000);
        assert_eq!(account.left(), Cycles(400));
    }
}
