//! All devices of a guest as plain values, for a snapshot.

use super::Platform;
use crate::plic::state::PlicState;
use crate::primary_region::RegionRegistersState;
use crate::uart::state::UartState;
use crate::virtio::{MmioSlot, SlotState};
use serde::{Deserialize, Serialize};

/// The state of all devices of a guest in a snapshot. It belongs to a platform with the same harts and devices.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlatformState {
    plic: PlicState,
    uart: UartState,
    slots: Vec<SlotState>,
    region: Option<RegionRegistersState>,
}

/// Why devices have no state that can be kept or taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StateError {
    /// The open files of a directory of the host are not the machine's.
    #[error("the guest has a shared directory")]
    Share,
    /// To take: it is that of other devices.
    #[error("the saved state of {0} is not valid")]
    Mismatch(&'static str),
}

impl Platform {
    /// The state of every device. What the guest has written to a console and the host has not read is not in it, nor is what a disk holds.
    ///
    /// # Errors
    /// [`StateError::Share`].
    pub fn state(&self) -> Result<PlatformState, StateError> {
        let slots: Option<Vec<_>> = self.slots.iter().map(MmioSlot::state).collect();
        Ok(PlatformState {
            plic: self.plic.state(),
            uart: self.uart.state(),
            slots: slots.ok_or(StateError::Share)?,
            region: self.region.as_ref().map(crate::RegionRegisters::state),
        })
    }

    /// Sets the state of every device.
    ///
    /// # Errors
    /// [`StateError::Mismatch`]: it is not that of such devices. Some may have changed.
    pub fn set_state(&mut self, state: &PlatformState) -> Result<(), StateError> {
        let fits = |fits: bool, what| if fits { Ok(()) } else { Err(StateError::Mismatch(what)) };
        fits(self.uart.set_state(&state.uart), "the UART")?;
        fits(state.slots.len() == self.slots.len(), "the virtio slots")?;
        for (slot, state) in self.slots.iter_mut().zip(&state.slots) {
            fits(slot.set_state(state), "a virtio device")?;
        }
        match (&mut self.region, &state.region) {
            (Some(registers), Some(state)) => registers.set_state(state),
            (None, None) => {}
            _ => return Err(StateError::Mismatch("the primary region")),
        }
        // Last, so that the wires are as its levels say.
        fits(self.plic.set_state(&state.plic), "the PLIC")?;
        self.drive_wires();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
