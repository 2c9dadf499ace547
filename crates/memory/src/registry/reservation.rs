//! One reservation: what a system manager writes down.

use super::PAGE;
use super::name::SectionName;
use types::PageSize;

/// What is set aside of a reservation when the host starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preallocation {
    /// FLUID: a promise only. The pages are taken when they are first touched, and are anybody's until then.
    Fluid,
    /// ALLOC: the pages themselves, contiguous and aligned for the largest granularity that fits.
    Alloc {
        /// Whether they are cleared when the host starts, or else when a section is made of them.
        zeroed: bool,
    },
}

/// Memory to set aside for the section of the same name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// The section.
    pub name: SectionName,
    bytes: u64,
    /// What is set aside.
    pub preallocation: Preallocation,
    /// Whether the page tables that map the section are shared, and memory for them is part of the reservation.
    pub page_tables: bool,
    /// It was freed: nothing is set aside any more, and a section of that name takes fluid pages.
    pub freed: bool,
}

/// Why a reservation cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadReservation {
    /// The size.
    #[error("size {0}: must be a positive multiple of 4096, and at most {most}", most = Reservation::LARGEST)]
    Size(u64),
    /// `zeroed` without `alloc`.
    #[error("zeroed: only preallocated pages can be cleared beforehand; fluid ones always are when they are taken")]
    ZeroedFluid,
}

impl Reservation {
    /// The largest: half of what the second stages translate (Sv57x4).
    pub const LARGEST: u64 = 1 << 58;

    /// `bytes` bytes for `name`, fluid, with shared page tables.
    ///
    /// # Errors
    /// [`BadReservation::Size`].
    pub fn new(name: SectionName, bytes: u64) -> Result<Self, BadReservation> {
        let mut reservation =
            Self { name, bytes: 0, preallocation: Preallocation::Fluid, page_tables: true, freed: false };
        reservation.resize(bytes)?;
        Ok(reservation)
    }

    /// Gives it another size, in bytes.
    ///
    /// # Errors
    /// [`BadReservation::Size`].
    pub const fn resize(&mut self, bytes: u64) -> Result<(), BadReservation> {
        if bytes == 0 || !bytes.is_multiple_of(PAGE) || bytes > Self::LARGEST {
            return Err(BadReservation::Size(bytes));
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Its size in bytes, page tables not included.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its size in pages.
    #[must_use]
    pub const fn pages(&self) -> u64 {
        self.bytes / PAGE
    }

    /// Pages of its page tables, none if they are not part of it.
    #[must_use]
    pub const fn table_pages(&self) -> u64 {
        if self.page_tables { table_pages(self.bytes) } else { 0 }
    }

    /// Pages that the host cannot use for anything else.
    #[must_use]
    pub const fn held_pages(&self) -> u64 {
        if self.freed { 0 } else { self.pages() + self.table_pages() }
    }
}

/// Table pages that map `bytes` bytes by base pages: leaf tables of 2M each, and the levels above up to the one that has a single table.
#[must_use]
pub const fn table_pages(bytes: u64) -> u64 {
    let (mut tables, mut level) = (bytes.div_ceil(PageSize::Size2M.bytes()), 1);
    let mut sum = tables;
    while tables > 1 && level < 4 {
        level += 1;
        tables = bytes.div_ceil(PageSize::of_level(level).bytes());
        sum += tables;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::Scope;
    use super::*;

    #[test]
    fn tables_of_eight_gigabytes_are_sixteen_megabytes() {
        let name = SectionName::new("cache", Scope::System).unwrap();
        let mut reservation = Reservation::new(name, 8 << 30).unwrap();
        assert_eq!(reservation.table_pages(), 4096 + 8 + 1);
        assert_eq!(reservation.held_pages(), (8 << 18) + 4105);
        reservation.page_tables = false;
        assert_eq!(reservation.held_pages(), 8 << 18);
        reservation.freed = true;
        assert_eq!(reservation.held_pages(), 0);
    }

    #[test]
    fn a_size_is_whole_pages() {
        let name = || SectionName::new("cache", Scope::System).unwrap();
        for bytes in [0, 1, 4097, u64::MAX, Reservation::LARGEST + 4096] {
            assert_eq!(Reservation::new(name(), bytes).unwrap_err(), BadReservation::Size(bytes));
        }
        assert!(Reservation::new(name(), Reservation::LARGEST).is_ok());
    }
}
