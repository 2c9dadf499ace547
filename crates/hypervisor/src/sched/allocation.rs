//! Who may use which pCPUs: dedicated or shared, mixed in one host, and changed while it runs (section 2.3).

use super::{
    MOST_VCPUS, PcpuId, VcpuId, VmId,
    blocks::{Allocation, State, VmBlock, VmParameters, Why},
    ready_queue::Subqueue,
    scheduler::Scheduler,
    service::MOST_WEIGHT,
    spin::SpinMethod,
};
use types::Cycles;

/// Why an allocation cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AllocationError {
    /// Not one to one.
    #[error("{vcpus} vCPUs cannot have {pcpus} dedicated pCPUs: each vCPU needs exactly one")]
    NotOneToOne {
        /// Of the VM.
        vcpus: usize,
        /// Named.
        pcpus: usize,
    },
    /// Does not exist, or is named twice.
    #[error("pCPU {0} does not exist, or is named twice")]
    NoSuchPcpu(usize),
    /// Dedicated to another VM.
    #[error("pCPU {0} is dedicated to another VM")]
    Taken(usize),
    /// A VM shares, and no pCPU is left to share.
    #[error("no pCPU is left for the VMs that share")]
    NothingToShare,
    /// Too few or too many vCPUs.
    #[error("{0} vCPUs: a VM has 1 to 64")]
    Vcpus(usize),
    /// Too large a weight.
    #[error("weight {0}: a weight is at most 10000")]
    Weight(u32),
}

impl Scheduler {
    /// Adds a VM whose vCPUs all wait.
    ///
    /// # Errors
    /// [`AllocationError`]; nothing has changed.
    pub fn add_vm(&mut self, parameters: &VmParameters, now: Cycles) -> Result<VmId, AllocationError> {
        if !(1..=MOST_VCPUS).contains(&parameters.vcpus) {
            return Err(AllocationError::Vcpus(parameters.vcpus));
        }
        if parameters.weight > MOST_WEIGHT {
            return Err(AllocationError::Weight(parameters.weight));
        }
        match &parameters.allocation {
            Allocation::Dedicated(pcpus) => self.check_dedication(None, parameters.vcpus, pcpus)?,
            Allocation::Shared if self.pcpus.iter().all(|pcpu| pcpu.dedicated) => {
                return Err(AllocationError::NothingToShare);
            }
            Allocation::Shared => {}
        }
        let vm = self.add_blocks(parameters);
        if let Allocation::Dedicated(pcpus) = &parameters.allocation {
            self.dedicate(vm, pcpus, now);
        }
        Ok(vm)
    }

    /// Changes how a VM gets its pCPUs, now.
    ///
    /// # Errors
    /// [`AllocationError`]; nothing has changed.
    pub fn allocate(&mut self, vm: VmId, allocation: &Allocation, now: Cycles) -> Result<(), AllocationError> {
        match allocation {
            Allocation::Dedicated(pcpus) => {
                self.check_dedication(Some(vm), self.vms[vm.0].count, pcpus)?;
                self.undedicate(vm, now);
                self.dedicate(vm, pcpus, now);
            }
            // What it had dedicated is there to be shared.
            Allocation::Shared => self.undedicate(vm, now),
        }
        self.fill(now);
        Ok(())
    }

    /// Changes a VM's weight.
    ///
    /// # Errors
    /// [`AllocationError::Weight`]; nothing has changed.
    pub fn set_weight(&mut self, vm: VmId, weight: u32, now: Cycles) -> Result<(), AllocationError> {
        if weight > MOST_WEIGHT {
            return Err(AllocationError::Weight(weight));
        }
        // It changes queues where it gets, or loses, its weight.
        self.requeue_around(vm, now, |block| block.weight = weight);
        self.fill(now);
        Ok(())
    }

    /// Changes what happens when a VM's vCPUs spin.
    pub fn set_spin_method(&mut self, vm: VmId, method: SpinMethod, now: Cycles) {
        self.requeue_around(vm, now, |block| block.set_control(method));
        self.fill(now);
    }

    /// A VM has ended. Its pCPUs are there for others.
    pub fn remove_vm(&mut self, vm: VmId, now: Cycles) {
        self.withdraw_all(vm);
        self.vms[vm.0].shared = true;
        self.vms[vm.0].alive = false;
        self.fill(now);
    }

    /// Whether a VM has pCPUs of its own.
    #[must_use]
    pub fn is_dedicated(&self, vm: VmId) -> bool {
        !self.vms[vm.0].shared
    }

    fn check_dedication(&self, vm: Option<VmId>, vcpus: usize, pcpus: &[PcpuId]) -> Result<(), AllocationError> {
        if pcpus.len() != vcpus {
            return Err(AllocationError::NotOneToOne { vcpus, pcpus: pcpus.len() });
        }
        let own = |pcpu: &PcpuId| {
            let owner = self.pcpus[pcpu.0].occupant.map(|vcpu| self.vcpus[vcpu.0].vm);
            owner == vm.map(|vm| vm.0) && vm.is_some()
        };
        for (index, pcpu) in pcpus.iter().enumerate() {
            if pcpu.0 >= self.pcpus.len() || pcpus[..index].contains(pcpu) {
                return Err(AllocationError::NoSuchPcpu(pcpu.0));
            }
            if self.pcpus[pcpu.0].dedicated && !own(pcpu) {
                return Err(AllocationError::Taken(pcpu.0));
            }
        }
        let others_share =
            self.vms.iter().enumerate().any(|(n, other)| other.alive && other.shared && Some(n) != vm.map(|vm| vm.0));
        let left = (0..self.pcpus.len()).map(PcpuId).filter(|pcpu| !pcpus.contains(pcpu));
        let shared_left = left.filter(|pcpu| !self.pcpus[pcpu.0].dedicated || own(pcpu)).count();
        if others_share && shared_left == 0 { Err(AllocationError::NothingToShare) } else { Ok(()) }
    }

    /// Gives a shared VM pCPUs of its own, also such as others run on now.
    fn dedicate(&mut self, vm: VmId, pcpus: &[PcpuId], now: Cycles) {
        let busy = self.withdraw_all(vm);
        self.vms[vm.0].shared = false;
        for (member, &pcpu) in self.vms[vm.0].members().zip(pcpus) {
            if let Some(other) = self.occupant(pcpu) {
                self.displace(other, now);
            }
            self.pcpus[pcpu.0].dedicated = true;
            self.vcpus[member].dedicated = Some(pcpu);
            self.vcpus[member].since = now;
            self.run(VcpuId(member), pcpu, now);
            if !busy.contains(&member) {
                self.set_state(VcpuId(member), State::Waiting);
            }
        }
    }

    /// A VM shares its dedicated pCPUs, if it has any, and those of the others.
    fn undedicate(&mut self, vm: VmId, now: Cycles) {
        if self.vms[vm.0].shared {
            return;
        }
        let busy = self.withdraw_all(vm);
        self.vms[vm.0].shared = true;
        for member in busy {
            self.vcpus[member].slice_left = self.parameters.slice;
            self.enqueue(VcpuId(member), Subqueue::ProperReady, now);
        }
    }

    /// Takes a VM's vCPUs from wherever they are; those that had something to do.
    fn withdraw_all(&mut self, vm: VmId) -> Vec<usize> {
        let released = self.vms[vm.0].control.release_all();
        self.release(vm.0, released);
        let mut busy = Vec::new();
        for member in self.vms[vm.0].members() {
            let vcpu = VcpuId(member);
            if self.state(vcpu) != State::Waiting {
                busy.push(member);
            }
            self.withdraw(vcpu);
            if let Some(pcpu) = self.seat(vcpu) {
                self.set_state(vcpu, State::Running(pcpu));
                self.leave(vcpu, Why::Removed);
                self.pcpus[pcpu.0].dedicated = false;
                self.vcpus[member].dedicated = None;
            }
            self.set_state(vcpu, State::Waiting);
        }
        busy
    }

    /// Changes what a VM is scheduled by. The vCPUs of one that shares stand at the queue's tail afterwards, in their order.
    fn requeue_around(&mut self, vm: VmId, now: Cycles, change: impl FnOnce(&mut VmBlock)) {
        if !self.vms[vm.0].shared {
            return change(&mut self.vms[vm.0]);
        }
        let busy = self.withdraw_all(vm);
        change(&mut self.vms[vm.0]);
        for member in busy {
            self.enqueue(VcpuId(member), Subqueue::ProperReady, now);
        }
    }
}
