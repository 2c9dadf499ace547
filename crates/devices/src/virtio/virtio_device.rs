//! The closed set of devices.

use super::balloon::Balloon;
use super::block::Block;
use super::console::Console;
use super::device::Device;
use super::file_system::FileSystem;
use super::net::Net;
use super::rng::Rng;

/// A virtio device, for one slot of the platform.
#[derive(Debug)]
pub enum VirtioDevice {
    /// A console.
    Console(Console),
    /// A disk.
    Block(Block),
    /// A network card.
    Net(Net),
    /// A source of random bytes.
    Rng(Rng),
    /// A memory balloon.
    Balloon(Balloon),
    /// A directory of the host.
    FileSystem(FileSystem),
}

impl VirtioDevice {
    pub(crate) fn device(&self) -> &dyn Device {
        match self {
            Self::Console(device) => device,
            Self::Block(device) => device,
            Self::Net(device) => device,
            Self::Rng(device) => device,
            Self::Balloon(device) => device,
            Self::FileSystem(device) => device,
        }
    }

    pub(crate) fn device_mut(&mut self) -> &mut dyn Device {
        match self {
            Self::Console(device) => device,
            Self::Block(device) => device,
            Self::Net(device) => device,
            Self::Rng(device) => device,
            Self::Balloon(device) => device,
            Self::FileSystem(device) => device,
        }
    }

    /// The driver has accepted `features`, and no more can follow before a reset. A network card's header depends on them alone.
    pub(crate) fn set_features(&mut self, features: u64) {
        match self {
            Self::Net(net) => net.set_features(features),
            Self::Console(_) | Self::Block(_) | Self::Rng(_) | Self::Balloon(_) | Self::FileSystem(_) => {}
        }
    }

    /// The driver writes `bytes` to the configuration space from `offset` on. Only a balloon has a field that a driver may change.
    pub(crate) fn write_config(&mut self, offset: u64, bytes: &[u8]) {
        match self {
            Self::Balloon(balloon) => balloon.write_config(offset, bytes),
            Self::Console(_) | Self::Block(_) | Self::Net(_) | Self::Rng(_) | Self::FileSystem(_) => {}
        }
    }
}
