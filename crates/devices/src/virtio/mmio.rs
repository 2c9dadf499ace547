//! The MMIO transport, version 2 (section 4.2.2): the registers of one slot.
//!
//! Section 3.1.1 gives the order in which a driver sets its device up. Drivers in use deviate from it: U-Boot sets DRIVER without
//! ACKNOWLEDGE, and small kernels never mention VIRTIO_F_VERSION_1. QEMU accepts both, and so does this transport, because nothing
//! depends on the order of those steps:
//!
//! * ACKNOWLEDGE and DRIVER are recorded and never required.
//! * Features may be written until FEATURES_OK or DRIVER_OK fixes them. DRIVER_OK without FEATURES_OK accepts no feature.
//! * Queues may be placed before FEATURES_OK; they are used after DRIVER_OK only.
//! * VIRTIO_F_VERSION_1 is optional; a network card's header is then the shorter one of section 5.1.6.1.
//!
//! FEATURES_OK is refused where the driver accepts a feature that was not offered: driver and device would not agree on what is
//! in a request. QEMU drops such a feature silently.

use super::device::QueueKind;
use super::queue::{self, Limits, MAX_QUEUE_SIZE, MAX_REQUEST_BYTES, QueueFault, QueueSetup};
use super::virtio_device::VirtioDevice;
use crate::dma::DmaMemory;
use std::collections::BTreeMap;
use types::Width;
use virtio_bindings::virtio_config::{
    VIRTIO_CONFIG_S_ACKNOWLEDGE, VIRTIO_CONFIG_S_DRIVER, VIRTIO_CONFIG_S_DRIVER_OK, VIRTIO_CONFIG_S_FAILED,
    VIRTIO_CONFIG_S_FEATURES_OK, VIRTIO_CONFIG_S_NEEDS_RESET, VIRTIO_F_VERSION_1,
};
use virtio_bindings::virtio_mmio::{
    VIRTIO_MMIO_CONFIG, VIRTIO_MMIO_CONFIG_GENERATION, VIRTIO_MMIO_DEVICE_FEATURES, VIRTIO_MMIO_DEVICE_FEATURES_SEL,
    VIRTIO_MMIO_DEVICE_ID, VIRTIO_MMIO_DRIVER_FEATURES, VIRTIO_MMIO_DRIVER_FEATURES_SEL, VIRTIO_MMIO_INT_CONFIG,
    VIRTIO_MMIO_INT_VRING, VIRTIO_MMIO_INTERRUPT_ACK, VIRTIO_MMIO_INTERRUPT_STATUS, VIRTIO_MMIO_MAGIC_VALUE,
    VIRTIO_MMIO_QUEUE_AVAIL_HIGH, VIRTIO_MMIO_QUEUE_AVAIL_LOW, VIRTIO_MMIO_QUEUE_DESC_HIGH, VIRTIO_MMIO_QUEUE_DESC_LOW,
    VIRTIO_MMIO_QUEUE_NOTIFY, VIRTIO_MMIO_QUEUE_NUM, VIRTIO_MMIO_QUEUE_NUM_MAX, VIRTIO_MMIO_QUEUE_READY,
    VIRTIO_MMIO_QUEUE_SEL, VIRTIO_MMIO_QUEUE_USED_HIGH, VIRTIO_MMIO_QUEUE_USED_LOW, VIRTIO_MMIO_SHM_BASE_HIGH,
    VIRTIO_MMIO_SHM_BASE_LOW, VIRTIO_MMIO_SHM_LEN_HIGH, VIRTIO_MMIO_SHM_LEN_LOW, VIRTIO_MMIO_STATUS,
    VIRTIO_MMIO_VENDOR_ID, VIRTIO_MMIO_VERSION,
};
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};
use virtio_queue::QueueT;

/// "virt", little-endian.
const MAGIC: u32 = 0x7472_6976;
const VERSION: u32 = 2;
/// "PGWK", little-endian; any value will do.
const VENDOR: u32 = 0x4b57_4750;

/// Offset of the device's configuration space.
pub(crate) const CONFIG: u64 = VIRTIO_MMIO_CONFIG as u64;

/// Offset of the register by which a driver notifies the device of requests in the queue whose number it writes.
pub(crate) const QUEUE_NOTIFY: u32 = VIRTIO_MMIO_QUEUE_NOTIFY;

/// The register at `offset` of a slot without a device, as QEMU has it: device ID 0 tells a driver to leave the slot alone
/// (section 4.2.2). Writes have no effect.
pub(crate) const fn read_empty(offset: u32) -> u32 {
    match offset {
        VIRTIO_MMIO_MAGIC_VALUE => MAGIC,
        VIRTIO_MMIO_VERSION => VERSION,
        VIRTIO_MMIO_VENDOR_ID => VENDOR,
        _ => 0,
    }
}

/// What the transport offers for every device.
const TRANSPORT_FEATURES: u64 =
    1 << VIRTIO_F_VERSION_1 | 1 << VIRTIO_RING_F_INDIRECT_DESC | 1 << VIRTIO_RING_F_EVENT_IDX;

/// The device status field (section 2.1).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Status(u32);

impl Status {
    fn has(self, bits: u32) -> bool {
        self.0 & bits == bits
    }

    fn set(&mut self, bits: u32) {
        self.0 |= bits;
    }

    /// Features may be written: until FEATURES_OK or DRIVER_OK fixes them (section 3.1.1).
    fn negotiates_features(self) -> bool {
        self.0 & (VIRTIO_CONFIG_S_FEATURES_OK | VIRTIO_CONFIG_S_DRIVER_OK) == 0
    }

    /// Queues may be used (section 3.1.2).
    fn is_live(self) -> bool {
        self.has(VIRTIO_CONFIG_S_DRIVER_OK) && self.0 & (VIRTIO_CONFIG_S_NEEDS_RESET | VIRTIO_CONFIG_S_FAILED) == 0
    }
}

/// One slot with a device.
#[derive(Debug)]
pub(crate) struct MmioSlot {
    device: VirtioDevice,
    status: Status,
    device_features_select: u32,
    driver_features_select: u32,
    driver_features: u64,
    queue_select: u32,
    queues: Vec<QueueSetup>,
    interrupt_status: u32,
    config_generation: u32,
    faults: BTreeMap<QueueFault, u64>,
    /// Requests that were postponed and not served yet.
    postponed: u16,
}

impl MmioSlot {
    /// A slot with `device` after reset.
    pub(crate) fn new(device: VirtioDevice) -> Self {
        let queues = device.device().queues().iter().map(|_| QueueSetup::RESET).collect();
        Self {
            device,
            status: Status::default(),
            device_features_select: 0,
            driver_features_select: 0,
            driver_features: 0,
            queue_select: 0,
            queues,
            interrupt_status: 0,
            config_generation: 0,
            faults: BTreeMap::new(),
            postponed: 0,
        }
    }

    /// The device.
    pub(crate) fn device(&self) -> &VirtioDevice {
        &self.device
    }

    /// The device.
    pub(crate) fn device_mut(&mut self) -> &mut VirtioDevice {
        &mut self.device
    }

    /// The level of the interrupt wire.
    pub(crate) fn interrupt(&self) -> bool {
        self.interrupt_status != 0
    }

    /// What the driver did wrong since the machine started, and how often.
    pub(crate) fn faults(&self) -> &BTreeMap<QueueFault, u64> {
        &self.faults
    }

    /// Reads the configuration space `offset` bytes in, a multiple of `width`; 0 past its end.
    pub(crate) fn read_config(&self, offset: u64, width: Width) -> u64 {
        let config = self.device.device().config();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(config.len());
        let mut value = [0; 8];
        for (to, from) in value.iter_mut().zip(&config[start..]).take(width.bytes() as usize) {
            *to = *from;
        }
        u64::from_le_bytes(value)
    }

    /// Reads the register at `offset`, a multiple of 4 below [`CONFIG`]; 0 where it is reserved or write-only.
    pub(crate) fn read(&self, offset: u32) -> u32 {
        match offset {
            VIRTIO_MMIO_MAGIC_VALUE => MAGIC,
            VIRTIO_MMIO_VERSION => VERSION,
            VIRTIO_MMIO_DEVICE_ID => self.device.device().id(),
            VIRTIO_MMIO_VENDOR_ID => VENDOR,
            VIRTIO_MMIO_DEVICE_FEATURES => match self.device_features_select {
                0 => low(self.offered()),
                1 => high(self.offered()),
                _ => 0,
            },
            VIRTIO_MMIO_QUEUE_NUM_MAX => self.queue().map_or(0, |_| u32::from(MAX_QUEUE_SIZE)),
            VIRTIO_MMIO_QUEUE_READY => self.queue().map_or(0, |queue| u32::from(queue.ready.is_some())),
            VIRTIO_MMIO_INTERRUPT_STATUS => self.interrupt_status,
            VIRTIO_MMIO_STATUS => self.status.0,
            // No shared memory regions: length and base of each read as -1.
            VIRTIO_MMIO_SHM_LEN_LOW
            | VIRTIO_MMIO_SHM_LEN_HIGH
            | VIRTIO_MMIO_SHM_BASE_LOW
            | VIRTIO_MMIO_SHM_BASE_HIGH => u32::MAX,
            VIRTIO_MMIO_CONFIG_GENERATION => self.config_generation,
            _ => 0,
        }
    }

    /// Writes the register at `offset`, a multiple of 4 below [`CONFIG`]; no effect where it is reserved, read-only or, as the
    /// device status is, not to be written. A notification is served before this returns.
    pub(crate) fn write(&mut self, offset: u32, value: u32, memory: &dyn DmaMemory) {
        match offset {
            VIRTIO_MMIO_DEVICE_FEATURES_SEL => self.device_features_select = value,
            VIRTIO_MMIO_DRIVER_FEATURES_SEL => self.driver_features_select = value,
            VIRTIO_MMIO_DRIVER_FEATURES if self.status.negotiates_features() => match self.driver_features_select {
                0 => set_low(&mut self.driver_features, value),
                1 => set_high(&mut self.driver_features, value),
                _ => {}
            },
            VIRTIO_MMIO_QUEUE_SEL => self.queue_select = value,
            VIRTIO_MMIO_QUEUE_READY => self.set_queue_ready(value, memory),
            VIRTIO_MMIO_QUEUE_NOTIFY => self.serve(value, MAX_QUEUE_SIZE, memory),
            VIRTIO_MMIO_INTERRUPT_ACK => self.interrupt_status &= !value,
            VIRTIO_MMIO_STATUS => self.set_status(value),
            _ => self.place_queue(offset, value),
        }
    }

    /// Passes `bytes` to the driver in the buffers of held queue `index`; returns how many went in. 0 while there is no buffer.
    pub(crate) fn deliver(&mut self, index: usize, bytes: &[u8], memory: &dyn DmaMemory) -> usize {
        let Some(queue) = self.queues.get_mut(index).and_then(|setup| setup.ready.as_mut()) else { return 0 };
        if !self.status.is_live() {
            return 0;
        }
        let mut sent = 0;
        while sent < bytes.len() {
            let before = sent;
            // One at a time: a buffer is taken only if there is something to put into it.
            let outcome = queue::serve(queue, memory, Limits { requests: 1, bytes: MAX_REQUEST_BYTES }, |request| {
                let left = &bytes[sent..];
                let fits = left.len().min(request.writable.available_bytes());
                std::io::Write::write_all(&mut request.writable, &left[..fits]).map_err(|_| QueueFault::Request)?;
                sent += fits;
                // The chain is below 4 GiB in all.
                Ok(fits as u32)
            });
            if outcome.interrupt {
                self.interrupt_status |= VIRTIO_MMIO_INT_VRING;
            }
            if let Some(fault) = outcome.fault {
                self.fail(fault);
                break;
            }
            if sent == before {
                break;
            }
        }
        sent
    }

    /// Passes all of `bytes` to the driver in one buffer of held queue `index`; whether there was one. A buffer that is too short is an error
    /// of the driver's.
    pub(crate) fn deliver_whole(&mut self, index: usize, bytes: &[u8], memory: &dyn DmaMemory) -> bool {
        let Some(queue) = self.queues.get_mut(index).and_then(|setup| setup.ready.as_mut()) else { return false };
        if !self.status.is_live() {
            return false;
        }
        let mut delivered = false;
        let outcome = queue::serve(queue, memory, Limits { requests: 1, bytes: MAX_REQUEST_BYTES }, |request| {
            std::io::Write::write_all(&mut request.writable, bytes).map_err(|_| QueueFault::Request)?;
            delivered = true;
            // A frame is far below 4 GiB.
            Ok(bytes.len() as u32)
        });
        if outcome.interrupt {
            self.interrupt_status |= VIRTIO_MMIO_INT_VRING;
        }
        if let Some(fault) = outcome.fault {
            self.fail(fault);
        }
        delivered
    }

    /// The device's configuration has changed: tells the driver (section 2.5).
    pub(crate) fn config_changed(&mut self) {
        self.config_generation = self.config_generation.wrapping_add(1);
        self.signal_config();
    }

    fn offered(&self) -> u64 {
        TRANSPORT_FEATURES | self.device.device().features()
    }

    fn queue(&self) -> Option<&QueueSetup> {
        self.queues.get(self.queue_select as usize)
    }

    /// The registers that place the selected queue; not while it is ready (section 4.2.2.2).
    fn place_queue(&mut self, offset: u32, value: u32) {
        let Some(queue) = self.queues.get_mut(self.queue_select as usize) else { return };
        if queue.ready.is_some() {
            return;
        }
        match offset {
            VIRTIO_MMIO_QUEUE_NUM => queue.size = value,
            VIRTIO_MMIO_QUEUE_DESC_LOW => set_low(&mut queue.descriptors, value),
            VIRTIO_MMIO_QUEUE_DESC_HIGH => set_high(&mut queue.descriptors, value),
            VIRTIO_MMIO_QUEUE_AVAIL_LOW => set_low(&mut queue.driver, value),
            VIRTIO_MMIO_QUEUE_AVAIL_HIGH => set_high(&mut queue.driver, value),
            VIRTIO_MMIO_QUEUE_USED_LOW => set_low(&mut queue.device, value),
            VIRTIO_MMIO_QUEUE_USED_HIGH => set_high(&mut queue.device, value),
            _ => {}
        }
    }

    fn set_queue_ready(&mut self, value: u32, memory: &dyn DmaMemory) {
        let event_index = self.accepted(VIRTIO_RING_F_EVENT_IDX);
        let Some(queue) = self.queues.get_mut(self.queue_select as usize) else { return };
        match value {
            0 => queue.ready = None,
            1 if queue.ready.is_none() => {
                if let Err(fault) = queue.activate(event_index, memory) {
                    self.fail(fault);
                }
            }
            _ => {}
        }
    }

    fn accepted(&self, feature: u32) -> bool {
        self.driver_features >> feature & 1 != 0
    }

    /// Section 2.1.1: a driver writes 0 to reset, and otherwise only adds bits. The bits of one write take effect in the order of
    /// section 3.1.1; a write that asks for FEATURES_OK and does not get it goes no further.
    fn set_status(&mut self, value: u32) {
        if value == 0 {
            self.reset();
            return;
        }
        let asks = |bit| value & bit != 0;
        let driver_bits = VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER | VIRTIO_CONFIG_S_FAILED;
        self.status.set(value & driver_bits);
        if asks(VIRTIO_CONFIG_S_FEATURES_OK) && self.status.negotiates_features() {
            if self.driver_features & !self.offered() != 0 {
                return;
            }
            self.status.set(VIRTIO_CONFIG_S_FEATURES_OK);
            self.features_are_fixed();
        }
        if asks(VIRTIO_CONFIG_S_DRIVER_OK) && !self.status.has(VIRTIO_CONFIG_S_DRIVER_OK) {
            if self.status.negotiates_features() {
                self.driver_features = 0;
                self.features_are_fixed();
            }
            self.status.set(VIRTIO_CONFIG_S_DRIVER_OK);
            if self.status.has(VIRTIO_CONFIG_S_NEEDS_RESET) {
                self.signal_config();
            }
        }
    }

    /// Applies the accepted features: to queues that were made ready before, and to the device.
    fn features_are_fixed(&mut self) {
        let event_index = self.accepted(VIRTIO_RING_F_EVENT_IDX);
        for queue in self.queues.iter_mut().filter_map(|setup| setup.ready.as_mut()) {
            queue.set_event_idx(event_index);
        }
        self.device.set_features(self.driver_features);
    }

    fn reset(&mut self) {
        self.status = Status::default();
        self.device_features_select = 0;
        self.driver_features_select = 0;
        self.driver_features = 0;
        self.queue_select = 0;
        self.interrupt_status = 0;
        self.postponed = 0;
        self.queues.iter_mut().for_each(|queue| *queue = QueueSetup::RESET);
    }

    /// Takes note of the requests in the queue, of a device that has only one, that are to be served later; returns how many are new.
    pub(crate) fn postpone(&mut self, index: u32, memory: &dyn DmaMemory) -> u16 {
        let queue = self.queues.get(index as usize).and_then(|setup| setup.ready.as_ref());
        let Some(queue) = queue.filter(|_| self.status.is_live()) else { return 0 };
        let new = queue::waiting(queue, memory).saturating_sub(self.postponed);
        self.postponed += new;
        new
    }

    /// Serves so many requests that were postponed.
    pub(crate) fn serve_postponed(&mut self, index: u32, requests: u16, memory: &dyn DmaMemory) {
        self.postponed = self.postponed.saturating_sub(requests);
        self.serve(index, requests, memory);
    }

    /// At most `limit` requests of a queue.
    fn serve(&mut self, index: u32, limit: u16, memory: &dyn DmaMemory) {
        let index = index as usize;
        if !self.status.is_live() || self.device.device().queues().get(index) != Some(&QueueKind::Served) {
            return;
        }
        let Some(queue) = self.queues.get_mut(index).and_then(|setup| setup.ready.as_mut()) else { return };
        let device = self.device.device_mut();
        let limits = Limits { requests: limit, bytes: device.longest_request() };
        let outcome = queue::serve(queue, memory, limits, |request| device.serve(index, request));
        if outcome.interrupt {
            self.interrupt_status |= VIRTIO_MMIO_INT_VRING;
        }
        if let Some(fault) = outcome.fault {
            self.fail(fault);
        }
    }

    /// Counts `fault` and asks the driver for a reset (section 2.1.2).
    fn fail(&mut self, fault: QueueFault) {
        *self.faults.entry(fault).or_insert(0) += 1;
        self.status.set(VIRTIO_CONFIG_S_NEEDS_RESET);
        self.signal_config();
    }

    /// A device sends no notification before DRIVER_OK (section 3.1.2).
    fn signal_config(&mut self) {
        if self.status.has(VIRTIO_CONFIG_S_DRIVER_OK) {
            self.interrupt_status |= VIRTIO_MMIO_INT_CONFIG;
        }
    }
}

fn low(value: u64) -> u32 {
    value as u32
}

fn high(value: u64) -> u32 {
    (value >> 32) as u32
}

fn set_low(to: &mut u64, value: u32) {
    *to = (*to & !0xffff_ffff) | u64::from(value);
}

fn set_high(to: &mut u64, value: u32) {
    *to = (*to & 0xffff_ffff) | (u64::from(value) << 32);
}

mod state;
#[cfg(test)]
mod tests;

pub(crate) use state::SlotState;
