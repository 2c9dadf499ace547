//! Who may use which real processors: dedicated or shared, mixed in one host, and changed while it runs (section 2.3).

use super::{
    LogicalId, MOST_LOGICALS, RealId, VmId,
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
    #[error("{logicals} logical processors cannot have {reals} dedicated real processors: it must be one each")]
    NotOneToOne {
        /// Of the VM.
        logicals: usize,
        /// Named.
        reals: usize,
    },
    /// Does not exist, or is named twice.
    #[error("real processor {0} does not exist, or is named twice")]
    NoSuchReal(usize),
    /// Dedicated to another VM.
    #[error("real processor {0} is dedicated to another VM")]
    Taken(usize),
    /// Somebody shares, and nothing is left to share.
    #[error("no real processor is left for the VMs that share")]
    NothingToShare,
    /// Too few or too many logical processors.
    #[error("{0} logical processors: a VM has 1 to 64")]
    Logicals(usize),
    /// Too large a weight.
    #[error("weight {0}: at most 10000")]
    Weight(u32),
}

impl Scheduler {
    /// Adds a VM whose logical processors all wait.
    ///
    /// # Errors
    /// [`AllocationError`]; nothing has changed.
    pub fn add_vm(&mut self, parameters: &VmParameters, now: Cycles) -> Result<VmId, AllocationError> {
        if !(1..=MOST_LOGICALS).contains(&parameters.logicals) {
            return Err(AllocationError::Logicals(parameters.logicals));
        }
        if parameters.weight > MOST_WEIGHT {
            return Err(AllocationError::Weight(parameters.weight));
        }
        match &parameters.allocation {
            Allocation::Dedicated(reals) => self.check_dedication(None, parameters.logicals, reals)?,
            Allocation::Shared if self.reals.iter().all(|real| real.dedicated) => {
                return Err(AllocationError::NothingToShare);
            }
            Allocation::Shared => {}
        }
        let vm = self.add_blocks(parameters);
        if let Allocation::Dedicated(reals) = &parameters.allocation {
            self.dedicate(vm, reals, now);
        }
        Ok(vm)
    }

    /// Changes how a VM gets its real processors, now.
    ///
    /// # Errors
    /// [`AllocationError`]; nothing has changed.
    pub fn allocate(&mut self, vm: VmId, allocation: &Allocation, now: Cycles) -> Result<(), AllocationError> {
        match allocation {
            Allocation::Dedicated(reals) => {
                self.check_dedication(Some(vm), self.vms[vm.0].count, reals)?;
                self.undedicate(vm, now);
                self.dedicate(vm, reals, now);
            }
            // What it had dedicated is there to be shared.
            Allocation::Shared if !self.vms[vm.0].shared => self.undedicate(vm, now),
            Allocation::Shared => {}
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

    /// Changes what happens when a VM's logical processors spin.
    pub fn set_spin_method(&mut self, vm: VmId, method: SpinMethod, now: Cycles) {
        self.requeue_around(vm, now, |block| block.set_control(method));
        self.fill(now);
    }

    /// A VM has ended. Its real processors are there for others.
    pub fn remove_vm(&mut self, vm: VmId, now: Cycles) {
        self.withdraw_all(vm);
        self.vms[vm.0].shared = true;
        self.vms[vm.0].alive = false;
        self.fill(now);
    }

    /// Whether a VM has real processors of its own.
    #[must_use]
    pub fn is_dedicated(&self, vm: VmId) -> bool {
        !self.vms[vm.0].shared
    }

    fn check_dedication(&self, vm: Option<VmId>, logicals: usize, reals: &[RealId]) -> Result<(), AllocationError> {
        if reals.len() != logicals {
            return Err(AllocationError::NotOneToOne { logicals, reals: reals.len() });
        }
        let own = |real: &RealId| {
            let owner = self.reals[real.0].occupant.map(|logical| self.logicals[logical.0].vm);
            owner == vm.map(|vm| vm.0) && vm.is_some()
        };
        for (index, real) in reals.iter().enumerate() {
            if real.0 >= self.reals.len() || reals[..index].contains(real) {
                return Err(AllocationError::NoSuchReal(real.0));
            }
            if self.reals[real.0].dedicated && !own(real) {
                return Err(AllocationError::Taken(real.0));
            }
        }
        let others_share =
            self.vms.iter().enumerate().any(|(n, other)| other.alive && other.shared && Some(n) != vm.map(|vm| vm.0));
        let left = (0..self.reals.len()).map(RealId).filter(|real| !reals.contains(real));
        let shared_left = left.filter(|real| !self.reals[real.0].dedicated || own(real)).count();
        if others_share && shared_left == 0 { Err(AllocationError::NothingToShare) } else { Ok(()) }
    }

    /// Gives a shared VM real processors of its own, whoever has them now.
    fn dedicate(&mut self, vm: VmId, reals: &[RealId], now: Cycles) {
        let busy = self.withdraw_all(vm);
        self.vms[vm.0].shared = false;
        for (member, &real) in self.vms[vm.0].members().zip(reals) {
            if let Some(other) = self.occupant(real) {
                self.displace(other, now);
            }
            self.reals[real.0].dedicated = true;
            self.logicals[member].dedicated = Some(real);
            self.logicals[member].since = now;
            self.run(LogicalId(member), real, now);
            if !busy.contains(&member) {
                self.set_state(LogicalId(member), State::Waiting);
            }
        }
    }

    /// A VM shares its dedicated real processors, if it has any, and those of the others.
    fn undedicate(&mut self, vm: VmId, now: Cycles) {
        if self.vms[vm.0].shared {
            return;
        }
        let busy = self.withdraw_all(vm);
        self.vms[vm.0].shared = true;
        for member in busy {
            self.logicals[member].slice_left = self.parameters.slice;
            self.enqueue(LogicalId(member), Subqueue::ProperReady, now);
        }
    }

    /// Takes a VM's logical processors from wherever they are; those that had something to do.
    fn withdraw_all(&mut self, vm: VmId) -> Vec<usize> {
        let released = self.vms[vm.0].control.release_all();
        self.release(vm.0, released);
        let mut busy = Vec::new();
        for member in self.vms[vm.0].members() {
            let logical = LogicalId(member);
            if self.state(logical) != State::Waiting {
                busy.push(member);
            }
            self.withdraw(logical);
            if let Some(real) = self.seat(logical) {
                self.set_state(logical, State::Running(real));
                self.leave(logical, Why::Removed);
                self.reals[real.0].dedicated = false;
                self.logicals[member].dedicated = None;
            }
            self.set_state(logical, State::Waiting);
        }
        busy
    }

    /// Changes what a VM is scheduled by. The logical processors of one that shares stand at the queue's tail afterwards, in their order.
    fn requeue_around(&mut self, vm: VmId, now: Cycles, change: impl FnOnce(&mut VmBlock)) {
        if !self.vms[vm.0].shared {
            return change(&mut self.vms[vm.0]);
        }
        let busy = self.withdraw_all(vm);
        change(&mut self.vms[vm.0]);
        for member in busy {
            self.enqueue(LogicalId(member), Subqueue::ProperReady, now);
        }
    }
}
