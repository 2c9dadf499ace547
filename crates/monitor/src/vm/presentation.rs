//! What the hardware is shown of where a virtual machine's RAM lies: nothing, a table, a constant, or a segment with a table beside it. A further
//! kind of second stage is a row of [`Backing`] and of [`Presentation`].

use super::attribute::Store;
use super::direct::{Direct, FilterSize};
use super::error::VmError;
use crate::table::{FlatTable, HostTable, Leaf, LeafBits, MapError, NestedTable};
use core::ops::Range;
use memory::Host;
use types::{Access, Gpa, PageSize, SecondStageMode, Vmid};

/// How a guest's second stage is presented to the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backing {
    /// The host is the guest's: hPA = gPA. There is no monitor below it.
    Native,
    /// A nested table: what is fixed is mapped from the start, and pages of a V=V machine when they are first touched.
    Nested {
        /// Shape of the table.
        mode: SecondStageMode,
        /// The largest page that is mapped: 4K, 2M or 1G. Where the end of RAM cuts one off, smaller ones take its place.
        page: PageSize,
        /// A and D bits of a page that is mapped.
        status: LeafStatus,
    },
    /// The same by a flat table.
    Flat {
        /// The largest page that is mapped: 4K or 2M.
        page: PageSize,
        /// A and D bits of a page that is mapped.
        status: LeafStatus,
    },
    /// No table, but one constant: RAM is in one piece, V=Resident at the least.
    Reserved,
    /// The monitor's segment, over all the memory that is there from the start, in one piece; and a nested table, of pages of 4K, for what is
    /// added later and for what escapes.
    Direct {
        /// Shape of the table.
        mode: SecondStageMode,
        /// Size of the segment's escape filter.
        filter: FilterSize,
    },
}

/// A and D bits of a second-stage leaf when it is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LeafStatus {
    /// Both set: nobody looks at them, and no walk has to write them.
    #[default]
    Preset,
    /// Both clear: the walker sets them, or faults, and then the monitor does.
    Clear,
}

impl LeafStatus {
    /// Of a page that the guest may use as it likes.
    pub(super) const fn bits(self) -> LeafBits {
        match self {
            Self::Preset => LeafBits::RWX.with(LeafBits::of_access(Access::Write)),
            Self::Clear => LeafBits::RWX,
        }
    }
}

impl Backing {
    /// Whether the second stage can present RAM that lies at `ram`.
    pub(super) fn check(self, ram: &Range<Gpa>) -> Result<(), VmError> {
        match self {
            Self::Nested { page, .. } if !page_sizes(page).any(|size| size == page) => Err(VmError::PageSize(page)),
            Self::Nested { mode, .. } | Self::Direct { mode, .. } if ram.end.0 > 1 << mode.address_bits() => {
                let (bytes, bits) = (ram.end.0 - ram.start.0, mode.address_bits());
                Err(VmError::RamBeyondTable { bytes, bits })
            }
            Self::Flat { page, .. } if !matches!(page, PageSize::Size4K | PageSize::Size2M) => {
                Err(VmError::FlatPageSize(page))
            }
            Self::Native | Self::Nested { .. } | Self::Flat { .. } | Self::Reserved | Self::Direct { .. } => Ok(()),
        }
    }
}

/// What the hardware sees of where RAM lies.
#[derive(Debug)]
pub(super) enum Presentation {
    Native,
    /// A table that nested faults fill.
    Nested {
        table: HostTable,
        page: PageSize,
        bits: LeafBits,
    },
    /// A constant.
    Reserved,
    /// A segment, and a table for what is not in it.
    Direct {
        table: HostTable,
        segment: Box<Direct>,
    },
}

impl Presentation {
    /// What `backing` says of RAM that lies as `store` says.
    pub(super) fn new(
        host: &mut Host,
        vmid: Vmid,
        ram: &Range<Gpa>,
        store: Store,
        backing: Backing,
    ) -> Result<Self, VmError> {
        let Host { memory, frames, .. } = host;
        let (table, page, status) = match backing {
            Backing::Native => return Ok(Self::Native),
            Backing::Reserved => return Ok(Self::Reserved),
            Backing::Direct { mode, filter } => {
                let table = HostTable::Nested(NestedTable::new(memory, frames, mode, vmid)?);
                let frames = store.fixed(ram).ok_or(VmError::RamSize(ram.end.0 - ram.start.0))?;
                return Ok(Self::Direct { table, segment: Box::new(Direct::new(ram.start, frames, filter)) });
            }
            Backing::Nested { mode, page, status } => {
                (HostTable::Nested(NestedTable::new(memory, frames, mode, vmid)?), page, status)
            }
            Backing::Flat { page, status } => {
                let ram_bytes = ram.end.0 - ram.start.0;
                let table = FlatTable::new(memory, frames, ram, vmid).map_err(|problem| VmError::FlatTable {
                    bytes: problem.bytes,
                    ram_bytes,
                    problem,
                })?;
                (HostTable::Flat(table), page, status)
            }
        };
        Self::table(host, ram, store, table, (page, status))
    }

    /// A table that maps what of `ram` is fixed.
    fn table(
        host: &mut Host,
        ram: &Range<Gpa>,
        store: Store,
        mut table: HostTable,
        (page, status): (PageSize, LeafStatus),
    ) -> Result<Self, VmError> {
        let preset = LeafStatus::Preset.bits();
        let bits = status.bits();
        let mut gpa = ram.start;
        while gpa < ram.end
            && let Some(start) = store.hpa(gpa)
        {
            let size = largest_page(ram, gpa, page);
            // Nobody looks at status bits of a page that stays.
            match table.map(&host.memory, &mut host.frames, gpa, Leaf { page: start, size, bits: preset }) {
                Ok(()) => gpa = gpa.wrapping_add(size.bytes()),
                Err(MapError::OutOfFrames(error)) => {
                    table.free(&host.memory, &mut host.frames);
                    return Err(error.into());
                }
                Err(error) => unreachable!("RAM is within the table, aligned, and mapped once: {error}"),
            }
        }
        Ok(Self::Nested { table, page, bits })
    }
}

/// The sizes that a page of at most `largest` may have, descending.
pub(super) fn page_sizes(largest: PageSize) -> impl Iterator<Item = PageSize> {
    [PageSize::Size1G, PageSize::Size2M, PageSize::Size4K].into_iter().filter(move |&size| size <= largest)
}

/// The largest page of at most `largest` around `gpa` that lies wholly in RAM.
pub(super) fn largest_page(ram: &Range<Gpa>, gpa: Gpa, largest: PageSize) -> PageSize {
    page_sizes(largest)
        .find(|&size| {
            let start = gpa.page(size);
            start >= ram.start && start.checked_add(size.bytes()).is_some_and(|end| end <= ram.end)
        })
        .unwrap_or(PageSize::Size4K)
}
