//! Co-scheduling: despatching the partners of one that is despatched.

use super::{LogicalId, RealId, blocks::State, ready_queue::Subqueue, scheduler::Scheduler};
use types::Cycles;

impl Scheduler {
    /// `opener` was despatched. If it is the first of its VM to run, its ready partners are despatched with it, on idle real processors or on
    /// those that other VMs have and have run on, as far as there are any. All have what `opener` has left of its slice. Those that have consumed theirs, or are
    /// out of service, stay where they are.
    pub(super) fn gather(&mut self, opener: LogicalId, now: Cycles) {
        let vm = self.logicals[opener.0].vm;
        if self.vms[vm].running.len() != 1 {
            return;
        }
        let slice = self.logicals[opener.0].slice_left;
        for partner in self.vms[vm].members().map(LogicalId) {
            if self.subqueue(partner) != Some(Subqueue::ProperReady) {
                continue;
            }
            let State::Ready(_) = self.state(partner) else { continue };
            let Some(real) = self.idle.first().copied().or_else(|| self.of_another(vm)) else { break };
            if let Some(victim) = self.occupant(real) {
                self.displace(victim, now);
            }
            self.withdraw(partner);
            self.logicals[partner.0].slice_left = slice;
            self.run(partner, real, now);
        }
    }

    /// A shared real processor that another VM has, and has had some time of: gangs that displace one another before they ran would leave a VM
    /// that is always displaced first without any.
    fn of_another(&self, vm: usize) -> Option<RealId> {
        let others = |occupant: LogicalId| {
            let block = &self.logicals[occupant.0];
            block.vm != vm && !block.fresh
        };
        self.reals.iter().position(|real| !real.dedicated && real.occupant.is_some_and(others)).map(RealId)
    }
}
