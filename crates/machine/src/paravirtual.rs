//! The paravirtual extension, executed (docs/paravirtual.md).

use crate::machine::Machine;
use monitor::{
    sbi::{ParavirtualRequest, SbiError},
    sched::Notice,
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
            // Every logical processor has a real one of its own: nothing changes, and spinning is right.
            ParavirtualRequest::AllocationInterrupt(_) => Err(SbiError::NotSupported),
            ParavirtualRequest::Spin(_) | ParavirtualRequest::ExcessiveSpin(_) => Ok(0),
        }
    }

    /// Lets a guest know of its allocation.
    fn notify(&mut self, guest: usize, notice: Notice) -> Result<(), SbiError> {
        if let Some((area, flag)) = notice.store {
            self.world.write_guest(guest, area, &flag.to_le_bytes()).map_err(|_| SbiError::Failed)?;
        }
        Ok(())
    }
}
