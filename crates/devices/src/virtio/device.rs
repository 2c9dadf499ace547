//! What the transport needs of a device.

use super::queue::{QueueFault, Request};

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
