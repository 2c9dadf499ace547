//! What the hardware is shown of where a virtual machine's RAM lies: nothing, a table, a constant, or a segment with a table beside it. A further
//! kind of table is a [`TableDesign`], in a file or a crate of its own.

use super::attribute::Store;
use super::direct::{Direct, FilterSize};
use super::error::VmError;
use super::page_sizes::largest_page;
use crate::table::{FlatTables, HostTable, Leaf, LeafBits, MapError, NestedTables, TableDesign, TableRequest};
use core::ops::Range;
use memory::Host;
use types::{Access, Gpa, PageSize, SecondStageMode, Vmid};

/// How a guest's second stage is presented to the hardware.
#[derive(Clone, Copy, Debug)]
pub enum Backing {
    /// The host is the guest's: hPA = gPA. There is no hypervisor below it.
    Native,
    /// A table: what is fixed is mapped from the start, and pages of a V=V machine when they are first touched.
    Table {
        /// What makes it.
        design: &'static dyn TableDesign,
        /// The mode of trees.
        mode: SecondStageMode,
        /// The largest page that is mapped: 4K, 2M or 1G. Where the end of RAM cuts one off, smaller ones take its place.
        page: PageSize,
        /// A and D bits of a page that is mapped.
        status: LeafStatus,
    },
    /// No table, but one constant: RAM is in one piece, V=Resident at the least.
    Reserved,
    /// The hypervisor's segment, over all the memory that is there from the start, in one piece; and a nested table, of pages of 4K, for what is
    /// added later and for what escapes.
    Direct {
        /// Shape of the table.
        mode: SecondStageMode,
        /// Size of the segment's escape filter.
        filter: FilterSize,
    },
}

impl Backing {
    /// A nested table.
    #[must_use]
    pub const fn nested(mode: SecondStageMode, page: PageSize, status: LeafStatus) -> Self {
        Self::Table { design: &NestedTables, mode, page, status }
    }

    /// A flat table.
    #[must_use]
    pub const fn flat(page: PageSize, status: LeafStatus) -> Self {
        Self::Table { design: &FlatTables, mode: SecondStageMode::Sv39x4, page, status }
    }

    /// What makes the guest's table, and its mode; `None` where it has none.
    #[must_use]
    pub fn design(&self) -> Option<(&'static dyn TableDesign, SecondStageMode)> {
        match *self {
            Self::Table { design, mode, .. } => Some((design, mode)),
            Self::Direct { mode, .. } => Some((&NestedTables, mode)),
            Self::Native | Self::Reserved => None,
        }
    }
}

/// A and D bits of a second-stage leaf when it is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LeafStatus {
    /// Both set: they are never read, and no walk has to write them.
    #[default]
    Preset,
    /// Both clear: the walker sets them, or faults, and then the hypervisor does.
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
    /// Whether the second stage can present RAM of VM `vmid` that lies at `ram`.
    pub(super) fn check(&self, vmid: Vmid, ram: &Range<Gpa>) -> Result<(), VmError> {
        let page = match self {
            Self::Table { page, .. } => *page,
            Self::Native | Self::Reserved | Self::Direct { .. } => PageSize::Size4K,
        };
        let Some((design, mode)) = self.design() else { return Ok(()) };
        design.check(&TableRequest { vmid, ram: ram.clone(), mode, page })
    }
}

/// What the hardware sees of where RAM lies.
#[derive(Debug)]
pub(super) enum Presentation {
    Native,
    /// A table that nested faults fill.
    Table {
        table: Box<dyn HostTable>,
        page: PageSize,
        bits: LeafBits,
    },
    /// A constant.
    Reserved,
    /// A segment, and a table for what is not in it.
    Direct {
        table: Box<dyn HostTable>,
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
        match backing {
            Backing::Native => Ok(Self::Native),
            Backing::Reserved => Ok(Self::Reserved),
            Backing::Direct { mode, filter } => {
                let request = TableRequest { vmid, ram: ram.clone(), mode, page: PageSize::Size4K };
                let table = NestedTables.make(host, &request)?;
                let frames = store.fixed(ram).ok_or(VmError::RamSize(ram.end.0 - ram.start.0))?;
                Ok(Self::Direct { table, segment: Box::new(Direct::new(ram.start, frames, filter)) })
            }
            Backing::Table { design, mode, page, status } => {
                let table = design.make(host, &TableRequest { vmid, ram: ram.clone(), mode, page })?;
                Self::table(host, ram, store, table, (page, status))
            }
        }
    }

    /// A table that maps what of `ram` is fixed.
    fn table(
        host: &mut Host,
        ram: &Range<Gpa>,
        store: Store,
        mut table: Box<dyn HostTable>,
        (page, status): (PageSize, LeafStatus),
    ) -> Result<Self, VmError> {
        let preset = LeafStatus::Preset.bits();
        let bits = status.bits();
        let mut gpa = ram.start;
        while gpa < ram.end
            && let Some(start) = store.hpa(gpa)
        {
            let size = largest_page(ram, gpa, page);
            // Status bits of a page that stays are never read.
            match table.map(&host.memory, &mut host.frames, gpa, Leaf { page: start, size, bits: preset }) {
                Ok(()) => gpa = gpa.wrapping_add(size.bytes()),
                Err(MapError::OutOfFrames(error)) => {
                    table.free(&host.memory, &mut host.frames);
                    return Err(error.into());
                }
                Err(error) => unreachable!("RAM is within the table, aligned, and mapped once: {error}"),
            }
        }
        Ok(Self::Table { table, page, bits })
    }
}
