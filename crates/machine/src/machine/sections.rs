//! What became of sections, for reports; and reservations that are freed while guests run.

use crate::machine::Machine;
use crate::sections::serve::free_reservation;
use crate::sections::{FreedFigures, GuestFigures, ReservedFigures, SectionFigures};
use memory::registry::{FreeError, SectionName};

impl Machine {
    /// Every section of the host, in the plan's order, as it was when it was looked at last.
    pub fn sections(&self) -> impl Iterator<Item = &SectionFigures> {
        self.state.sections.iter().flat_map(|sections| sections.ledger.sections.values())
    }

    /// What a guest that has ended had of sections; `None` if it had none.
    #[must_use]
    pub fn sections_of(&self, guest: usize) -> Option<&GuestFigures> {
        let vmid = self.state.vms[guest].vmid();
        self.state.sections.as_ref()?.ledger.guests.get(&vmid)
    }

    /// Frees the reservation `name` now. That takes no simulated time. What its section has of it follows when that ends.
    ///
    /// # Errors
    /// [`FreeError`]: nothing has changed.
    pub fn free_reservation(&mut self, name: &SectionName) -> Result<FreedFigures, FreeError> {
        let now = self.elapsed();
        free_reservation(&mut self.state, name, now)
    }

    /// What became of the registry when the machine started, and what was freed since then.
    #[must_use]
    pub fn reserved_memory(&self) -> Option<&ReservedFigures> {
        self.state.sections.as_ref().map(|sections| &sections.ledger.reserved)
    }

    /// What went wrong when sections were given back, a line each: modified pages that did not reach their file.
    #[must_use]
    pub fn section_problems(&self) -> &[String] {
        self.state.sections.as_ref().map_or(&[], |sections| &sections.ledger.problems)
    }
}
