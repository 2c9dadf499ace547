//! The plan carried out: reserved memory while the host runs.
//!
//! A section takes its memory with [`ReservedMemory::acquire`] and gives it back with [`ReservedMemory::release`], by when no table may lead to it any more
//! (the ownership protocol of [`FrameAllocator`](crate::FrameAllocator)). Preallocated pages stay with their name; they never go to the free
//! frames unless the reservation is [freed](ReservedMemory::free).

use super::PAGE;
use super::fluid::{FluidPages, Starved};
use super::freed::{FreeError, Freed};
use super::name::SectionName;
use super::plan::{Granularities, Held, Refusal, Refused, StartPlan};
use super::reservation::{Preallocation, Reservation, table_pages};
use super::set::Registry;
use crate::{FrameError, FrameRange, Host, HostMemory, OutsideMemory};

/// Reserved memory of a running host, and its fluid page count.
#[derive(Debug)]
pub struct ReservedMemory {
    fluid: FluidPages,
    entries: Vec<Entry>,
    refused: Vec<Refused>,
}

/// A reservation while the host runs.
#[derive(Debug)]
struct Entry {
    reservation: Reservation,
    standing: Standing,
    /// Pages that are still reserved, page tables not included: 0 if it was refused, and only those of its section if it was freed.
    pages: u64,
    held: Held,
    /// Pages of the section that has them.
    in_use: Option<u64>,
}

/// What the host has done about a reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// Its memory is held.
    Honoured,
    /// It did not fit.
    Refused(Refusal),
    /// Nothing is held, or only what its section still has.
    Freed,
}

/// Memory that a reservation no longer holds.
#[derive(PartialEq, Eq, Debug)]
struct Dropped {
    /// Preallocated pages.
    frames: Vec<FrameRange>,
    /// All pages, those that were only promised among them.
    pages: u64,
}

/// Memory for a section. It is to be given back with [`ReservedMemory::release`].
#[derive(PartialEq, Eq, Debug)]
#[must_use = "memory that is not released is lost to its name"]
pub struct Grant {
    name: SectionName,
    pages: u64,
    /// The section's pages.
    pub data: DataGrant,
    /// Its page tables.
    pub tables: TableGrant,
    /// Whose memory it is.
    pub source: Source,
}

/// Pages for a section's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataGrant {
    /// ALLOC: these.
    Alloc {
        /// The pages.
        frames: FrameRange,
        /// Whether they hold zeroes; if not, they hold anything.
        zeroed: bool,
    },
    /// FLUID: any, when they are touched. There are enough.
    Fluid,
}

/// Pages for a section's tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableGrant {
    /// Tables are not shared: each mapper pays for its own.
    Private,
    /// Tables are shared.
    Shared {
        /// Pages that are promised for them.
        pages: u64,
        /// Those pages, where they are preallocated. They may hold anything.
        frames: Option<FrameRange>,
    },
}

/// Whose memory a grant is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The reservation's of that name.
    Reservation,
    /// Anybody's: it was deducted from the fluid pages.
    FluidPages(Fallback),
}

/// Why a section does not take the memory of its reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
    /// Nothing was ever reserved for it.
    NotReserved,
    /// What is reserved is smaller, or was freed or refused: this many pages.
    Reserved(u64),
}

/// Why a section gets no memory. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AcquireError {
    /// Another section has the reservation.
    #[error("the memory reserved for {0} is in use")]
    InUse(SectionName),
    /// No reservation is large enough, and there are too few fluid pages.
    #[error("{name}: {starved}")]
    Starved {
        /// The section.
        name: SectionName,
        /// The numbers.
        starved: Starved,
    },
}

impl ReservedMemory {
    /// Sets aside on `host`, which has just started, what `registry` asks for, as far as `minimum_fluid` pages stay. What is free on the host is fluid.
    ///
    /// # Errors
    /// [`FrameError`]: the frame allocator and its own list of free frames disagree.
    pub fn honour(
        registry: &Registry,
        host: &mut Host,
        minimum_fluid: u64,
        granularities: Granularities,
    ) -> Result<Self, FrameError> {
        let runs: Vec<FrameRange> = host.frames.free_runs().collect();
        let fluid = FluidPages::new(host.frames.free_bytes() / PAGE, minimum_fluid);
        let plan = StartPlan::new(registry, &runs, fluid, granularities);
        for entry in &plan.honoured {
            if let Held::Alloc { data, tables, .. } = entry.held {
                for range in [Some(data), tables].into_iter().flatten() {
                    host.frames.reserve(&host.memory, range)?;
                }
            }
        }
        let honoured: Vec<Entry> = plan
            .honoured
            .into_iter()
            .map(|entry| Entry {
                standing: Standing::Honoured,
                pages: entry.reservation.pages(),
                reservation: entry.reservation,
                held: entry.held,
                in_use: None,
            })
            .collect();
        let standing = |name: &SectionName| {
            let refused = plan.refused.iter().find(|refused| refused.name == *name);
            refused.map_or(Standing::Freed, |refused| Standing::Refused(refused.why))
        };
        // Refused and freed ones hold nothing, but their options still count.
        let others = registry
            .iter()
            .filter(|reservation| !honoured.iter().any(|entry| entry.reservation.name == reservation.name))
            .map(|reservation| Entry {
                standing: standing(&reservation.name),
                reservation: reservation.clone(),
                pages: 0,
                held: Held::Fluid,
                in_use: None,
            })
            .collect::<Vec<_>>();
        let entries = honoured.into_iter().chain(others).collect();
        Ok(Self { fluid: plan.fluid, entries, refused: plan.refused })
    }

    /// The fluid page count, and its minimum.
    #[must_use]
    pub const fn fluid(&self) -> FluidPages {
        self.fluid
    }

    /// Reservations that did not fit.
    #[must_use]
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// Takes memory for the section `name` of `pages` pages: what is reserved for that name if it is enough, or else fluid pages. Whether tables are shared is the
    /// reservation's choice, and the default where there is none.
    ///
    /// # Errors
    /// [`AcquireError`].
    pub fn acquire(&mut self, name: &SectionName, pages: u64) -> Result<Grant, AcquireError> {
        let entry = self.entries.iter_mut().find(|entry| entry.reservation.name == *name);
        if entry.as_ref().is_some_and(|entry| entry.in_use.is_some()) {
            return Err(AcquireError::InUse(name.clone()));
        }
        let shares = entry.as_ref().is_none_or(|entry| entry.reservation.page_tables);
        let tables = if shares { table_pages(pages.saturating_mul(PAGE)) } else { 0 };
        let (data, frames, source) = match entry {
            Some(entry) if entry.pages >= pages => {
                entry.in_use = Some(pages);
                let (data, frames) = entry.first(pages, tables);
                (data, frames, Source::Reservation)
            }
            other => {
                let starved = |starved| AcquireError::Starved { name: name.clone(), starved };
                self.fluid.deduct(pages.saturating_add(tables)).map_err(starved)?;
                let fallback = other.map_or(Fallback::NotReserved, |entry| Fallback::Reserved(entry.pages));
                (DataGrant::Fluid, None, Source::FluidPages(fallback))
            }
        };
        let tables = if shares { TableGrant::Shared { pages: tables, frames } } else { TableGrant::Private };
        Ok(Grant { name: name.clone(), pages, data, tables, source })
    }

    /// Takes a grant back. Preallocated pages stay with their name, cleared again if the reservation says so; fluid ones have been freed by
    /// their owner. Returns preallocated pages whose reservation was [freed](Self::free) while the section had
    /// them: the caller frees these, as it does the section's own.
    ///
    /// # Errors
    /// [`OutsideMemory`]: the grant is another host's.
    pub fn release(&mut self, memory: &HostMemory, grant: &Grant) -> Result<Vec<FrameRange>, OutsideMemory> {
        match grant.source {
            Source::FluidPages(_) => {
                let tables = match grant.tables {
                    TableGrant::Private => 0,
                    TableGrant::Shared { pages, .. } => pages,
                };
                self.fluid.restore(grant.pages + tables);
                Ok(Vec::new())
            }
            Source::Reservation => {
                let entry = self.entries.iter_mut().find(|entry| entry.reservation.name == grant.name);
                let Some(entry) = entry else { return Ok(Vec::new()) };
                entry.in_use = None;
                if entry.standing == Standing::Freed {
                    let dropped = entry.shrink(0);
                    self.fluid.restore(dropped.pages);
                    return Ok(dropped.frames);
                }
                if let DataGrant::Alloc { frames, zeroed: true } = grant.data {
                    memory.zero(frames.start(), frames.bytes())?;
                }
                Ok(Vec::new())
            }
        }
    }

    /// Frees the reservation `name`: gives what is unused of it back, preallocated pages to the free frames, and all of them to the fluid
    /// page count. What its section has goes the same way when that ends. The reservation's options stay.
    ///
    /// # Errors
    /// [`FreeError`].
    pub fn free(&mut self, host: &mut Host, name: &SectionName) -> Result<Freed, FreeError> {
        let entry = self.entries.iter_mut().find(|entry| entry.reservation.name == *name);
        let entry = entry.ok_or_else(|| FreeError::NotReserved(name.clone()))?;
        match entry.standing {
            Standing::Honoured => entry.standing = Standing::Freed,
            Standing::Freed => return Err(FreeError::AlreadyFreed(name.clone())),
            Standing::Refused(why) => return Err(FreeError::NotHonoured { name: name.clone(), why }),
        }
        let dropped = entry.shrink(entry.in_use.unwrap_or(0));
        let kept_pages = entry.pages + entry.tables_of(entry.pages);
        let free_list_pages = dropped.frames.iter().map(|range| range.bytes() / PAGE).sum();
        for range in dropped.frames {
            host.frames.give_back(range, "reserved memory");
        }
        self.fluid.restore(dropped.pages);
        Ok(Freed { free_list_pages, returned_pages: dropped.pages, kept_pages, fluid_pages: self.fluid.count() })
    }
}

impl Entry {
    /// Pages of the tables of `pages` pages, none if they are not part of the reservation.
    const fn tables_of(&self, pages: u64) -> u64 {
        if self.reservation.page_tables { table_pages(pages * PAGE) } else { 0 }
    }

    /// Holds no more than the first `pages` pages and their tables from now on.
    fn shrink(&mut self, pages: u64) -> Dropped {
        let (held, tables) = (self.pages + self.tables_of(self.pages), self.tables_of(pages));
        self.pages = pages;
        let mut frames = Vec::new();
        if let Held::Alloc { data, alignment, tables: reserved } = self.held {
            let (data, rest) = split(data, pages);
            let (reserved, rest_of_tables) = reserved.map_or((None, None), |reserved| split(reserved, tables));
            frames.extend(rest);
            frames.extend(rest_of_tables);
            self.held = data.map_or(Held::Fluid, |data| Held::Alloc { data, alignment, tables: reserved });
        }
        Dropped { frames, pages: held - pages - tables }
    }

    /// The first pages of what is held, for the section and for its tables.
    fn first(&self, pages: u64, table_pages: u64) -> (DataGrant, Option<FrameRange>) {
        match self.held {
            Held::Fluid => (DataGrant::Fluid, None),
            Held::Alloc { data, tables, .. } => {
                let zeroed = self.reservation.preallocation == Preallocation::Alloc { zeroed: true };
                let data = split(data, pages).0.map_or(DataGrant::Fluid, |frames| DataGrant::Alloc { frames, zeroed });
                (data, tables.and_then(|tables| split(tables, table_pages).0))
            }
        }
    }
}

/// The first `pages` pages of `range`, and the rest; `None` for nothing.
fn split(range: FrameRange, pages: u64) -> (Option<FrameRange>, Option<FrameRange>) {
    let first = (pages * PAGE).min(range.bytes());
    let piece = |start, bytes| FrameRange::new(start, bytes).filter(|piece| piece.bytes() > 0);
    (piece(range.start(), first), piece(range.start().wrapping_add(first), range.bytes() - first))
}

#[cfg(test)]
mod tests;
