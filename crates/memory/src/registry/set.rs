//! All reservations of a host, and the edits of `pagewalk reserve`. Pure: files and frames are elsewhere.

use super::name::SectionName;
use super::reservation::{BadReservation, Preallocation, Reservation};
use std::collections::BTreeMap;

/// The reservations, in the order of their names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Registry {
    entries: BTreeMap<SectionName, Reservation>,
}

/// What `modify` changes; what is `None` stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Change {
    /// Its size in bytes.
    pub bytes: Option<u64>,
    /// Whether its pages are preallocated.
    pub alloc: Option<bool>,
    /// Whether they are cleared beforehand.
    pub zeroed: Option<bool>,
    /// Whether its page tables are shared and part of it.
    pub page_tables: Option<bool>,
    /// Whether nothing of it is set aside.
    pub freed: Option<bool>,
}

/// Why an edit is refused. The registry is as it was.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EditError {
    /// The name has a reservation already.
    #[error("{0} is reserved already; modify it, or remove it first")]
    Exists(SectionName),
    /// The name has no reservation.
    #[error("nothing is reserved for {0}")]
    Absent(SectionName),
    /// The reservation is freed already.
    #[error("the memory of {0} is freed already")]
    Freed(SectionName),
    /// What would be reserved cannot be.
    #[error("{name}: {bad}")]
    Bad {
        /// The reservation.
        name: SectionName,
        /// What is wrong.
        bad: BadReservation,
    },
}

impl Registry {
    /// The reservations, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Reservation> {
        self.entries.values()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// That of `name`.
    #[must_use]
    pub fn get(&self, name: &SectionName) -> Option<&Reservation> {
        self.entries.get(name)
    }

    /// Adds a reservation.
    ///
    /// # Errors
    /// [`EditError::Exists`].
    pub fn add(&mut self, reservation: Reservation) -> Result<(), EditError> {
        if self.entries.contains_key(&reservation.name) {
            return Err(EditError::Exists(reservation.name));
        }
        self.entries.insert(reservation.name.clone(), reservation);
        Ok(())
    }

    /// Changes the reservation of `name`.
    ///
    /// # Errors
    /// [`EditError::Absent`], [`EditError::Bad`].
    pub fn modify(&mut self, name: &SectionName, change: Change) -> Result<&Reservation, EditError> {
        let entry = self.entries.get_mut(name).ok_or_else(|| EditError::Absent(name.clone()))?;
        let mut changed = entry.clone();
        change.apply(&mut changed).map_err(|bad| EditError::Bad { name: name.clone(), bad })?;
        *entry = changed;
        Ok(entry)
    }

    /// Removes the reservation of `name`: it is as if it had never been.
    ///
    /// # Errors
    /// [`EditError::Absent`].
    pub fn remove(&mut self, name: &SectionName) -> Result<Reservation, EditError> {
        self.entries.remove(name).ok_or_else(|| EditError::Absent(name.clone()))
    }

    /// Frees the reservation of `name`: it keeps its entry, and with it its options, but nothing is set aside.
    ///
    /// # Errors
    /// [`EditError::Absent`], [`EditError::Freed`].
    pub fn free(&mut self, name: &SectionName) -> Result<&Reservation, EditError> {
        let entry = self.entries.get_mut(name).ok_or_else(|| EditError::Absent(name.clone()))?;
        if entry.freed {
            return Err(EditError::Freed(name.clone()));
        }
        entry.freed = true;
        Ok(entry)
    }

    /// The reservations that hold memory, the largest first and equal ones by name: so that small ones do not fragment what large ones need.
    #[must_use]
    pub fn descending(&self) -> Vec<&Reservation> {
        let mut entries: Vec<_> = self.iter().filter(|entry| !entry.freed).collect();
        entries.sort_by_key(|entry| core::cmp::Reverse(entry.bytes()));
        entries
    }
}

impl Change {
    /// Makes the change to a reservation; one that is refused may be half made.
    pub(super) fn apply(self, to: &mut Reservation) -> Result<(), BadReservation> {
        if let Some(bytes) = self.bytes {
            to.resize(bytes)?;
        }
        let (was_alloc, was_zeroed) = match to.preallocation {
            Preallocation::Fluid => (false, false),
            Preallocation::Alloc { zeroed } => (true, zeroed),
        };
        // Made fluid, it loses `zeroed`, unless that is asked for in the same breath.
        let alloc = self.alloc.unwrap_or(was_alloc);
        let zeroed = self.zeroed.unwrap_or(was_zeroed && alloc);
        to.preallocation = match (alloc, zeroed) {
            (true, zeroed) => Preallocation::Alloc { zeroed },
            (false, false) => Preallocation::Fluid,
            (false, true) => return Err(BadReservation::ZeroedFluid),
        };
        to.page_tables = self.page_tables.unwrap_or(to.page_tables);
        to.freed = self.freed.unwrap_or(to.freed);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
