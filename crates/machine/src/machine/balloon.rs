//! Guests are asked for memory when that is due.

use crate::machine::Machine;
use types::Cycles;

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
}
