//! A split virtqueue (section 2.7): takes requests off the ring, checks all of each before any byte of it moves, and returns them.
//!
//! `virtio-queue` walks the rings. It ends a malformed chain early without saying so; here a chain that ends where its
//! last descriptor says it goes on, or that breaks a rule of section 2.7.5, is a [`QueueFault`].
//!
//! The work of one notification is bounded: at most one ring of chains, each at most one ring of descriptors and
//! [`Limits::bytes`] long, whatever the ring, or a ring that a request overwrites, may say.

use crate::dma::{DmaMemory, Ram};
use std::sync::atomic::Ordering;
use types::Gpa;
use virtio_bindings::virtio_ring::VRING_AVAIL_F_NO_INTERRUPT;
use virtio_queue::{DescriptorChain, Queue, QueueOwnedT, QueueT, Reader, Writer};
use vm_memory::{Bytes, GuestAddress, GuestMemoryError};

/// Entries of the longest ring that a driver may set up.
pub(crate) const MAX_QUEUE_SIZE: u16 = 256;

/// Most bytes of one request of a device that keeps all of it in memory.
pub(crate) const MAX_REQUEST_BYTES: u64 = 4 << 20;

/// What bounds the work of one notification.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Most requests.
    pub(crate) requests: u16,
    /// Most bytes of each.
    pub(crate) bytes: u64,
}

/// What a driver did wrong with a queue. The device then asks for a reset (section 2.1.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, thiserror::Error)]
pub enum QueueFault {
    /// The size is 0, no power of two, or above the maximum.
    #[error("queue size is not a power of two up to the maximum")]
    Size,
    /// A part of the queue is misaligned or outside RAM.
    #[error("a ring is misaligned or outside RAM")]
    RingAddress,
    /// The available ring offers more chains than the queue has descriptors.
    #[error("available index is ahead of the queue by more than its size")]
    AvailableIndex,
    /// A chain starts at a descriptor that does not exist.
    #[error("the first descriptor of a chain is outside the descriptor table")]
    HeadIndex,
    /// A chain loops, leaves its table, or has a malformed indirect table.
    #[error("malformed descriptor chain")]
    Chain,
    /// A descriptor for the device to read follows one for it to write.
    #[error("readable descriptor after a writable one")]
    Order,
    /// A buffer is outside RAM.
    #[error("buffer outside RAM")]
    BufferAddress,
    /// A request is longer than any that the device takes: 4 MiB, or 128 MiB of a disk.
    #[error("request too long")]
    TooLong,
    /// A request lacks a part that its device's protocol demands.
    #[error("malformed request")]
    Request,
    /// The host has no frame for a page of the queue or of a buffer.
    #[error("host memory exhausted")]
    HostMemory,
}

impl QueueFault {
    /// The fault that a failed access to memory means, where the guest is to blame for `guest`.
    fn of_memory(error: &GuestMemoryError, guest: Self) -> Self {
        match error {
            GuestMemoryError::HostAddressNotAvailable => Self::HostMemory,
            _ => guest,
        }
    }

    fn of_queue(error: &virtio_queue::Error, guest: Self) -> Self {
        match error {
            virtio_queue::Error::GuestMemory(error) | virtio_queue::Error::GuestMemoryError(error) => {
                Self::of_memory(error, guest)
            }
            virtio_queue::Error::InvalidAvailRingIndex => Self::AvailableIndex,
            virtio_queue::Error::InvalidDescriptorIndex => Self::HeadIndex,
            _ => guest,
        }
    }
}

/// One request: a checked chain. Every byte of it is RAM that has a frame.
pub(crate) struct Request<'m> {
    /// What the driver wrote for the device.
    pub(crate) readable: Reader<'m>,
    /// What the device writes for the driver.
    pub(crate) writable: Writer<'m>,
}

impl<'m> Request<'m> {
    fn new(ram: &'m Ram<'m>, chain: &DescriptorChain<&Ram<'m>>, size: u16, bytes: u64) -> Result<Self, QueueFault> {
        check(*ram, chain.clone(), size, bytes)?;
        let fault = |error| QueueFault::of_queue(&error, QueueFault::BufferAddress);
        Ok(Self {
            readable: Reader::new(ram, chain.clone()).map_err(fault)?,
            writable: Writer::new(ram, chain.clone()).map_err(fault)?,
        })
    }
}

/// Checks the rules of a chain of at most `size` descriptors and `most` bytes. Fills no page of a buffer.
fn check(ram: Ram<'_>, chain: DescriptorChain<&Ram<'_>>, size: u16, most: u64) -> Result<(), QueueFault> {
    let mut bytes = 0;
    let mut writable = false;
    // True where the driver promised another descriptor, as it does for the first.
    let mut goes_on = true;
    for descriptor in chain.take(usize::from(size)) {
        if writable && !descriptor.is_write_only() {
            return Err(QueueFault::Order);
        }
        writable = descriptor.is_write_only();
        bytes += u64::from(descriptor.len());
        if bytes > most {
            return Err(QueueFault::TooLong);
        }
        if !ram.0.contains(Gpa(descriptor.addr().0), u64::from(descriptor.len())) {
            return Err(QueueFault::BufferAddress);
        }
        goes_on = descriptor.has_next();
    }
    if goes_on { Err(QueueFault::Chain) } else { Ok(()) }
}

/// What serving a queue came to.
#[must_use]
pub(crate) struct Outcome {
    /// The driver wants an interrupt for what was returned to it.
    pub(crate) interrupt: bool,
    /// The queue, or a request in it, is broken.
    pub(crate) fault: Option<QueueFault>,
}

/// Passes requests within `limits`, and at most those that are available now, to `serve`, which returns the bytes it wrote.
pub(crate) fn serve(
    queue: &mut Queue,
    memory: &dyn DmaMemory,
    limits: Limits,
    mut serve: impl FnMut(&mut Request<'_>) -> Result<u32, QueueFault>,
) -> Outcome {
    let ram = Ram(memory);
    let mut returned = 0;
    let mut fault = None;
    let available = available(queue, &ram).unwrap_or_else(|cause| {
        fault = Some(cause);
        0
    });
    for _ in 0..available.min(limits.requests) {
        match serve_one(queue, &ram, limits.bytes, &mut serve) {
            Ok(()) => returned += 1,
            Err(cause) => {
                fault = Some(cause);
                break;
            }
        }
    }
    let interrupt = notification(queue, &ram, returned).unwrap_or_else(|cause| {
        fault = fault.or(Some(cause));
        true
    });
    Outcome { interrupt, fault }
}

/// Requests that the driver offers now, at most a ring of them; one where that cannot be told, so that the device finds out why when it serves it.
pub(crate) fn waiting(queue: &Queue, memory: &dyn DmaMemory) -> u16 {
    available(queue, &Ram(memory)).unwrap_or(1).min(MAX_QUEUE_SIZE)
}

/// Chains that the driver offers now. More than the queue has room for are refused with the first of them, in `serve_one`.
fn available(queue: &Queue, ram: &Ram<'_>) -> Result<u16, QueueFault> {
    let index = queue
        .avail_idx(ram, Ordering::Acquire)
        .map_err(|error| QueueFault::of_queue(&error, QueueFault::RingAddress))?;
    Ok(index.0.wrapping_sub(queue.next_avail()))
}

fn serve_one(
    queue: &mut Queue,
    ram: &Ram<'_>,
    most: u64,
    serve: &mut impl FnMut(&mut Request<'_>) -> Result<u32, QueueFault>,
) -> Result<(), QueueFault> {
    let fault = |error| QueueFault::of_queue(&error, QueueFault::RingAddress);
    let size = queue.size();
    // The index is read again for each chain: a request may have overwritten the ring, which `iter` notices.
    let chain = queue.iter(ram).map_err(fault)?.next().ok_or(QueueFault::RingAddress)?;
    if chain.head_index() >= size {
        return Err(QueueFault::HeadIndex);
    }
    let written = serve(&mut Request::new(ram, &chain, size, most)?)?;
    let added = queue.add_used(ram, chain.head_index(), written).map_err(fault);
    // The request is gone, and with it every slice of its buffers.
    ram.0.release();
    added
}

/// Asks for notifications of later chains, and says whether the driver wants an interrupt for `returned` chains
/// (section 2.7.7.2).
fn notification(queue: &mut Queue, ram: &Ram<'_>, returned: u32) -> Result<bool, QueueFault> {
    let fault = |error| QueueFault::of_queue(&error, QueueFault::RingAddress);
    if queue.event_idx_enabled() {
        queue.enable_notification(ram).map_err(fault)?;
        return queue.needs_notification(ram).map_err(fault);
    }
    if returned == 0 {
        return Ok(false);
    }
    // `virtio-queue` leaves this flag to its user.
    let flags: u16 = ram
        .load(GuestAddress(queue.avail_ring()), Ordering::Acquire)
        .map_err(|error| QueueFault::of_memory(&error, QueueFault::RingAddress))?;
    Ok(u32::from(u16::from_le(flags)) & VRING_AVAIL_F_NO_INTERRUPT == 0)
}

/// The registers by which a driver places a queue (section 4.2.2), and the queue once it is ready.
#[derive(Debug)]
pub(crate) struct QueueSetup {
    /// QueueNum as written.
    pub(crate) size: u32,
    /// Descriptor area.
    pub(crate) descriptors: u64,
    /// Driver area: the available ring.
    pub(crate) driver: u64,
    /// Device area: the used ring.
    pub(crate) device: u64,
    /// The queue, if QueueReady is 1.
    pub(crate) ready: Option<Queue>,
}

impl QueueSetup {
    /// The state after a reset of the device.
    pub(crate) const RESET: Self = Self { size: 0, descriptors: 0, driver: 0, device: 0, ready: None };

    /// Makes the queue ready, if size and addresses allow.
    pub(crate) fn activate(&mut self, event_index: bool, memory: &dyn DmaMemory) -> Result<(), QueueFault> {
        let size = u16::try_from(self.size).map_err(|_| QueueFault::Size)?;
        let mut queue = Queue::new(MAX_QUEUE_SIZE).map_err(|_| QueueFault::Size)?;
        queue.try_set_size(size).map_err(|_| QueueFault::Size)?;
        queue
            .try_set_desc_table_address(GuestAddress(self.descriptors))
            .and_then(|()| queue.try_set_avail_ring_address(GuestAddress(self.driver)))
            .and_then(|()| queue.try_set_used_ring_address(GuestAddress(self.device)))
            .map_err(|_| QueueFault::RingAddress)?;
        queue.set_event_idx(event_index);
        queue.set_ready(true);
        if !queue.is_valid(&Ram(memory)) {
            return Err(QueueFault::RingAddress);
        }
        self.ready = Some(queue);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
