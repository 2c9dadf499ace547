//! The paravirtual extension, executed (docs/paravirtual.md).

use crate::machine::Machine;
use monitor::{
    sbi::{ParavirtualRequest, SbiError, SpinReport},
    sched::{Allocation, AllocationError, AllocationForm, LogicalId, Notice, VmId, spin::SpinCall},
};

impl Machine {
    /// Answers a request of logical processor `index`.
    pub(crate) fn paravirtual(&mut self, index: usize, request: ParavirtualRequest) -> Result<u64, SbiError> {
        let guest = self.logicals[index].guest;
        let handshake = &mut self.records[guest].handshake;
        match request {
            ParavirtualRequest::PartialPurge(purge) => self.world.partial_purge(&purge),
            ParavirtualRequest::RegisterArea(area) => {
                let notice = handshake.register(area);
                self.notify(guest, notice).map(|()| 0)
            }
            ParavirtualRequest::Allocation => Ok(u64::from(handshake.form().flag())),
            ParavirtualRequest::AllocationInterrupt(_) => Err(SbiError::NotSupported),
            ParavirtualRequest::Spin(call) => {
                self.spin(index, call);
                Ok(0)
            }
            ParavirtualRequest::ExcessiveSpin(SpinReport { lost, .. }) => {
                let statistics = self.dispatch.scheduler.statistics_mut(VmId(guest));
                statistics.excessive_spins += 1;
                statistics.processors_lost += u64::from(lost);
                Ok(0)
            }
        }
    }

    /// Logical processor `index`, whose turn it is, spins.
    pub(crate) fn spin(&mut self, index: usize, call: SpinCall) {
        let Some(real) = self.logicals[index].residence.real else { return };
        self.account(real);
        let now = self.clock_of_real(real);
        self.dispatch.scheduler.spin(LogicalId(index), call, now);
        self.carry_out(now);
    }

    /// Changes how a guest's logical processors get real ones, now, and lets the guest know.
    ///
    /// # Errors
    /// [`AllocationError`]; nothing has changed.
    pub fn allocate(&mut self, guest: usize, allocation: &Allocation) -> Result<(), AllocationError> {
        let now = self.clock_of_real(self.world.current.processor);
        self.dispatch.scheduler.allocate(VmId(guest), allocation, now)?;
        self.carry_out(now);
        self.harts_of(guest).for_each(|index| self.keep_timer(index));
        let form = match allocation {
            Allocation::Dedicated(_) => AllocationForm::Dedicated,
            Allocation::Shared => AllocationForm::Shared,
        };
        let notice = self.records[guest].handshake.change(form);
        // An area that was RAM when it was registered is RAM still; one that the host has no memory for is the guest's loss.
        let _ = self.notify(guest, notice);
        Ok(())
    }

    /// Lets a guest know of its allocation.
    fn notify(&mut self, guest: usize, notice: Notice) -> Result<(), SbiError> {
        if let Some((area, flag)) = notice.store {
            self.world.write_guest(guest, area, &flag.to_le_bytes()).map_err(|_| SbiError::Failed)?;
        }
        Ok(())
    }
}
