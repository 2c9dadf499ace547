//! Why a machine cannot be put together.

use crate::loader::LoadError;
use config::ConfigError;
use config::host_model::HostModelError;
use devices::DiskError;
use hypervisor::sched::AllocationError;
use hypervisor::section::{SectionCreateError, SectionMapError};
use hypervisor::{GuestMemoryError, PageUnavailable, VmError};
use memory::registry::SectionName;
use memory::section::BackingError;
use std::path::PathBuf;

/// Why a machine cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The host model.
    #[error(transparent)]
    Host(#[from] HostModelError),
    /// A key of the configuration that the scheme or the host contradicts.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The kernel, or too little memory for it.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The TLBs.
    #[error("mmu.{0}")]
    Mmu(#[from] mmu::ConfigError),
    /// The devices.
    #[error(transparent)]
    Platform(#[from] devices::ConfigError),
    /// The device tree.
    #[error(transparent)]
    Tree(#[from] devices::TreeError),
    /// Host memory.
    #[error("host memory: {0}")]
    Memory(#[from] memory::MapError),
    /// The virtual machine.
    #[error(transparent)]
    Vm(#[from] VmError),
    /// pCPUs.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// The guest's memory.
    #[error(transparent)]
    GuestMemory(#[from] GuestMemoryError),
    /// The host's memory does not suffice for what is loaded.
    #[error("the guest cannot be loaded: {0}")]
    Page(#[from] PageUnavailable),
    /// Frames of the host, before anybody has any.
    #[error("reserved memory: {0}")]
    Frames(#[from] memory::FrameError),
    /// A guest under this scheme maps no sections.
    #[error("sections: scheme {scheme} maps none: {why}")]
    SectionScheme {
        /// The scheme.
        scheme: &'static str,
        /// What it lacks.
        why: &'static str,
    },
    /// A section.
    #[error(transparent)]
    Section(#[from] SectionCreateError),
    /// A section's file.
    #[error("section {name}: {error}")]
    SectionFile {
        /// The section.
        name: SectionName,
        /// Why.
        error: BackingError,
    },
    /// A section in a guest.
    #[error(transparent)]
    SectionMap(#[from] SectionMapError),
    /// The first contents of memory, in a snapshot.
    #[error("the snapshot's memory cannot be read: {0}")]
    SnapshotMemory(std::io::Error),
    /// Devices, in a snapshot.
    #[error("the snapshot is not valid: {0}")]
    SnapshotDevices(#[from] devices::StateError),
    /// Disks, in a snapshot.
    #[error("the snapshot's guest has disks whose contents are not in it")]
    SnapshotDisks,
    /// The primary region, in a snapshot.
    #[error("the snapshot is not valid: its primary region is not possible on this guest")]
    SnapshotRegion,
    /// The swap file cannot be made.
    #[error("swap.directory: no swap file in {}: {error}", .directory.display())]
    Swap {
        /// Where.
        directory: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

impl BuildError {
    /// Whether the user asked for something that cannot be, rather than the host being out of something.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        !matches!(self, Self::Memory(_) | Self::Page(_) | Self::SnapshotMemory(_))
    }
}
