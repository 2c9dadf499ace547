//! `directed-yield`: a partner runs in the place of the one that spins, as in KVM's `kvm_vcpu_on_spin` (Linux 6.1, `virt/kvm/kvm_main.c`).
//!
//! The candidates are looked at in a circle behind the one that was boosted last. One that is itself in a spin loop is taken only every
//! other time (`kvm_vcpu_eligible_for_directed_yield`). A partner that the guest names is taken before all, as z/VM does at DIAGNOSE X'9C'.
//! One that is out of service is not: that would undo the service ratios.

use super::control::{Answer, Partners, SpinCall, SpinControl};
use crate::sched::set::VcpuSet;

/// The policy `directed-yield`. A spin without a call of the guest is noticed by [`PauseLoop`](crate::sched::PauseLoop).
#[derive(Clone, Debug, Default)]
pub struct DirectedYield {
    /// `last_boosted_vcpu`.
    last_boosted: usize,
    /// Gave way because they spun, and have not been dispatched since (`in_spin_loop`).
    spinning: VcpuSet,
    /// Were passed over once because they spin (`dy_eligible`).
    eligible: VcpuSet,
    examined: u64,
}

impl DirectedYield {
    fn is_eligible(&mut self, candidate: usize) -> bool {
        if !self.spinning.contains(candidate) {
            return true;
        }
        let eligible = self.eligible.remove(candidate);
        if !eligible {
            self.eligible.insert(candidate);
        }
        eligible
    }
}

impl SpinControl for DirectedYield {
    fn spin(&mut self, caller: usize, call: SpinCall, partners: &Partners) -> Answer {
        let mut candidates = partners.proper_ready.union(partners.time_slice_end);
        if let Some(partner) = call.partner.filter(|&partner| candidates.contains(partner)) {
            self.examined += 1;
            self.spinning.insert(caller);
            return Answer::YieldTo(partner);
        }
        let mut from = self.last_boosted;
        while let Some(candidate) = candidates.next_after(from) {
            self.examined += 1;
            candidates.remove(candidate);
            from = candidate;
            if self.is_eligible(candidate) {
                self.last_boosted = candidate;
                self.spinning.insert(caller);
                return Answer::YieldTo(candidate);
            }
        }
        Answer::Continue
    }

    fn dispatched(&mut self, number: usize) -> VcpuSet {
        self.spinning.remove(number);
        self.eligible.remove(number);
        VcpuSet::EMPTY
    }

    fn release_all(&mut self) -> VcpuSet {
        self.spinning = VcpuSet::EMPTY;
        self.eligible = VcpuSet::EMPTY;
        VcpuSet::EMPTY
    }

    fn examined(&self) -> u64 {
        self.examined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::spin::SpinReason;

    fn call(partner: Option<usize>) -> SpinCall {
        SpinCall { reason: SpinReason::PauseLoop, partner }
    }

    fn ready(numbers: &[usize]) -> Partners {
        Partners { proper_ready: VcpuSet::of(numbers), ..Partners::default() }
    }

    #[test]
    fn partners_are_boosted_in_turn() {
        let mut control = DirectedYield::default();
        let boosted = [ready(&[1, 2, 3]); 4].map(|partners| control.spin(0, call(None), &partners));
        assert_eq!(boosted, [1, 2, 3, 1].map(Answer::YieldTo));
    }

    #[test]
    fn one_that_spins_itself_is_boosted_every_other_time() {
        let mut control = DirectedYield::default();
        assert_eq!(control.spin(1, call(None), &ready(&[2])), Answer::YieldTo(2));
        let boosted = [ready(&[1]); 3].map(|partners| control.spin(2, call(None), &partners));
        assert_eq!(boosted, [Answer::Continue, Answer::YieldTo(1), Answer::Continue]);
        control.dispatched(1);
        assert_eq!(control.spin(2, call(None), &ready(&[1])), Answer::YieldTo(1));
    }

    #[test]
    fn a_partner_that_is_named_goes_first_if_it_is_ready() {
        let mut control = DirectedYield::default();
        assert_eq!(control.spin(0, call(Some(3)), &ready(&[1, 3])), Answer::YieldTo(3));
        assert_eq!(control.spin(0, call(Some(2)), &ready(&[1, 3])), Answer::YieldTo(1));
        assert_eq!(control.spin(0, call(Some(2)), &ready(&[])), Answer::Continue);
    }
}
