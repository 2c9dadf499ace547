//! Experiments on very large sections, as in Noel and Karkhanis, "OpenVMS Alpha 64-bit Very Large Memory Design" (1998): what the tables of many mappers
//! take, how long many VMs take to start, and what granularity does for the TLB. No guest runs: VMs have nested tables and no harts, and the hypervisor's
//! work is counted and charged by a host model.

pub mod figures;
mod gups;
mod mappers;
mod shadow;

pub use gups::{GupsMisses, gups};
pub use mappers::{Mappers, Sharing, shared_table_bytes};
pub use shadow::{ShadowMemory, shadow_memory};

use hypervisor::section::{SectionCreateError, SectionMapError, SectionUnmapError};
use memory::OutOfFrames;

/// Why an experiment cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum VlmError {
    /// This machine has not the address space for the simulated host.
    #[error(transparent)]
    Memory(#[from] memory::MapError),
    /// The registry's name or size.
    #[error("a section of {0} bytes cannot be reserved")]
    Section(u64),
    /// The registry's pages.
    #[error(transparent)]
    Frames(#[from] memory::FrameError),
    /// A VM's root table.
    #[error(transparent)]
    OutOfFrames(#[from] OutOfFrames),
    /// A guest with shadow tables.
    #[error("a guest: {0}")]
    Guest(String),
    /// The section.
    #[error(transparent)]
    Create(#[from] SectionCreateError),
    /// A VM.
    #[error(transparent)]
    Map(#[from] SectionMapError),
    /// Its end.
    #[error(transparent)]
    Unmap(#[from] SectionUnmapError),
    /// The host's model.
    #[error("{0}")]
    Host(String),
    /// The processor.
    #[error("mmu.{0}")]
    Mmu(#[from] mmu::ConfigError),
}

#[cfg(test)]
mod tests;
