//! What boots.

use devices::BlockConfig;
use files::Root;
use std::sync::Arc;
use types::Gpa;

/// What boots.
#[derive(Clone, Debug)]
pub struct Image {
    /// The content of the kernel's file: ELF, a flat Image, or with [`Self::load_address`] any binary.
    pub kernel: Arc<[u8]>,
    /// The name of that file, for errors.
    pub kernel_name: String,
    /// Where a flat binary without a header is loaded and entered; `None` for a kernel whose format says so.
    pub load_address: Option<Gpa>,
    /// The root file system.
    pub initrd: Option<Arc<[u8]>>,
    /// The kernel's command line.
    pub command_line: String,
    /// Bytes of memory without which it does not boot.
    pub least_memory: u64,
    /// Virtio devices, at most eight, in the order of their slots.
    pub devices: Vec<VirtioKind>,
}

/// A virtio device to attach.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VirtioKind {
    /// A console beside the UART.
    Console,
    /// A disk.
    Block(BlockConfig),
    /// A network card; its frames go nowhere until [`Machine::connect`](crate::Machine::connect).
    Net,
    /// A source of (repeatable) randomness.
    Rng,
    /// A memory balloon.
    Balloon,
    /// A directory of the host.
    Share(Share),
}

/// A directory of the host, for a guest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Share {
    /// The name by which the guest mounts it, at most [`devices::TAG_BYTES`] bytes.
    pub tag: String,
    /// The directory, open.
    pub root: Root,
}
