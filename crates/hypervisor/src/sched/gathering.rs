//! Co-scheduling: dispatching the partners of one that is dispatched.

use super::{PcpuId, VcpuId, blocks::State, ready_queue::Subqueue, scheduler::Scheduler};
use types::Cycles;

impl Scheduler {
    /// `opener` was dispatched. If it is the first of its VM to run, its ready partners are dispatched with it, on idle pCPUs or on
    /// those that other VMs have and have run on, as far as there are any. All have what `opener` has left of its slice. Those that have consumed theirs, or are
    /// out of service, stay where they are.
    pub(super) fn gather(&mut self, opener: VcpuId, now: Cycles) {
        let vm = self.vcpus[opener.0].vm;
        if self.vms[vm].running.len() != 1 {
            return;
        }
        let slice = self.vcpus[opener.0].slice_left;
        for partner in self.vms[vm].members().map(VcpuId) {
            if self.subqueue(partner) != Some(Subqueue::ProperReady) {
                continue;
            }
            let State::Ready(_) = self.state(partner) else { continue };
            let Some(pcpu) = self.idle.first().copied().or_else(|| self.of_another(vm)) else { break };
            if let Some(victim) = self.occupant(pcpu) {
                self.displace(victim, now);
            }
            self.withdraw(partner);
            self.vcpus[partner.0].slice_left = slice;
            self.run(partner, pcpu, now);
        }
    }

    /// A shared pCPU that another VM has, and has had some time of: gangs that displace one another before they ran would leave a VM
    /// that is always displaced first without any.
    fn of_another(&self, vm: usize) -> Option<PcpuId> {
        let others = |occupant: VcpuId| {
            let block = &self.vcpus[occupant.0];
            block.vm != vm && !block.fresh
        };
        self.pcpus.iter().position(|pcpu| !pcpu.dedicated && pcpu.occupant.is_some_and(others)).map(PcpuId)
    }
}
