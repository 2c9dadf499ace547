//! Virtio devices over MMIO (Virtual I/O Device (VIRTIO) Version 1.2; sections are cited from it).
//!
//! [`mmio`] is the transport's registers, [`queue`] takes requests off a ring, and each device is a file of its own that sees
//! whole requests only.

mod balloon;
mod block;
mod console;
mod device;
mod disk;
mod file_system;
mod mmio;
mod net;
mod queue;
mod rng;
mod virtio_device;

pub use balloon::Balloon;
pub use block::Block;
pub use console::Console;
pub(crate) use console::RECEIVE as CONSOLE_RECEIVE;
pub use disk::{BlockConfig, DiskError, ImageMode};
pub use file_system::{FileServer, FileSystem, TAG_BYTES};
pub(crate) use mmio::{CONFIG, MmioSlot, QUEUE_NOTIFY, SlotState, read_empty};
pub(crate) use net::RECEIVE as NET_RECEIVE;
pub use net::{DiscardFrames, Net, NetBackend};
pub use queue::QueueFault;
pub use rng::Rng;
pub use virtio_device::VirtioDevice;
