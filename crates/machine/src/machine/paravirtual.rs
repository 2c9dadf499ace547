//! The paravirtual extension, executed (docs/paravirtual.md).

use super::trace;
use crate::machine::Machine;
use crate::results::events::EventKind;
use crate::sections::calls;
use crate::state::primary_region;
use crate::state::shadow;
use hypervisor::{
    ExitReason,
    sbi::{ParavirtualRequest, SbiError, SpinReport},
    sched::{
        Allocation, AllocationError, AllocationForm, Notice, VcpuId, VmId,
        spin::{SpinCall, SpinReason},
    },
};

impl Machine {
    /// Answers a request of vCPU `index`.
    pub(crate) fn paravirtual(&mut self, index: usize, request: &ParavirtualRequest) -> Result<u64, SbiError> {
        let guest = self.vcpus[index].guest;
        let handshake = &mut self.records[guest].handshake;
        match *request {
            ParavirtualRequest::SetSegment(ref request) => primary_region::set(&mut self.state, request),
            ParavirtualRequest::Section(call) => calls::call(&mut self.state, guest, call),
            ParavirtualRequest::PartialPurge(purge) => shadow::partial_purge(&mut self.state, &purge),
            ParavirtualRequest::RegisterArea(area) => {
                let notice = handshake.register(area);
                self.notify(guest, notice).map(|()| 0)
            }
            ParavirtualRequest::Allocation => {
                let flag = handshake.form().flag();
                self.raise(guest, false);
                Ok(u64::from(flag))
            }
            ParavirtualRequest::AllocationInterrupt(wanted) => {
                handshake.want_interrupt(wanted);
                if !wanted {
                    self.raise(guest, false);
                }
                Ok(u64::from(devices::map::HYPERVISOR_SOURCE))
            }
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

    /// vCPU `index`, whose turn it is, has executed `pause`: if that makes it a spin, it exits.
    pub(crate) fn paused(&mut self, index: usize) {
        if self.notices(index) {
            let Some(pcpu) = self.vcpus[index].residence.pcpu else { return };
            let now = self.clock_of_pcpu(pcpu);
            if self.vcpus[index].residence.pauses.pause(now, &self.dispatch.pause_limits) {
                self.state.charge_exit(ExitReason::PauseLoop);
                self.spin(index, SpinCall { reason: SpinReason::PauseLoop, partner: None });
            }
        }
    }

    /// vCPU `index`, whose turn it is, waits for a store to its reservation: it exits.
    pub(crate) fn waits_for_store(&mut self, index: usize) {
        if self.notices(index) {
            self.state.charge_exit(ExitReason::ReservationWait);
            self.spin(index, SpinCall { reason: SpinReason::ReservationWait, partner: None });
        }
    }

    /// Whether an unmodified guest's spins are looked for: not where it has processors of its own, nor where nothing would come of it.
    fn notices(&self, index: usize) -> bool {
        let guest = self.vcpus[index].guest;
        !self.dispatch.scheduler.is_dedicated(VmId(guest)) && self.records[guest].spin.acts()
    }

    /// vCPU `index`, whose turn it is, spins.
    pub(crate) fn spin(&mut self, index: usize, call: SpinCall) {
        let Some(pcpu) = self.vcpus[index].residence.pcpu else { return };
        self.account(pcpu);
        trace::instant(self, index, EventKind::Spin(call.reason));
        let now = self.clock_of_pcpu(pcpu);
        self.dispatch.scheduler.spin(VcpuId(index), call, now);
        self.carry_out(now);
    }

    /// Changes how a guest's vCPUs get pCPUs, now, and lets the guest know.
    ///
    /// # Errors
    /// [`AllocationError`]; nothing has changed.
    pub(crate) fn allocate(&mut self, guest: usize, allocation: &Allocation) -> Result<(), AllocationError> {
        let now = self.clock_of_pcpu(self.state.current.processor);
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

    /// Drives the interrupt that says that a guest's allocation has changed.
    fn raise(&mut self, guest: usize, high: bool) {
        let generation = self.state.guests[guest].platform.interrupt_generation();
        self.state.guests[guest].platform.set_hypervisor_interrupt(high);
        if self.state.guests[guest].platform.interrupt_generation() != generation {
            let now = self.clock_of_pcpu(self.state.current.processor);
            self.deliver_interrupts(guest, now);
        }
    }

    /// Lets a guest know of its allocation.
    fn notify(&mut self, guest: usize, notice: Notice) -> Result<(), SbiError> {
        if let Some((area, flag)) = notice.store {
            self.state.write_guest(guest, area, &flag.to_le_bytes()).map_err(|_| SbiError::Failed)?;
        }
        if notice.interrupt {
            self.raise(guest, true);
        }
        Ok(())
    }
}
