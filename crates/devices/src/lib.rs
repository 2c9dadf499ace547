//! The devices of a guest: UART, PLIC and virtio over MMIO, behind one [`Platform`], and the device tree that describes them.
//!
//! A device knows guest physical addresses only. What it reads and writes of guest memory goes through [`DmaMemory`], which the
//! hypervisor implements. Everything happens inside the guest's own access to a register: no threads, no clock, so runs repeat.
//!
//! The guest is hostile: whatever it writes to a register or a ring, the worst that happens is that the device concerned asks for
//! a reset (`DEVICE_NEEDS_RESET`) and counts why ([`QueueFault`]).
#![forbid(unsafe_code)]

mod bus;
mod device_tree;
mod dma;
pub mod map;
mod platform;
mod plic;
mod primary_region;
#[cfg(test)]
mod testing;
mod uart;
mod virtio;

pub use bus::BusError;
pub use device_tree::{TreeDescription, TreeError, TreeSection, device_tree, leave_room};
pub use dma::{DmaAccess, DmaError, DmaMemory};
pub use platform::{
    ConfigError, ConsoleInput, DeviceFault, DiskNotification, Platform, PlatformConfig, PlatformState, StateError,
};
pub use plic::PlicContexts;
pub use primary_region::{RegionRegisters, RegionRequest, RegionStatus};
pub use virtio::{
    Balloon, Block, BlockConfig, Console, DiscardFrames, DiskError, FileServer, FileSystem, ImageMode, Net, NetBackend,
    QueueFault, Rng, TAG_BYTES, VirtioDevice,
};
/// What [`DmaMemory`] hands out.
pub use vm_memory::VolatileSlice;
