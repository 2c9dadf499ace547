//! Guests are asked for memory when that is due.

use crate::machine::Machine;
use crate::state::primary_region;
use types::{Cycles, PageSize};

/// Why guests cannot be asked for memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BalloonError {
    /// There is no balloon to ask through.
    #[error("no guest has a memory balloon")]
    NoBalloon,
    /// A balloon has pages of 4 KiB.
    #[error("{0} bytes are not a multiple of 4096")]
    Unaligned(u64),
    /// The guest would have nothing left.
    #[error("{0} bytes are not less than the memory of a guest")]
    TooLarge(u64),
    /// As much is added to the guest's region as its balloon was configured to give up.
    #[error("the target is fixed where memory is added for it (segment.hot_add)")]
    Fixed,
}

impl Machine {
    /// Asks the guests for what is due, if that is no later than `next`, the time of whatever else happens; whether it was.
    pub(crate) fn ask_for_memory(&mut self, next: Option<Cycles>) -> bool {
        let Some(balloon) = &mut self.balloon else { return false };
        let Some(due) = balloon.due(self.state.ran_short).filter(|&due| next.is_none_or(|next| due <= next)) else {
            return false;
        };
        let pages = balloon.change(due);
        for guest in 0..self.state.guests.len() {
            self.state.guests[guest].platform.ask_for_memory(pages);
            self.deliver_interrupts(guest, due);
        }
        true
    }

    /// Asks every guest that has a balloon to give up so many bytes in all, from now on.
    ///
    /// # Errors
    /// [`BalloonError`]; nothing is asked for then.
    pub fn set_balloon_target(&mut self, bytes: u64) -> Result<(), BalloonError> {
        let page = PageSize::Size4K.bytes();
        if !bytes.is_multiple_of(page) {
            return Err(BalloonError::Unaligned(bytes));
        }
        let pages = u32::try_from(bytes / page).map_err(|_| BalloonError::TooLarge(bytes))?;
        let with: Vec<usize> =
            (0..self.state.guests.len()).filter(|&guest| self.state.guests[guest].platform.has_balloon()).collect();
        if with.is_empty() {
            return Err(BalloonError::NoBalloon);
        }
        for &guest in &with {
            let ram = self.state.vms[guest].ram();
            if bytes >= ram.end.0 - ram.start.0 {
                return Err(BalloonError::TooLarge(bytes));
            }
            if primary_region::hot_adds(&self.state, guest) {
                return Err(BalloonError::Fixed);
            }
        }
        let now = self.elapsed();
        for guest in with {
            self.state.guests[guest].platform.ask_for_memory(pages);
            self.deliver_interrupts(guest, now);
        }
        Ok(())
    }
}
