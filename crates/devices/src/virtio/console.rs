//! The console device (section 5.3): one port, whose size in characters may be known.

use super::device::{ConfigSpace, Device, QueueKind};
use super::queue::{MAX_REQUEST_BYTES, QueueFault, Request};
use std::io::Read;
use virtio_bindings::virtio_ids::VIRTIO_ID_CONSOLE;

/// VIRTIO_CONSOLE_F_SIZE: the configuration's columns and rows are valid.
const FEATURE_SIZE: u64 = 1 << 0;

/// The receive queue: buffers for what the user types.
pub(crate) const RECEIVE: usize = 0;

/// A virtio console.
#[derive(Debug)]
pub struct Console {
    columns: u16,
    rows: u16,
    output: Vec<u8>,
}

impl Default for Console {
    fn default() -> Self {
        Self::new()
    }
}

impl Console {
    /// A console of 80 columns and 25 rows.
    #[must_use]
    pub fn new() -> Self {
        Self { columns: 80, rows: 25, output: Vec::new() }
    }

    /// Columns and rows in characters.
    pub(crate) fn size(&self) -> (u16, u16) {
        (self.columns, self.rows)
    }

    /// Sets the size in characters; true if it changed.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) -> bool {
        let changed = (columns, rows) != (self.columns, self.rows);
        (self.columns, self.rows) = (columns, rows);
        changed
    }

    /// Moves what the driver has sent to the end of `output`.
    pub(crate) fn drain(&mut self, output: &mut Vec<u8>) {
        output.append(&mut self.output);
    }
}

impl Device for Console {
    fn name(&self) -> &'static str {
        "console"
    }

    fn id(&self) -> u32 {
        VIRTIO_ID_CONSOLE
    }

    fn features(&self) -> u64 {
        FEATURE_SIZE
    }

    fn queues(&self) -> &'static [QueueKind] {
        &[QueueKind::Held, QueueKind::Served]
    }

    fn longest_request(&self) -> u64 {
        MAX_REQUEST_BYTES
    }

    fn config(&self) -> ConfigSpace {
        let mut config = [0; 64];
        config[0..2].copy_from_slice(&self.columns.to_le_bytes());
        config[2..4].copy_from_slice(&self.rows.to_le_bytes());
        config
    }

    fn serve(&mut self, _queue: usize, request: &mut Request<'_>) -> Result<u32, QueueFault> {
        request.readable.read_to_end(&mut self.output).map_err(|_| QueueFault::Request)?;
        Ok(0)
    }
}
