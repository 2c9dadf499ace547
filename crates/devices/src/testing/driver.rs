//! A virtio driver over MMIO: negotiation, rings in guest memory, notifications (sections 3.1 and 4.2.3).

use super::{load, store};
use crate::dma::DmaMemory;
use crate::map;
use crate::platform::Platform;
use types::{Gpa, Width};
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;

pub(crate) const MAGIC: u64 = 0x00;
pub(crate) const VERSION: u64 = 0x04;
pub(crate) const DEVICE_ID: u64 = 0x08;
pub(crate) const VENDOR_ID: u64 = 0x0c;
pub(crate) const DEVICE_FEATURES: u64 = 0x10;
pub(crate) const DEVICE_FEATURES_SEL: u64 = 0x14;
pub(crate) const DRIVER_FEATURES: u64 = 0x20;
pub(crate) const DRIVER_FEATURES_SEL: u64 = 0x24;
pub(crate) const QUEUE_SEL: u64 = 0x30;
pub(crate) const QUEUE_NUM_MAX: u64 = 0x34;
pub(crate) const QUEUE_NUM: u64 = 0x38;
pub(crate) const QUEUE_READY: u64 = 0x44;
pub(crate) const QUEUE_NOTIFY: u64 = 0x50;
pub(crate) const INTERRUPT_STATUS: u64 = 0x60;
pub(crate) const INTERRUPT_ACK: u64 = 0x64;
pub(crate) const STATUS: u64 = 0x70;
pub(crate) const QUEUE_DESC: u64 = 0x80;
pub(crate) const QUEUE_DRIVER: u64 = 0x90;
pub(crate) const QUEUE_DEVICE: u64 = 0xa0;
pub(crate) const SHM_LEN: u64 = 0xb0;
pub(crate) const CONFIG_GENERATION: u64 = 0xfc;
pub(crate) const CONFIG: u64 = 0x100;

pub(crate) const ACKNOWLEDGE: u64 = 1;
pub(crate) const DRIVER: u64 = 2;
pub(crate) const DRIVER_OK: u64 = 4;
pub(crate) const FEATURES_OK: u64 = 8;
pub(crate) const NEEDS_RESET: u64 = 64;
pub(crate) const FAILED: u64 = 128;

pub(crate) const NEXT: u16 = 1;
pub(crate) const WRITE: u16 = 2;
pub(crate) const INDIRECT: u16 = 4;

pub(crate) const VERSION_1: u64 = 1 << VIRTIO_F_VERSION_1;
pub(crate) const EVENT_IDX: u64 = 1 << 29;

/// A descriptor as it is in memory.
pub(crate) fn descriptor(gpa: Gpa, length: u32, flags: u16, next: u16) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[0..8].copy_from_slice(&gpa.0.to_le_bytes());
    bytes[8..12].copy_from_slice(&length.to_le_bytes());
    bytes[12..14].copy_from_slice(&flags.to_le_bytes());
    bytes[14..16].copy_from_slice(&next.to_le_bytes());
    bytes
}

/// A buffer of a chain.
#[derive(Clone, Copy)]
pub(crate) enum Buffer {
    Readable(Gpa, u32),
    Writable(Gpa, u32),
}

/// A queue as its driver sees it.
pub(crate) struct DriverQueue {
    pub(crate) index: usize,
    pub(crate) size: u16,
    pub(crate) descriptors: Gpa,
    pub(crate) available: Gpa,
    pub(crate) used: Gpa,
    next_descriptor: u16,
    offered: u16,
    seen: u16,
}

impl DriverQueue {
    /// Writes `bytes` over descriptor `index`.
    pub(crate) fn set_descriptor(&self, memory: &dyn DmaMemory, index: u16, bytes: &[u8; 16]) {
        store(memory, self.descriptors.wrapping_add(16 * u64::from(index)), bytes);
    }

    /// Puts `head` into the available ring.
    pub(crate) fn offer(&mut self, memory: &dyn DmaMemory, head: u16) {
        let entry = self.available.wrapping_add(4 + 2 * u64::from(self.offered % self.size));
        store(memory, entry, &head.to_le_bytes());
        self.offered = self.offered.wrapping_add(1);
        self.set_available_index(memory, self.offered);
    }

    /// Writes the available ring's index.
    pub(crate) fn set_available_index(&self, memory: &dyn DmaMemory, index: u16) {
        store(memory, self.available.wrapping_add(2), &index.to_le_bytes());
    }

    /// Offers a chain; returns its head.
    pub(crate) fn add(&mut self, memory: &dyn DmaMemory, chain: &[Buffer]) -> u16 {
        let head = self.next_descriptor % self.size;
        for (position, buffer) in chain.iter().enumerate() {
            let index = self.next_descriptor % self.size;
            self.next_descriptor = self.next_descriptor.wrapping_add(1);
            let goes_on = if position + 1 < chain.len() { NEXT } else { 0 };
            let next = self.next_descriptor % self.size;
            let bytes = match *buffer {
                Buffer::Readable(gpa, length) => descriptor(gpa, length, goes_on, next),
                Buffer::Writable(gpa, length) => descriptor(gpa, length, goes_on | WRITE, next),
            };
            self.set_descriptor(memory, index, &bytes);
        }
        self.offer(memory, head);
        head
    }

    /// What the device has returned since the last call: heads and lengths.
    pub(crate) fn returned(&mut self, memory: &dyn DmaMemory) -> Vec<(u32, u32)> {
        let index = u16::from_le_bytes(load(memory, self.used.wrapping_add(2), 2).try_into().unwrap());
        let mut returned = Vec::new();
        while self.seen != index {
            let entry = self.used.wrapping_add(4 + 8 * u64::from(self.seen % self.size));
            let bytes = load(memory, entry, 8);
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            returned.push((word(0), word(4)));
            self.seen = self.seen.wrapping_add(1);
        }
        returned
    }
}

/// A driver of the device in one slot.
#[derive(Clone, Copy)]
pub(crate) struct Driver<'m> {
    pub(crate) slot: usize,
    pub(crate) memory: &'m dyn DmaMemory,
}

impl Driver<'_> {
    pub(crate) fn gpa(&self, register: u64) -> Gpa {
        map::virtio_slot(self.slot).base.wrapping_add(register)
    }

    pub(crate) fn read(&self, platform: &mut Platform, register: u64) -> u64 {
        platform.read(self.gpa(register), Width::Word).unwrap()
    }

    pub(crate) fn write(&self, platform: &mut Platform, register: u64, value: u64) {
        platform.write(self.gpa(register), Width::Word, value, self.memory).unwrap();
    }

    fn write_pair(&self, platform: &mut Platform, register: u64, value: u64) {
        self.write(platform, register, value & 0xffff_ffff);
        self.write(platform, register + 4, value >> 32);
    }

    /// What the device offers.
    pub(crate) fn offered(&self, platform: &mut Platform) -> u64 {
        self.write(platform, DEVICE_FEATURES_SEL, 0);
        let low = self.read(platform, DEVICE_FEATURES);
        self.write(platform, DEVICE_FEATURES_SEL, 1);
        low | self.read(platform, DEVICE_FEATURES) << 32
    }

    /// Writes the features that the driver accepts.
    pub(crate) fn accept(&self, platform: &mut Platform, features: u64) {
        self.write(platform, DRIVER_FEATURES_SEL, 0);
        self.write(platform, DRIVER_FEATURES, features & 0xffff_ffff);
        self.write(platform, DRIVER_FEATURES_SEL, 1);
        self.write(platform, DRIVER_FEATURES, features >> 32);
    }

    /// Resets the device and negotiates up to FEATURES_OK, accepting what is offered of `wanted`.
    pub(crate) fn negotiate(&self, platform: &mut Platform, wanted: u64) {
        self.write(platform, STATUS, 0);
        self.write(platform, STATUS, ACKNOWLEDGE);
        self.write(platform, STATUS, ACKNOWLEDGE | DRIVER);
        let accepted = self.offered(platform) & wanted;
        self.accept(platform, accepted);
        self.write(platform, STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK);
        assert_eq!(self.read(platform, STATUS), ACKNOWLEDGE | DRIVER | FEATURES_OK);
    }

    /// Sets up queue `index` with `size` entries; its areas are at 64 KiB × (slot × 4 + index) of RAM, each on a page of its own.
    pub(crate) fn set_up(&self, platform: &mut Platform, index: usize, size: u16) -> DriverQueue {
        let base = map::RAM_BASE.wrapping_add((self.slot as u64 * 4 + index as u64) << 16);
        let queue = DriverQueue {
            index,
            size,
            descriptors: base,
            available: base.wrapping_add(0x4000),
            used: base.wrapping_add(0x8000),
            next_descriptor: 0,
            offered: 0,
            seen: 0,
        };
        for area in [queue.descriptors, queue.available, queue.used] {
            store(self.memory, area, &[0; 0x3000]);
        }
        self.write(platform, QUEUE_SEL, index as u64);
        self.write(platform, QUEUE_NUM, u64::from(size));
        self.write_pair(platform, QUEUE_DESC, queue.descriptors.0);
        self.write_pair(platform, QUEUE_DRIVER, queue.available.0);
        self.write_pair(platform, QUEUE_DEVICE, queue.used.0);
        self.write(platform, QUEUE_READY, 1);
        queue
    }

    /// Negotiates `wanted`, sets up `count` queues of 16 entries and goes live.
    pub(crate) fn start(&self, platform: &mut Platform, wanted: u64, count: usize) -> Vec<DriverQueue> {
        self.negotiate(platform, wanted);
        let queues = (0..count).map(|index| self.set_up(platform, index, 16)).collect();
        self.write(platform, STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK);
        queues
    }

    pub(crate) fn notify(&self, platform: &mut Platform, queue: &DriverQueue) {
        self.write(platform, QUEUE_NOTIFY, queue.index as u64);
    }
}
