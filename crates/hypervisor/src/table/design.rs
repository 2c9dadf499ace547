//! Designs of second-stage tables: what makes the table of each VM.

use super::flat::FlatTable;
use super::host::HostTable;
use super::nested::NestedTable;
use crate::vm::VmError;
use core::fmt::Debug;
use core::ops::Range;
use memory::{Host, OutOfFrames};
use types::{Gpa, PageSize, SecondStageMode, Vmid};

/// What a table is made for.
#[derive(Clone, Debug)]
pub struct TableRequest {
    /// The VM.
    pub vmid: Vmid,
    /// Its RAM.
    pub ram: Range<Gpa>,
    /// The mode that trees have.
    pub mode: SecondStageMode,
    /// The largest page that is to be mapped.
    pub page: PageSize,
}

impl TableRequest {
    /// Size of RAM, in bytes.
    #[must_use]
    pub const fn ram_bytes(&self) -> u64 {
        self.ram.end.0 - self.ram.start.0
    }
}

/// A design of second-stage tables.
pub trait TableDesign: Debug + Sync {
    /// Whether there can be such a table.
    ///
    /// # Errors
    /// [`VmError`], which says why not.
    fn check(&self, request: &TableRequest) -> Result<(), VmError>;

    /// Bytes of host memory that are enough for the table of so much RAM.
    fn bytes(&self, ram_bytes: u64) -> u64;

    /// A table that maps nothing.
    ///
    /// # Errors
    /// [`VmError`]: nothing was taken.
    fn make(&self, host: &mut Host, request: &TableRequest) -> Result<Box<dyn HostTable>, VmError>;

    /// Bits of guest physical address below which sections can be.
    fn section_bits(&self, mode: SecondStageMode) -> u32 {
        mode.address_bits()
    }

    /// Bytes of host memory for entries of `range`, where the table is as long as what it maps.
    fn bytes_of_range(&self, range: &Range<Gpa>) -> Option<u64> {
        let _ = range;
        None
    }
}

/// Radix tables (RISC-V Privileged 1.13, section 19.5.1).
#[derive(Debug)]
pub struct NestedTables;

impl TableDesign for NestedTables {
    fn check(&self, request: &TableRequest) -> Result<(), VmError> {
        let TableRequest { ram, mode, page, .. } = request;
        if !matches!(page, PageSize::Size4K | PageSize::Size2M | PageSize::Size1G) {
            return Err(VmError::PageSize(*page));
        }
        if ram.end.0 > 1 << mode.address_bits() {
            return Err(VmError::RamBeyondTable { bytes: request.ram_bytes(), bits: mode.address_bits() });
        }
        Ok(())
    }

    /// An eighth of a table page for each 4K page is 8 bytes in 4096; the levels above and the root are less than 2M more.
    fn bytes(&self, ram_bytes: u64) -> u64 {
        ram_bytes / 512 + PageSize::Size2M.bytes()
    }

    fn make(&self, host: &mut Host, request: &TableRequest) -> Result<Box<dyn HostTable>, VmError> {
        let table = NestedTable::new(&host.memory, &mut host.frames, request.mode, request.vmid)?;
        Ok(Box::new(table))
    }
}

/// One entry for each page of the guest, in one piece (Sha et al. 2022, section 3.2).
#[derive(Debug)]
pub struct FlatTables;

impl FlatTables {
    /// Bits of address: a table with an entry for every page below is half a gigabyte long.
    const ADDRESS_BITS: u32 = 38;
}

impl TableDesign for FlatTables {
    fn check(&self, request: &TableRequest) -> Result<(), VmError> {
        match request.page {
            PageSize::Size4K | PageSize::Size2M => Ok(()),
            page => Err(VmError::FlatPageSize(page)),
        }
    }

    fn bytes(&self, ram_bytes: u64) -> u64 {
        ram_bytes / 512 + PageSize::Size4K.bytes()
    }

    fn make(&self, host: &mut Host, request: &TableRequest) -> Result<Box<dyn HostTable>, VmError> {
        let no_room = |problem: OutOfFrames| {
            let (bytes, ram_bytes) = (problem.bytes, request.ram_bytes());
            VmError::FlatTable { bytes, ram_bytes, problem }
        };
        let table = FlatTable::new(&host.memory, &mut host.frames, &request.ram).map_err(no_room)?;
        Ok(Box::new(table))
    }

    fn section_bits(&self, _: SecondStageMode) -> u32 {
        Self::ADDRESS_BITS
    }

    fn bytes_of_range(&self, range: &Range<Gpa>) -> Option<u64> {
        Some((range.end.0 - range.start.0) / 512 + PageSize::Size4K.bytes())
    }
}
