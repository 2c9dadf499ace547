//! Rings and requests behind drivers that set their devices up as they should.

use crate::device_guest::DeviceGuest;
use crate::guest_memory::RAM;
use devices::map::{RAM_BASE, virtio_slot};
use testing::Random;
use types::{Gpa, Width};
use virtio_bindings::virtio_config::{
    VIRTIO_CONFIG_S_ACKNOWLEDGE, VIRTIO_CONFIG_S_DRIVER, VIRTIO_CONFIG_S_DRIVER_OK, VIRTIO_CONFIG_S_FEATURES_OK,
};
use virtio_bindings::virtio_mmio::{
    VIRTIO_MMIO_DRIVER_FEATURES, VIRTIO_MMIO_DRIVER_FEATURES_SEL, VIRTIO_MMIO_QUEUE_AVAIL_LOW,
    VIRTIO_MMIO_QUEUE_DESC_LOW, VIRTIO_MMIO_QUEUE_NOTIFY, VIRTIO_MMIO_QUEUE_NUM, VIRTIO_MMIO_QUEUE_READY,
    VIRTIO_MMIO_QUEUE_SEL, VIRTIO_MMIO_QUEUE_USED_LOW, VIRTIO_MMIO_STATUS,
};

/// Queues of the devices in the slots.
const QUEUES: [u64; 5] = [2, 1, 2, 1, 2];
/// `VIRTIO_F_VERSION_1`, which every driver has to accept.
const VERSION_1: u64 = 1 << 32;
/// `VIRTIO_RING_F_INDIRECT_DESC` and `VIRTIO_RING_F_EVENT_IDX`.
const RING_FEATURES: [u64; 4] = [0, 1 << 28, 1 << 29, 3 << 28];
/// From one queue's areas to the next one's; those of a slot are 256 KiB from those of the next.
const QUEUE_BYTES: u64 = 0x1_0000;
/// The rings, behind the descriptors.
const AVAILABLE: u64 = 0x4000;
const USED: u64 = 0x8000;
/// Where buffers are.
const BUFFERS: u64 = 0x18_0000;

/// A queue of a working driver.
#[derive(Clone, Copy)]
struct Ring {
    slot: usize,
    number: u64,
    size: u64,
    /// What has been put into the available ring.
    offered: u16,
}

impl Ring {
    const fn base(self) -> Gpa {
        Gpa(RAM_BASE.0 + (self.slot as u64 * 4 + self.number) * QUEUE_BYTES)
    }
}

fn register(slot: usize, offset: u32) -> Gpa {
    virtio_slot(slot).base.wrapping_add(offset.into())
}

/// Negotiates, and sets up every queue of the device in `slot`.
fn start(guest: &mut DeviceGuest, slot: usize, random: &mut Random) -> Vec<Ring> {
    let features = VERSION_1 | random.pick(&RING_FEATURES) | if random.one_in(2) { random.below(1 << 16) } else { 0 };
    let mut status = 0;
    let mut write = |offset: u32, value: u64| guest.write(register(slot, offset), Width::Word, value);
    write(VIRTIO_MMIO_STATUS, 0);
    for bit in [VIRTIO_CONFIG_S_ACKNOWLEDGE, VIRTIO_CONFIG_S_DRIVER] {
        status |= u64::from(bit);
        write(VIRTIO_MMIO_STATUS, status);
    }
    for (half, word) in [(0, features & 0xffff_ffff), (1, features >> 32)] {
        write(VIRTIO_MMIO_DRIVER_FEATURES_SEL, half);
        write(VIRTIO_MMIO_DRIVER_FEATURES, word);
    }
    status |= u64::from(VIRTIO_CONFIG_S_FEATURES_OK);
    write(VIRTIO_MMIO_STATUS, status);
    let rings: Vec<Ring> =
        (0..QUEUES[slot]).map(|number| Ring { slot, number, size: 1 << random.below(6), offered: 0 }).collect();
    for ring in &rings {
        write(VIRTIO_MMIO_QUEUE_SEL, ring.number);
        write(VIRTIO_MMIO_QUEUE_NUM, ring.size);
        let areas = [
            (VIRTIO_MMIO_QUEUE_DESC_LOW, ring.base()),
            (VIRTIO_MMIO_QUEUE_AVAIL_LOW, ring.base().wrapping_add(AVAILABLE)),
            (VIRTIO_MMIO_QUEUE_USED_LOW, ring.base().wrapping_add(USED)),
        ];
        for (low, area) in areas {
            write(low, area.0 & 0xffff_ffff);
            write(low + 4, area.0 >> 32);
        }
        write(VIRTIO_MMIO_QUEUE_READY, 1);
    }
    write(VIRTIO_MMIO_STATUS, status | u64::from(VIRTIO_CONFIG_S_DRIVER_OK));
    rings
}

/// A descriptor that is mostly plausible.
fn descriptor(random: &mut Random, ring: Ring) -> [u8; 16] {
    let gpa = match random.below(8) {
        // In the rings themselves, or in a table of descriptors.
        0 => ring.base().0 + random.below(QUEUE_BYTES / 16) * 16,
        // At the end of RAM.
        1 => RAM_BASE.0 + RAM - random.below(64),
        2 => random.bits(),
        _ => RAM_BASE.0 + BUFFERS + random.below(0x40) * 512,
    };
    let length = match random.below(8) {
        0 => random.below(1 << 32),
        1 => random.below(70_000),
        2 | 3 => 16,
        4 => 1,
        5 => 16 * random.below(8),
        _ => 512,
    };
    let flags = if random.one_in(8) { random.below(1 << 16) } else { random.below(8) };
    let next = if random.one_in(8) { random.below(1 << 16) } else { random.below(ring.size) };
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&gpa.to_le_bytes());
    bytes[8..12].copy_from_slice(&(length as u32).to_le_bytes());
    bytes[12..14].copy_from_slice(&(flags as u16).to_le_bytes());
    bytes[14..].copy_from_slice(&(next as u16).to_le_bytes());
    bytes
}

/// One thing that a driver does.
fn step(guest: &mut DeviceGuest, ring: &mut Ring, random: &mut Random) {
    let base = ring.base();
    match random.below(8) {
        0..=2 => {
            // Descriptors one after the other, as a driver writes a chain.
            let first = random.below(ring.size);
            for index in first..first + 1 + random.below(4) {
                let bytes = descriptor(random, *ring);
                guest.memory.store(base.wrapping_add(index % ring.size * 16), &bytes);
            }
        }
        3 | 4 => {
            let head = if random.one_in(8) { random.below(1 << 16) } else { random.below(ring.size) } as u16;
            let entry = base.wrapping_add(AVAILABLE + 4 + u64::from(ring.offered) % ring.size * 2);
            guest.memory.store(entry, &head.to_le_bytes());
            ring.offered = ring.offered.wrapping_add(1);
            guest.memory.store(base.wrapping_add(AVAILABLE + 2), &ring.offered.to_le_bytes());
            notify(guest, *ring);
        }
        5 => {
            // The header of a request to a disk, or anything else.
            let at = RAM_BASE.wrapping_add(BUFFERS + random.below(0x40) * 512);
            let header = [random.below(14), random.below(80)];
            guest.memory.store(at, header.map(u64::to_le_bytes).as_flattened());
        }
        6 => {
            // The rings' flags and indices, and the event indices behind them.
            let at = random.pick(&[AVAILABLE, AVAILABLE + 2, AVAILABLE + 4 + 2 * ring.size, USED, USED + 2]);
            guest.memory.store(base.wrapping_add(at), &(random.below(1 << 16) as u16).to_le_bytes());
            notify(guest, *ring);
        }
        _ => guest.step(random),
    }
}

fn notify(guest: &mut DeviceGuest, ring: Ring) {
    guest.write(register(ring.slot, VIRTIO_MMIO_QUEUE_NOTIFY), Width::Word, ring.number);
    guest.settle();
}

/// Runs the target.
///
/// # Panics
/// If a device does what no guest may make it do.
pub fn run(input: &[u8]) {
    let mut random = Random::of_input(input);
    let mut guest = DeviceGuest::new(&mut random);
    let mut rings: Vec<Ring> = (0..QUEUES.len()).flat_map(|slot| start(&mut guest, slot, &mut random)).collect();
    while random.has_input() {
        let ring = random.index(rings.len());
        step(&mut guest, &mut rings[ring], &mut random);
    }
    guest.finish();
}
