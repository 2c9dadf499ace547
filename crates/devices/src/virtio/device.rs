//! What the transport needs of a device, and the closed set of devices.

use super::queue::{QueueFault, Request};
use super::{Balloon, Block, Console, Net, Rng};

/// A device's configuration space; what a device does not define reads as 0.
pub(crate) type ConfigSpace = [u8; 64];

/// What a notification of a queue means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QueueKind {
    /// The driver's requests: served at once.
    Served,
    /// Buffers for what comes from outside: held until it comes.
    Held,
}

/// One kind of virtio device, behind the transport.
pub(crate) trait Device {
    /// The device's name in reports.
    fn name(&self) -> &'static str;

    /// Device ID (section 5).
    fn id(&self) -> u32;

    /// Feature bits 0 to 23 and 50 to 127 that the device offers; the transport adds its own.
    fn features(&self) -> u64;

    /// The device's queues, in order.
    fn queues(&self) -> &'static [QueueKind];

    /// Most bytes of a request.
    fn longest_request(&self) -> u64;

    /// The configuration space as it is now.
    fn config(&self) -> ConfigSpace;

    /// Serves one request of a [`QueueKind::Served`] queue; returns how many bytes from its writable start were written.
    fn serve(&mut self, queue: usize, request: &mut Request<'_>) -> Result<u32, QueueFault>;
}

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
}

impl VirtioDevice {
    pub(crate) fn device(&self) -> &dyn Device {
        match self {
            Self::Console(device) => device,
            Self::Block(device) => device,
            Self::Net(device) => device,
            Self::Rng(device) => device,
            Self::Balloon(device) => device,
        }
    }

    pub(crate) fn device_mut(&mut self) -> &mut dyn Device {
        match self {
            Self::Console(device) => device,
            Self::Block(device) => device,
            Self::Net(device) => device,
            Self::Rng(device) => device,
            Self::Balloon(device) => device,
        }
    }

    /// The driver has accepted `features`, and no more can follow before a reset. A network card's header depends on them alone.
    pub(crate) fn set_features(&mut self, features: u64) {
        match self {
            Self::Net(net) => net.set_features(features),
            Self::Console(_) | Self::Block(_) | Self::Rng(_) | Self::Balloon(_) => {}
        }
    }

    /// The driver writes `bytes` to the configuration space from `offset` on. Only a balloon has a field that a driver may change.
    pub(crate) fn write_config(&mut self, offset: u64, bytes: &[u8]) {
        match self {
            Self::Balloon(balloon) => balloon.write_config(offset, bytes),
            Self::Console(_) | Self::Block(_) | Self::Net(_) | Self::Rng(_) => {}
        }
    }
}
