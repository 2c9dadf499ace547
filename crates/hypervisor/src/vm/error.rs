//! Why a virtual machine cannot be made, or its memory not changed.

use memory::{FrameError, OutOfFrames};
use types::PageSize;

/// Why a VM cannot be made, or grown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VmError {
    /// Not a positive multiple of 4 KiB.
    #[error("guest memory of {0} bytes: the size must be a positive multiple of 4096")]
    RamSize(u64),
    /// More than the nested table translates.
    #[error("guest memory of {bytes} bytes ends beyond the {bits} bits of address of the nested table")]
    RamBeyondTable {
        /// Size of RAM.
        bytes: u64,
        /// Bits of guest physical address.
        bits: u32,
    },
    /// Not a size that a nested table maps here.
    #[error("the host cannot map pages of {0} (4K, 2M, 1G)")]
    PageSize(PageSize),
    /// Not a size that a flat table has entries for.
    #[error("a flat table cannot map pages of {0} (4K, 2M)")]
    FlatPageSize(PageSize),
    /// No free piece of host memory is as long as the flat table.
    #[error(
        "the flat table of {bytes} bytes for guest memory of {ram_bytes} must be contiguous in host memory: {problem}"
    )]
    FlatTable {
        /// Length of the table.
        bytes: u64,
        /// Size of RAM.
        ram_bytes: u64,
        /// What is there.
        problem: OutOfFrames,
    },
    /// A design of tables does not take what is asked of it: its own words.
    #[error("{0}")]
    Refused(&'static str),
    /// No free piece of host memory is as long as RAM.
    #[error("the memory of a `reserved` guest must be contiguous in host memory: {0}")]
    Reserved(OutOfFrames),
    /// No free piece of host memory is as long as the hypervisor's segment.
    #[error("the hypervisor's segment needs guest memory that is contiguous in host memory: {0}")]
    Segment(OutOfFrames),
    /// The host has no such memory, or another VM has it.
    #[error("the guest cannot have the whole host: {0}")]
    Native(FrameError),
    /// The host lacks the memory that a V=R machine needs at the addresses of its RAM, or another VM has it.
    #[error("memory_attribute: V=R is possible for one guest of a host, whose gPA equals hPA: {0}")]
    Real(FrameError),
    /// The host has no such piece for a V=Resident machine.
    #[error("memory_attribute: V=Resident needs guest RAM that is contiguous in host memory: {0}")]
    NotContiguous(OutOfFrames),
    /// Memory is added to a guest of which all has its place from the start.
    #[error("the guest's memory is fixed: no memory can be added")]
    Fixed,
    /// No frame for the nested table.
    #[error(transparent)]
    OutOfFrames(#[from] OutOfFrames),
}
