//! Which reservations a host honours when it starts, and where each of them lies. Pure: the frames are taken by [`ReservedMemory`].
//!
//! The largest reservation comes first. Each is deducted from the fluid pages, page tables included, and refused if fewer than the minimum
//! would stay. A preallocated one is then placed at the lowest boundary of the largest granularity that fits into it, or failing that of the next smaller one. The
//! tables of preallocated ones are placed last, so that they fill gaps.
//!
//! [`ReservedMemory`]: super::ReservedMemory

use super::PAGE;
use super::fluid::{FluidPages, Starved};
use super::name::SectionName;
use super::reservation::{Preallocation, Reservation};
use super::set::Registry;
use crate::FrameRange;
use types::{Hpa, PageSize};

/// The sizes of pages that a host's TLB maps by one entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granularities {
    sizes: &'static [PageSize],
    largest: PageSize,
    /// Whether a size that a table of an upper level maps has its leaf there, and is no group of base pages.
    superpages: bool,
}

impl Granularities {
    /// A RISC-V second stage's: base pages, Svnapot's, and the leaves of two upper levels.
    pub const RISCV: Self = Self {
        sizes: &[PageSize::Size1G, PageSize::Size2M, PageSize::Size64K, PageSize::Size4K],
        largest: PageSize::Size1G,
        superpages: true,
    };

    /// A RISC-V second stage's without Svnapot.
    pub const SUPERPAGES: Self = Self { sizes: &[PageSize::Size1G, PageSize::Size2M, PageSize::Size4K], ..Self::RISCV };

    /// An Alpha's: groups of 8, 64 and 512 base pages, each with an entry for every page.
    pub const HINTS: Self = Self {
        sizes: &[PageSize::Size2M, PageSize::Size256K, PageSize::Size32K, PageSize::Size4K],
        largest: PageSize::Size2M,
        superpages: false,
    };

    /// Those of them that are no larger.
    #[must_use]
    pub const fn at_most(self, largest: PageSize) -> Self {
        Self { largest, ..self }
    }

    /// The level of the tables in which a page of `size` has its entries; in the last level, 0, one for each base page.
    #[must_use]
    pub fn level(self, size: PageSize) -> u32 {
        let of = |level: &u32| self.superpages && PageSize::of_level(*level) == size;
        (0..=4).find(of).unwrap_or(0)
    }

    /// The largest first.
    pub fn descending(self) -> impl Iterator<Item = PageSize> {
        self.sizes.iter().copied().filter(move |&size| size <= self.largest)
    }

    /// Those that fit into `bytes` bytes, the largest first.
    pub fn within(self, bytes: u64) -> impl Iterator<Item = PageSize> {
        self.descending().filter(move |size| size.bytes() <= bytes)
    }
}

/// What a start sets aside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartPlan {
    /// Reservations that are honoured, the largest first.
    pub honoured: Vec<Honoured>,
    /// Reservations that do not fit.
    pub refused: Vec<Refused>,
    /// Fluid pages that are left.
    pub fluid: FluidPages,
}

/// A reservation that fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Honoured {
    /// As it was asked for.
    pub reservation: Reservation,
    /// What is held for it.
    pub held: Held,
}

/// What is held for a reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// A promise of fluid pages.
    Fluid,
    /// Pages.
    Alloc {
        /// The section's.
        data: FrameRange,
        /// What their first is aligned to.
        alignment: PageSize,
        /// Those of its page tables; `None` where there are none, or no contiguous ones, so that they are promised only.
        tables: Option<FrameRange>,
    },
}

/// A reservation that does not fit.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name}: {why}")]
pub struct Refused {
    /// Its name.
    pub name: SectionName,
    /// Why.
    pub why: Refusal,
}

/// Why a reservation does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// Too few fluid pages.
    #[error(transparent)]
    Starved(#[from] Starved),
    /// No piece of memory is long enough.
    #[error("no {bytes} contiguous bytes are free: the longest piece has {longest}")]
    Fragmented {
        /// Bytes wanted.
        bytes: u64,
        /// Bytes of the longest free piece.
        longest: u64,
    },
}

impl StartPlan {
    /// What a host does for `registry` with these free `runs` of frames, ascending, and as many fluid pages.
    #[must_use]
    pub fn new(registry: &Registry, runs: &[FrameRange], mut fluid: FluidPages, granularities: Granularities) -> Self {
        let mut free = FreeRuns(runs.to_vec());
        let (mut honoured, mut refused) = (Vec::new(), Vec::new());
        for reservation in registry.descending() {
            match hold(reservation, &mut free, &mut fluid, granularities) {
                Ok(held) => honoured.push(Honoured { reservation: reservation.clone(), held }),
                Err(why) => refused.push(Refused { name: reservation.name.clone(), why }),
            }
        }
        for entry in &mut honoured {
            if let Held::Alloc { tables, .. } = &mut entry.held
                && entry.reservation.page_tables
            {
                let bytes = entry.reservation.table_pages() * PAGE;
                *tables = free.take_aligned(bytes, PageSize::Size4K);
            }
        }
        Self { honoured, refused, fluid }
    }
}

fn hold(
    reservation: &Reservation,
    free: &mut FreeRuns,
    fluid: &mut FluidPages,
    granularities: Granularities,
) -> Result<Held, Refusal> {
    let pages = reservation.held_pages();
    fluid.deduct(pages)?;
    match reservation.preallocation {
        Preallocation::Fluid => Ok(Held::Fluid),
        Preallocation::Alloc { .. } => {
            let bytes = reservation.bytes();
            let Some((data, alignment)) = free.take(bytes, granularities) else {
                fluid.restore(pages);
                return Err(Refusal::Fragmented { bytes, longest: free.longest() });
            };
            Ok(Held::Alloc { data, alignment, tables: None })
        }
    }
}

/// Free memory while a plan is made.
struct FreeRuns(Vec<FrameRange>);

impl FreeRuns {
    /// Takes `bytes` bytes at the lowest place of the best alignment.
    fn take(&mut self, bytes: u64, granularities: Granularities) -> Option<(FrameRange, PageSize)> {
        granularities.within(bytes).find_map(|alignment| Some((self.take_aligned(bytes, alignment)?, alignment)))
    }

    fn take_aligned(&mut self, bytes: u64, alignment: PageSize) -> Option<FrameRange> {
        let (index, start) = self.0.iter().enumerate().find_map(|(index, run)| {
            let start = run.start().0.checked_next_multiple_of(alignment.bytes())?;
            (start.checked_add(bytes)? <= run.end().0).then_some((index, Hpa(start)))
        })?;
        let (run, taken) = (self.0[index], FrameRange::new(start, bytes)?);
        let piece = |from: Hpa, to: Hpa| FrameRange::new(from, to.0 - from.0).filter(|piece| piece.bytes() > 0);
        let rest = [piece(run.start(), taken.start()), piece(taken.end(), run.end())];
        self.0.splice(index..=index, rest.into_iter().flatten());
        Some(taken)
    }

    fn longest(&self) -> u64 {
        self.0.iter().map(|run| run.bytes()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
