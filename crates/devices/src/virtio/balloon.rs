//! The memory balloon (section 5.5): the guest gives pages up to the host as it is asked, and takes them back.

use super::device::{ConfigSpace, Device, QueueKind};
use super::queue::{MAX_REQUEST_BYTES, QueueFault, Request};
use std::io::Read;
use types::Gpa;
use virtio_bindings::virtio_ids::VIRTIO_ID_BALLOON;

/// The queue of pages that the guest gives up; the other is of those that it takes back.
const INFLATE: usize = 0;

/// Bytes of a page number, whatever the guest's pages: that of 4 KiB (`VIRTIO_BALLOON_PFN_SHIFT`).
const NUMBER: usize = 4;
const SHIFT: u32 = 12;

/// Most page numbers of one request. Linux sends 256, Windows and the BSDs a page full.
const MOST: usize = 16 << 10;

/// Offset of `actual` in the configuration; before it is `num_pages`.
const ACTUAL: usize = 4;

/// A virtio memory balloon. It offers no feature: the guest need not tell before it takes a page back, and keeps its balloon when memory runs
/// short.
#[derive(Debug, Default)]
pub struct Balloon {
    /// `num_pages`: what the host asks for.
    target: u32,
    /// `actual`: what the guest says that it has given up.
    actual: u32,
    given_up: Vec<Gpa>,
}

impl Balloon {
    /// A balloon that asks for nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for this many pages of 4 KiB in all; true if that is another number.
    pub(crate) fn ask_for(&mut self, pages: u32) -> bool {
        std::mem::replace(&mut self.target, pages) != pages
    }

    /// What is asked for, in pages of 4 KiB.
    pub(crate) fn target(&self) -> u32 {
        self.target
    }

    /// Sets what is asked for, and what the guest says to have given up.
    pub(crate) fn set_state(&mut self, target: u32, actual: u32) {
        (self.target, self.actual) = (target, actual);
    }

    /// Pages that the driver says to have given up.
    pub(crate) fn actual(&self) -> u32 {
        self.actual
    }

    /// Takes the pages that the guest has given up since this was last asked, in its order: any addresses at all, some perhaps twice.
    pub(crate) fn take_given_up(&mut self) -> Vec<Gpa> {
        std::mem::take(&mut self.given_up)
    }

    /// The driver writes `bytes` to the configuration from `offset` on. Only `actual` can be written.
    pub(crate) fn write_config(&mut self, offset: u64, bytes: &[u8]) {
        let mut actual = self.actual.to_le_bytes();
        for (at, &byte) in (offset..).zip(bytes) {
            let index = usize::try_from(at).ok().and_then(|at| at.checked_sub(ACTUAL));
            if let Some(place) = index.and_then(|index| actual.get_mut(index)) {
                *place = byte;
            }
        }
        self.actual = u32::from_le_bytes(actual);
    }
}

impl Device for Balloon {
    fn name(&self) -> &'static str {
        "balloon"
    }

    fn id(&self) -> u32 {
        VIRTIO_ID_BALLOON
    }

    fn features(&self) -> u64 {
        0
    }

    fn queues(&self) -> &'static [QueueKind] {
        &[QueueKind::Served, QueueKind::Served]
    }

    fn longest_request(&self) -> u64 {
        MAX_REQUEST_BYTES
    }

    fn config(&self) -> ConfigSpace {
        let mut config = [0; 64];
        config[..ACTUAL].copy_from_slice(&self.target.to_le_bytes());
        config[ACTUAL..ACTUAL + 4].copy_from_slice(&self.actual.to_le_bytes());
        config
    }

    fn serve(&mut self, queue: usize, request: &mut Request<'_>) -> Result<u32, QueueFault> {
        let bytes = request.readable.available_bytes();
        if !bytes.is_multiple_of(NUMBER) {
            return Err(QueueFault::Request);
        }
        if bytes / NUMBER > MOST {
            return Err(QueueFault::TooLong);
        }
        let mut numbers = vec![0; bytes];
        request.readable.read_exact(&mut numbers).map_err(|_| QueueFault::Request)?;
        // A page that is taken back is one that is touched: there is nothing to do for it.
        if queue == INFLATE {
            let (numbers, _) = numbers.as_chunks::<NUMBER>();
            self.given_up.extend(numbers.iter().map(|&number| Gpa(u64::from(u32::from_le_bytes(number)) << SHIFT)));
        }
        Ok(0)
    }
}
