//! Broken rings, by way of the entropy device (one served queue) and the console (a readable one).

use crate::map::{self, RAM_BASE};
use crate::platform::{ConsoleInput, Platform, PlatformConfig};
use crate::plic::PlicContexts;
use crate::testing::driver::*;
use crate::testing::{ScatteredRam, load, store};
use crate::virtio::{Console, Rng, VirtioDevice};
use crate::{DeviceFault, QueueFault};
use types::Gpa;

const RAM: u64 = 8 << 20;
const RNG: usize = 0;
const CONSOLE: usize = 1;

fn platform() -> Platform {
    Platform::new(PlatformConfig {
        harts: 1,
        plic: PlicContexts::Supervisor,
        input: ConsoleInput::Uart,
        virtio: vec![VirtioDevice::Rng(Rng::new(1)), VirtioDevice::Console(Console::new())],
        primary_region: None,
    })
    .unwrap()
}

fn buffer(offset: u64) -> Gpa {
    RAM_BASE.wrapping_add(0x10_0000 + offset)
}

/// Runs `spoil` on a live queue, notifies, and checks that exactly `expected` was counted and a reset asked for.
fn breaks(slot: usize, queue: usize, expected: QueueFault, spoil: impl FnOnce(&Driver<'_>, &mut DriverQueue)) {
    let memory = ScatteredRam::new(RAM);
    let mut platform = platform();
    let driver = Driver { slot, memory: &memory };
    let mut queues = driver.start(&mut platform, VERSION_1, queue + 1);
    spoil(&driver, &mut queues[queue]);
    driver.notify(&mut platform, &queues[queue]);
    let faults: Vec<_> = platform.faults();
    assert!(
        matches!(faults[..], [DeviceFault::Queue { fault, count: 1, .. }] if fault == expected),
        "{faults:?}, not {expected:?}"
    );
    assert_ne!(driver.read(&mut platform, STATUS) & NEEDS_RESET, 0);
    assert_ne!(driver.read(&mut platform, INTERRUPT_STATUS) & 2, 0);
    assert!(memory.filled() < 100, "a broken ring filled {} pages", memory.filled());
    // It stays broken, and is counted once, until it is reset.
    driver.notify(&mut platform, &queues[queue]);
    assert_eq!(platform.faults(), faults);
}

#[test]
fn an_index_that_runs_ahead() {
    breaks(RNG, 0, QueueFault::AvailableIndex, |driver, queue| queue.set_available_index(driver.memory, 17));
}

#[test]
fn a_head_outside_the_table() {
    breaks(RNG, 0, QueueFault::HeadIndex, |driver, queue| queue.offer(driver.memory, 16));
    breaks(RNG, 0, QueueFault::HeadIndex, |driver, queue| queue.offer(driver.memory, 0xffff));
}

#[test]
fn a_chain_that_loops() {
    breaks(RNG, 0, QueueFault::Chain, |driver, queue| {
        queue.set_descriptor(driver.memory, 0, &descriptor(buffer(0), 8, WRITE | NEXT, 1));
        queue.set_descriptor(driver.memory, 1, &descriptor(buffer(0), 8, WRITE | NEXT, 0));
        queue.offer(driver.memory, 0);
    });
}

#[test]
fn a_chain_that_leaves_the_table() {
    breaks(RNG, 0, QueueFault::Chain, |driver, queue| {
        queue.set_descriptor(driver.memory, 0, &descriptor(buffer(0), 8, WRITE | NEXT, 16));
        queue.offer(driver.memory, 0);
    });
}

#[test]
fn a_readable_buffer_after_a_writable_one() {
    breaks(RNG, 0, QueueFault::Order, |driver, queue| {
        queue.add(driver.memory, &[Buffer::Writable(buffer(0), 8), Buffer::Readable(buffer(8), 8)]);
    });
}

#[test]
fn buffers_outside_ram() {
    let wild = [
        (Gpa(0), 8),
        (Gpa(0x1000_0000), 8),
        (RAM_BASE.wrapping_add(RAM), 1),
        (RAM_BASE.wrapping_add(RAM - 4), 8),
        (RAM_BASE.wrapping_add(RAM - (3 << 20)), (3 << 20) + 1),
        (Gpa(u64::MAX), 1),
        (Gpa(u64::MAX - 3), 8),
    ];
    for (gpa, length) in wild {
        breaks(RNG, 0, QueueFault::BufferAddress, |driver, queue| {
            queue.add(driver.memory, &[Buffer::Writable(gpa, length)]);
        });
        breaks(CONSOLE, 1, QueueFault::BufferAddress, |driver, queue| {
            queue.add(driver.memory, &[Buffer::Readable(gpa, length)]);
        });
    }
}

#[test]
fn a_request_that_is_too_long() {
    breaks(RNG, 0, QueueFault::TooLong, |driver, queue| {
        queue.add(driver.memory, &[Buffer::Writable(buffer(0), u32::MAX)]);
    });
    breaks(CONSOLE, 1, QueueFault::TooLong, |driver, queue| {
        queue.add(driver.memory, &[Buffer::Readable(RAM_BASE, 3 << 20), Buffer::Readable(RAM_BASE, 3 << 20)]);
    });
}

#[test]
fn indirect_tables_that_cannot_be() {
    let tables = [
        (buffer(0), 24, "no multiple of 16"),
        (buffer(0), 0, "empty"),
        (Gpa(0x40), 16, "outside RAM"),
        (buffer(0), 16 * 32, "longer than the queue, and all of it one chain"),
    ];
    for (gpa, length, why) in tables {
        breaks(RNG, 0, QueueFault::Chain, |driver, queue| {
            for index in 0..32_u16 {
                let entry = buffer(16 * u64::from(index));
                store(driver.memory, entry, &descriptor(buffer(0x1000), 1, WRITE | NEXT, index + 1));
            }
            queue.set_descriptor(driver.memory, 0, &descriptor(gpa, length, INDIRECT, 0));
            queue.offer(driver.memory, 0);
            println!("{why}");
        });
    }
}

#[test]
fn an_indirect_table_inside_an_indirect_table() {
    breaks(RNG, 0, QueueFault::Chain, |driver, queue| {
        store(driver.memory, buffer(0), &descriptor(buffer(0), 16, INDIRECT, 0));
        queue.set_descriptor(driver.memory, 0, &descriptor(buffer(0), 16, INDIRECT, 0));
        queue.offer(driver.memory, 0);
    });
}

#[test]
fn an_indirect_table_serves_as_a_chain() {
    let memory = ScatteredRam::new(RAM);
    let mut platform = platform();
    let driver = Driver { slot: CONSOLE, memory: &memory };
    let mut queues = driver.start(&mut platform, VERSION_1, 2);
    // The table itself crosses a page.
    let table = buffer(0x1000 - 16);
    store(&memory, buffer(0x4ffe), b"far away");
    store(&memory, table, &descriptor(buffer(0x4ffe), 3, NEXT, 1));
    store(&memory, table.wrapping_add(16), &descriptor(buffer(0x5001), 5, 0, 0));
    queues[1].set_descriptor(&memory, 7, &descriptor(table, 32, INDIRECT, 0));
    queues[1].offer(&memory, 7);
    driver.notify(&mut platform, &queues[1]);
    assert_eq!(platform.take_console_output(), b"far away");
    assert_eq!(queues[1].returned(&memory), [(7, 0)]);
}

#[test]
fn a_chain_may_be_as_long_as_the_queue() {
    let run = |length: u16| {
        let memory = ScatteredRam::new(RAM);
        let mut platform = platform();
        let driver = Driver { slot: RNG, memory: &memory };
        let mut queues = driver.start(&mut platform, VERSION_1, 1);
        for index in 0..length {
            let flags = if index + 1 < length { WRITE | NEXT } else { WRITE };
            let entry = buffer(16 * u64::from(index));
            store(&memory, entry, &descriptor(buffer(0x1000), 1, flags, index + 1));
        }
        queues[0].set_descriptor(&memory, 0, &descriptor(buffer(0), 16 * u32::from(length), INDIRECT, 0));
        queues[0].offer(&memory, 0);
        driver.notify(&mut platform, &queues[0]);
        queues[0].returned(&memory)
    };
    assert_eq!(run(16), [(0, 16)]);
    assert_eq!(run(17), []);
}

#[test]
fn chains_before_a_broken_one_are_returned() {
    let memory = ScatteredRam::new(RAM);
    let mut platform = platform();
    let driver = Driver { slot: RNG, memory: &memory };
    let mut queues = driver.start(&mut platform, VERSION_1, 1);
    queues[0].add(&memory, &[Buffer::Writable(buffer(0), 8)]);
    queues[0].add(&memory, &[Buffer::Writable(Gpa(0), 8)]);
    queues[0].add(&memory, &[Buffer::Writable(buffer(0), 8)]);
    driver.notify(&mut platform, &queues[0]);
    assert_eq!(queues[0].returned(&memory), [(0, 8)]);
    assert_eq!(driver.read(&mut platform, INTERRUPT_STATUS), 3);
}

#[test]
fn the_host_running_out_of_frames_breaks_the_queue_only() {
    let memory = ScatteredRam::with_frames(RAM, 12);
    let mut platform = platform();
    let driver = Driver { slot: RNG, memory: &memory };
    let mut queues = driver.start(&mut platform, VERSION_1, 1);
    queues[0].add(&memory, &[Buffer::Writable(buffer(0), 64 << 10)]);
    driver.notify(&mut platform, &queues[0]);
    assert!(matches!(platform.faults()[..], [DeviceFault::Queue { fault: QueueFault::HostMemory, .. }]));
}

#[test]
fn a_request_that_overwrites_the_ring_ends() {
    // The device's random bytes go over its own available ring, index included, again and again.
    let memory = ScatteredRam::new(RAM);
    let mut platform = platform();
    let driver = Driver { slot: RNG, memory: &memory };
    for _ in 0..50 {
        let mut queues = driver.start(&mut platform, VERSION_1, 1);
        let available = queues[0].available;
        for _ in 0..16 {
            queues[0].add(&memory, &[Buffer::Writable(available, 64)]);
        }
        driver.notify(&mut platform, &queues[0]);
    }
}

#[test]
fn interrupts_are_suppressed_by_flag() {
    let memory = ScatteredRam::new(RAM);
    let mut platform = platform();
    let driver = Driver { slot: RNG, memory: &memory };
    let mut queues = driver.start(&mut platform, VERSION_1, 1);
    driver.notify(&mut platform, &queues[0]);
    assert_eq!(driver.read(&mut platform, INTERRUPT_STATUS), 0, "nothing was returned");
    store(&memory, queues[0].available, &1_u16.to_le_bytes());
    queues[0].add(&memory, &[Buffer::Writable(buffer(0), 8)]);
    driver.notify(&mut platform, &queues[0]);
    assert_eq!(driver.read(&mut platform, INTERRUPT_STATUS), 0);
    store(&memory, queues[0].available, &0_u16.to_le_bytes());
    queues[0].add(&memory, &[Buffer::Writable(buffer(0), 8)]);
    driver.notify(&mut platform, &queues[0]);
    assert_eq!(driver.read(&mut platform, INTERRUPT_STATUS), 1);
    assert_eq!(platform.plic_pending(), 1 << map::virtio_source(RNG));
}

#[test]
fn interrupts_wait_for_the_event_index() {
    let memory = ScatteredRam::new(RAM);
    let mut platform = platform();
    let driver = Driver { slot: RNG, memory: &memory };
    let mut queues = driver.start(&mut platform, VERSION_1 | EVENT_IDX, 1);
    let used_event = queues[0].available.wrapping_add(4 + 2 * 16);
    store(&memory, used_event, &1_u16.to_le_bytes());
    queues[0].add(&memory, &[Buffer::Writable(buffer(0), 8)]);
    driver.notify(&mut platform, &queues[0]);
    driver.notify(&mut platform, &queues[0]);
    assert_eq!(driver.read(&mut platform, INTERRUPT_STATUS), 0, "one of two");
    queues[0].add(&memory, &[Buffer::Writable(buffer(0), 8)]);
    driver.notify(&mut platform, &queues[0]);
    assert_eq!(driver.read(&mut platform, INTERRUPT_STATUS), 1);
    let avail_event = load(&memory, queues[0].used.wrapping_add(4 + 8 * 16), 2);
    assert_eq!(avail_event, 2_u16.to_le_bytes(), "asks to be told of the third");
}

#[test]
fn a_ring_wraps() {
    let memory = ScatteredRam::new(RAM);
    let mut platform = platform();
    let driver = Driver { slot: RNG, memory: &memory };
    let mut queues = driver.start(&mut platform, VERSION_1 | EVENT_IDX, 1);
    for round in 0..70_000_u32 {
        let head = queues[0].add(&memory, &[Buffer::Writable(buffer(0), 1)]);
        driver.notify(&mut platform, &queues[0]);
        assert_eq!(queues[0].returned(&memory), [(u32::from(head), 1)], "round {round}");
    }
}
