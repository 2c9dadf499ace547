//! The entropy device (section 5.4), fed by a seed so that runs repeat.

use super::device::{ConfigSpace, Device, QueueKind};
use super::queue::{MAX_REQUEST_BYTES, QueueFault, Request};
use std::io::Write;
use types::SplitMix64;
use virtio_bindings::virtio_ids::VIRTIO_ID_RNG;

/// Most bytes for one request; a device may give fewer than asked.
const MOST: usize = 64 << 10;

/// A virtio entropy device.
#[derive(Debug)]
pub struct Rng {
    random: SplitMix64,
}

impl Rng {
    /// The device that gives the bytes of `seed`; a reset of the device does not start them again.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { random: SplitMix64::new(seed) }
    }

    /// Where the generator is.
    pub(crate) fn state(&self) -> u64 {
        self.random.state()
    }

    /// Goes on from there.
    pub(crate) fn set_state(&mut self, state: u64) {
        self.random = SplitMix64::new(state);
    }
}

impl Device for Rng {
    fn name(&self) -> &'static str {
        "rng"
    }

    fn id(&self) -> u32 {
        VIRTIO_ID_RNG
    }

    fn features(&self) -> u64 {
        0
    }

    fn queues(&self) -> &'static [QueueKind] {
        &[QueueKind::Served]
    }

    fn longest_request(&self) -> u64 {
        MAX_REQUEST_BYTES
    }

    fn config(&self) -> ConfigSpace {
        [0; 64]
    }

    fn serve(&mut self, _queue: usize, request: &mut Request<'_>) -> Result<u32, QueueFault> {
        let mut bytes = vec![0; request.writable.available_bytes().min(MOST)];
        self.random.fill(&mut bytes);
        request.writable.write_all(&bytes).map_err(|_| QueueFault::Request)?;
        Ok(bytes.len() as u32)
    }
}
