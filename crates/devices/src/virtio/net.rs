//! The network device (section 5.1): one pair of queues, no offloads.

use super::device::{ConfigSpace, Device, QueueKind};
use super::queue::{MAX_REQUEST_BYTES, QueueFault, Request};
use std::fmt;
use std::io::Read;
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ids::VIRTIO_ID_NET;
use virtio_bindings::virtio_net::{VIRTIO_NET_F_MAC, VIRTIO_NET_F_STATUS, VIRTIO_NET_S_LINK_UP};

/// `struct virtio_net_hdr` before each frame (section 5.1.6), under VIRTIO_F_VERSION_1.
const HEADER_BYTES: usize = 12;

/// The header for a driver that does not accept VIRTIO_F_VERSION_1: it lacks `num_buffers` (section 5.1.6.1).
const LEGACY_HEADER_BYTES: usize = 10;

/// Longest frame: without offloads an Ethernet frame with one VLAN tag, or a jumbo frame; no driver sends more.
const LONGEST_FRAME: usize = 64 << 10;

/// The queue of buffers for frames that come in.
pub(crate) const RECEIVE: usize = 0;

/// Where the guest's frames go.
pub trait NetBackend: Send {
    /// Takes a frame, from the destination address to the end of the payload. A frame that cannot be sent is dropped.
    fn transmit(&mut self, frame: &[u8]);

    /// Whether frames wait there for someone to carry them on.
    fn holds_frames(&self) -> bool;
}

/// Drops every frame: a cable that leads nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DiscardFrames;

impl NetBackend for DiscardFrames {
    fn transmit(&mut self, _frame: &[u8]) {}

    fn holds_frames(&self) -> bool {
        false
    }
}

/// A virtio network card whose link is up.
pub struct Net {
    mac: [u8; 6],
    backend: Box<dyn NetBackend>,
    header_bytes: usize,
    frame: Vec<u8>,
}

impl fmt::Debug for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Net").field("mac", &self.mac).finish_non_exhaustive()
    }
}

impl Net {
    /// A card with address `mac` that sends to `backend`.
    #[must_use]
    pub fn new(mac: [u8; 6], backend: Box<dyn NetBackend>) -> Self {
        Self { mac, backend, header_bytes: HEADER_BYTES, frame: Vec::new() }
    }

    /// Sends to `backend` from now on.
    pub(crate) fn connect(&mut self, backend: Box<dyn NetBackend>) {
        self.backend = backend;
    }

    /// Whether frames that were sent wait for someone to carry them on.
    pub(crate) fn holds_frames(&self) -> bool {
        self.backend.holds_frames()
    }

    /// A frame as the driver gets it: behind its header, which says that the frame is in one buffer and needs no work.
    pub(crate) fn with_header(&self, frame: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; self.header_bytes + frame.len()];
        if self.header_bytes == HEADER_BYTES {
            // `num_buffers` (section 5.1.6.4.1).
            bytes[LEGACY_HEADER_BYTES] = 1;
        }
        bytes[self.header_bytes..].copy_from_slice(frame);
        bytes
    }

    /// The driver has accepted `features`.
    pub(super) fn set_features(&mut self, features: u64) {
        let version_1 = features >> VIRTIO_F_VERSION_1 & 1 != 0;
        self.header_bytes = if version_1 { HEADER_BYTES } else { LEGACY_HEADER_BYTES };
    }
}

impl Device for Net {
    fn name(&self) -> &'static str {
        "net"
    }

    fn id(&self) -> u32 {
        VIRTIO_ID_NET
    }

    fn features(&self) -> u64 {
        1 << VIRTIO_NET_F_MAC | 1 << VIRTIO_NET_F_STATUS
    }

    fn queues(&self) -> &'static [QueueKind] {
        &[QueueKind::Held, QueueKind::Served]
    }

    fn longest_request(&self) -> u64 {
        MAX_REQUEST_BYTES
    }

    fn config(&self) -> ConfigSpace {
        let mut config = [0; 64];
        config[0..6].copy_from_slice(&self.mac);
        config[6] = VIRTIO_NET_S_LINK_UP as u8;
        config
    }

    fn serve(&mut self, _queue: usize, request: &mut Request<'_>) -> Result<u32, QueueFault> {
        let mut header = [0; HEADER_BYTES];
        request.readable.read_exact(&mut header[..self.header_bytes]).map_err(|_| QueueFault::Request)?;
        let bytes = request.readable.available_bytes();
        if bytes <= LONGEST_FRAME {
            self.frame.resize(bytes, 0);
            request.readable.read_exact(&mut self.frame).map_err(|_| QueueFault::Request)?;
            self.backend.transmit(&self.frame);
        }
        Ok(0)
    }
}
