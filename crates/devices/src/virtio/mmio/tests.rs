//! The transport's registers, driven through the platform's bus.

use crate::map;
use crate::platform::{ConsoleInput, Platform, PlatformConfig};
use crate::plic::PlicContexts;
use crate::testing::driver::*;
use crate::testing::{ContiguousRam, store};
use crate::virtio::{Console, DiscardFrames, Net, Rng, VirtioDevice};
use crate::{DeviceFault, QueueFault};
use types::Width;

const RAM: u64 = 4 << 20;
const MAC: [u8; 6] = [0x52, 0x54, 0, 0x12, 0x34, 0x56];
const LIVE: u64 = ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK;

/// Slot 0 rng, slot 1 console, slot 2 net.
fn platform() -> Platform {
    Platform::new(PlatformConfig {
        harts: 1,
        plic: PlicContexts::Supervisor,
        input: ConsoleInput::Virtio,
        virtio: vec![
            VirtioDevice::Rng(Rng::new(1)),
            VirtioDevice::Console(Console::new()),
            VirtioDevice::Net(Net::new(MAC, Box::new(DiscardFrames))),
        ],
        primary_region: None,
    })
    .unwrap()
}

fn with_driver(slot: usize, test: impl FnOnce(&mut Platform, Driver<'_>)) {
    let memory = ContiguousRam::new(RAM);
    test(&mut platform(), Driver { slot, memory: &memory });
}

fn fault(platform: &Platform) -> Option<QueueFault> {
    platform.faults().into_iter().find_map(|fault| match fault {
        DeviceFault::Queue { fault, .. } => Some(fault),
        DeviceFault::Host { .. } => None,
    })
}

#[test]
fn identifies_itself() {
    with_driver(1, |platform, driver| {
        assert_eq!(driver.read(platform, MAGIC), 0x7472_6976);
        assert_eq!(driver.read(platform, VERSION), 2);
        assert_eq!(driver.read(platform, DEVICE_ID), 3);
        assert_eq!(driver.read(platform, VENDOR_ID), 0x4b57_4750);
        assert_eq!(driver.read(platform, STATUS), 0);
        assert_eq!(driver.read(platform, SHM_LEN), 0xffff_ffff, "no shared memory");
        assert_eq!(driver.read(platform, 0xfc - 4), 0, "reserved");
    });
}

#[test]
fn offers_its_features_a_word_at_a_time() {
    with_driver(2, |platform, driver| {
        assert_eq!(driver.offered(platform), VERSION_1 | 1 << 28 | EVENT_IDX | 1 << 5 | 1 << 16);
        driver.write(platform, DEVICE_FEATURES_SEL, 2);
        assert_eq!(driver.read(platform, DEVICE_FEATURES), 0);
    });
}

#[test]
fn refuses_features_that_it_did_not_offer() {
    with_driver(0, |platform, driver| {
        driver.write(platform, STATUS, ACKNOWLEDGE | DRIVER);
        driver.accept(platform, VERSION_1 | 1);
        driver.write(platform, STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK);
        assert_eq!(driver.read(platform, STATUS), ACKNOWLEDGE | DRIVER);
        driver.accept(platform, VERSION_1);
        driver.write(platform, STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK);
        assert_eq!(driver.read(platform, STATUS), ACKNOWLEDGE | DRIVER | FEATURES_OK, "a second try may succeed");
    });
}

/// U-Boot resets the device after ACKNOWLEDGE, and goes on with DRIVER.
#[test]
fn driver_without_acknowledge_gets_features_ok() {
    with_driver(0, |platform, driver| {
        driver.write(platform, STATUS, ACKNOWLEDGE);
        driver.write(platform, STATUS, 0);
        driver.write(platform, STATUS, DRIVER);
        let offered = driver.offered(platform);
        driver.accept(platform, offered);
        driver.write(platform, STATUS, DRIVER | FEATURES_OK);
        assert_eq!(driver.read(platform, STATUS), DRIVER | FEATURES_OK);
        let mut queue = driver.set_up(platform, 0, 16);
        driver.write(platform, STATUS, DRIVER | FEATURES_OK | DRIVER_OK);
        queue.add(driver.memory, &[Buffer::Writable(map::RAM_BASE.wrapping_add(0x10_0000), 8)]);
        driver.notify(platform, &queue);
        assert_eq!(queue.returned(driver.memory), [(0, 8)]);
    });
}

/// The driver of xv6 writes the low word of the features alone.
#[test]
fn a_driver_that_never_mentions_version_1_gets_features_ok() {
    with_driver(0, |platform, driver| {
        driver.write(platform, STATUS, ACKNOWLEDGE | DRIVER);
        driver.write(platform, DRIVER_FEATURES, EVENT_IDX);
        driver.write(platform, STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK);
        assert_eq!(driver.read(platform, STATUS), ACKNOWLEDGE | DRIVER | FEATURES_OK);
    });
}

#[test]
fn driver_ok_without_features_ok_accepts_no_feature() {
    with_driver(0, |platform, driver| {
        driver.accept(platform, VERSION_1 | EVENT_IDX | 1);
        let mut queue = driver.set_up(platform, 0, 16);
        driver.write(platform, STATUS, DRIVER | DRIVER_OK);
        assert_eq!(driver.read(platform, STATUS), DRIVER | DRIVER_OK);
        for length in [8, 9] {
            // With event indices, only the first of these would interrupt: the driver's index stays 0.
            queue.add(driver.memory, &[Buffer::Writable(map::RAM_BASE.wrapping_add(0x10_0000), length)]);
            driver.notify(platform, &queue);
            assert_eq!(driver.read(platform, INTERRUPT_STATUS), 1);
            driver.write(platform, INTERRUPT_ACK, 1);
        }
        driver.write(platform, STATUS, LIVE);
        assert_eq!(driver.read(platform, STATUS), ACKNOWLEDGE | DRIVER | DRIVER_OK, "features are fixed");
    });
}

#[test]
fn a_queue_placed_before_features_ok_obeys_them() {
    with_driver(0, |platform, driver| {
        let mut queue = driver.set_up(platform, 0, 16);
        assert_eq!(driver.read(platform, QUEUE_READY), 1);
        driver.accept(platform, VERSION_1 | EVENT_IDX);
        driver.write(platform, STATUS, LIVE);
        assert_eq!(driver.read(platform, STATUS), LIVE, "all bits in one write");
        for interrupts in [1, 0] {
            queue.add(driver.memory, &[Buffer::Writable(map::RAM_BASE.wrapping_add(0x10_0000), 8)]);
            driver.notify(platform, &queue);
            assert_eq!(driver.read(platform, INTERRUPT_STATUS), interrupts, "the driver's event index stays 0");
            driver.write(platform, INTERRUPT_ACK, 1);
        }
    });
}

#[test]
fn a_driver_whose_features_are_refused_does_not_go_live() {
    with_driver(0, |platform, driver| {
        driver.accept(platform, VERSION_1 | 1);
        driver.write(platform, STATUS, LIVE);
        assert_eq!(driver.read(platform, STATUS), ACKNOWLEDGE | DRIVER);
    });
}

#[test]
fn features_are_fixed_once_they_are_ok() {
    with_driver(0, |platform, driver| {
        driver.negotiate(platform, VERSION_1);
        driver.accept(platform, u64::MAX);
        driver.write(platform, STATUS, LIVE);
        assert_eq!(driver.read(platform, STATUS), LIVE);
    });
}

#[test]
fn features_may_be_written_before_the_driver_is_known() {
    with_driver(0, |platform, driver| {
        driver.accept(platform, VERSION_1 | 1);
        driver.write(platform, STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK);
        assert_eq!(driver.read(platform, STATUS), ACKNOWLEDGE | DRIVER, "they count: bit 0 was not offered");
        driver.accept(platform, VERSION_1);
        driver.write(platform, STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK);
        assert_eq!(driver.read(platform, STATUS), ACKNOWLEDGE | DRIVER | FEATURES_OK);
    });
}

#[test]
fn status_bits_go_with_a_reset_only() {
    with_driver(0, |platform, driver| {
        driver.write(platform, STATUS, DRIVER_OK);
        assert_eq!(driver.read(platform, STATUS), DRIVER_OK);
        driver.negotiate(platform, VERSION_1);
        driver.write(platform, STATUS, ACKNOWLEDGE);
        assert_eq!(driver.read(platform, STATUS), ACKNOWLEDGE | DRIVER | FEATURES_OK);
        driver.write(platform, STATUS, NEEDS_RESET | 0xffff_ff00 | ACKNOWLEDGE);
        assert_eq!(driver.read(platform, STATUS), ACKNOWLEDGE | DRIVER | FEATURES_OK, "not the driver's bits");
        driver.write(platform, STATUS, FAILED);
        assert_eq!(driver.read(platform, STATUS), ACKNOWLEDGE | DRIVER | FEATURES_OK | FAILED);
        driver.write(platform, STATUS, 0);
        assert_eq!(driver.read(platform, STATUS), 0);
    });
}

#[test]
fn queues_are_fixed_while_ready() {
    with_driver(0, |platform, driver| {
        driver.negotiate(platform, VERSION_1);
        driver.set_up(platform, 0, 16);
        assert_eq!(driver.read(platform, QUEUE_NUM_MAX), 256);
        assert_eq!(driver.read(platform, QUEUE_READY), 1);
        driver.write(platform, QUEUE_NUM, 5);
        driver.write(platform, QUEUE_DESC, 1);
        driver.write(platform, STATUS, LIVE);
        assert_eq!(driver.read(platform, STATUS), LIVE);
        driver.write(platform, QUEUE_READY, 0);
        assert_eq!(driver.read(platform, QUEUE_READY), 0);
        driver.write(platform, QUEUE_READY, 1);
        assert_eq!(driver.read(platform, QUEUE_READY), 1, "size and address are those from before it was ready");
    });
}

#[test]
fn a_ready_queue_goes_on_when_made_ready_again() {
    with_driver(1, |platform, driver| {
        let mut queues = driver.start(platform, VERSION_1, 2);
        let text = map::RAM_BASE.wrapping_add(0x10_0000);
        for byte in *b"abc" {
            store(driver.memory, text, &[byte]);
            queues[1].add(driver.memory, &[Buffer::Readable(text, 1)]);
            driver.notify(platform, &queues[1]);
            assert_eq!(platform.take_console_output(), [byte], "each chain once");
            driver.write(platform, QUEUE_READY, 1);
        }
    });
}

#[test]
fn there_are_no_more_queues_than_the_device_has() {
    with_driver(0, |platform, driver| {
        driver.negotiate(platform, VERSION_1);
        for index in [1, 2, 0xffff_ffff] {
            driver.write(platform, QUEUE_SEL, index);
            driver.write(platform, QUEUE_NUM, 8);
            driver.write(platform, QUEUE_READY, 1);
            assert_eq!(driver.read(platform, QUEUE_NUM_MAX), 0);
            assert_eq!(driver.read(platform, QUEUE_READY), 0);
        }
        driver.write(platform, STATUS, LIVE);
        driver.write(platform, QUEUE_NOTIFY, 1);
        driver.write(platform, QUEUE_NOTIFY, 0xffff_ffff);
        assert_eq!(driver.read(platform, STATUS), LIVE);
    });
}

#[test]
fn a_queue_that_cannot_be_needs_a_reset() {
    type Spoil = fn(&Driver<'_>, &mut Platform);
    let cases: [(Spoil, QueueFault); 8] = [
        (|driver, platform| driver.write(platform, QUEUE_NUM, 0), QueueFault::Size),
        (|driver, platform| driver.write(platform, QUEUE_NUM, 12), QueueFault::Size),
        (|driver, platform| driver.write(platform, QUEUE_NUM, 512), QueueFault::Size),
        (|driver, platform| driver.write(platform, QUEUE_NUM, 0x1_0010), QueueFault::Size),
        (|driver, platform| driver.write(platform, QUEUE_DESC, 0x8000_0008), QueueFault::RingAddress),
        (|driver, platform| driver.write(platform, QUEUE_DRIVER, 0x8000_0001), QueueFault::RingAddress),
        (|driver, platform| driver.write(platform, QUEUE_DEVICE, 0x1000_0000), QueueFault::RingAddress),
        (|driver, platform| driver.write(platform, QUEUE_DESC + 4, 0xffff_ffff), QueueFault::RingAddress),
    ];
    for (spoil, expected) in cases {
        with_driver(0, |platform, driver| {
            driver.negotiate(platform, VERSION_1);
            driver.set_up(platform, 0, 16);
            driver.write(platform, QUEUE_READY, 0);
            spoil(&driver, platform);
            driver.write(platform, QUEUE_READY, 1);
            assert_eq!(driver.read(platform, QUEUE_READY), 0);
            assert_ne!(driver.read(platform, STATUS) & NEEDS_RESET, 0);
            assert_eq!(fault(platform), Some(expected));
            assert_eq!(driver.read(platform, INTERRUPT_STATUS), 0, "not before DRIVER_OK");
            driver.write(platform, STATUS, LIVE);
            assert_eq!(driver.read(platform, INTERRUPT_STATUS), 2);
        });
    }
}

#[test]
fn interrupts_are_acknowledged_bit_by_bit() {
    with_driver(1, |platform, driver| {
        let mut queues = driver.start(platform, VERSION_1, 2);
        let text = map::RAM_BASE.wrapping_add(0x10_0000);
        store(driver.memory, text, b"hi");
        queues[1].add(driver.memory, &[Buffer::Readable(text, 2)]);
        driver.notify(platform, &queues[1]);
        platform.console_resize(132, 50);
        assert_eq!(driver.read(platform, INTERRUPT_STATUS), 3);
        assert_eq!(platform.plic_pending(), 1 << map::virtio_source(1));
        driver.write(platform, INTERRUPT_ACK, 1);
        assert_eq!(driver.read(platform, INTERRUPT_STATUS), 2);
        driver.write(platform, INTERRUPT_ACK, 0xffff_fffe);
        assert_eq!(driver.read(platform, INTERRUPT_STATUS), 0);
    });
}

#[test]
fn a_reset_forgets_everything() {
    with_driver(0, |platform, driver| {
        let queues = driver.start(platform, VERSION_1 | EVENT_IDX, 1);
        queues[0].set_available_index(driver.memory, 100);
        driver.notify(platform, &queues[0]);
        assert_eq!(driver.read(platform, STATUS), LIVE | NEEDS_RESET);
        assert_eq!(driver.read(platform, INTERRUPT_STATUS) & 2, 2);
        driver.write(platform, STATUS, 0);
        assert_eq!(driver.read(platform, STATUS), 0);
        assert_eq!(driver.read(platform, INTERRUPT_STATUS), 0);
        assert_eq!(driver.read(platform, QUEUE_READY), 0);
        let mut queues = driver.start(platform, VERSION_1, 1);
        let buffer = map::RAM_BASE.wrapping_add(0x10_0000);
        queues[0].add(driver.memory, &[Buffer::Writable(buffer, 8)]);
        driver.notify(platform, &queues[0]);
        assert_eq!(queues[0].returned(driver.memory), [(0, 8)], "and then it works again");
    });
}

#[test]
fn the_configuration_is_read_in_any_width_and_changes_generation() {
    with_driver(2, |platform, driver| {
        assert_eq!(driver.read(platform, CONFIG), 0x1200_5452);
        assert_eq!(platform.read(driver.gpa(CONFIG + 4), Width::Half), Ok(0x5634));
        assert_eq!(platform.read(driver.gpa(CONFIG + 6), Width::Byte), Ok(1), "the link is up");
        assert_eq!(platform.read(driver.gpa(CONFIG + 60), Width::Word), Ok(0));
        assert_eq!(platform.read(driver.gpa(CONFIG + 0xefc), Width::Word), Ok(0), "past the end");
        platform.write(driver.gpa(CONFIG), Width::Byte, 0xff, driver.memory).unwrap();
        assert_eq!(driver.read(platform, CONFIG), 0x1200_5452, "read-only");
    });
    with_driver(1, |platform, driver| {
        assert_eq!(driver.read(platform, CONFIG), 25 << 16 | 80);
        let before = driver.read(platform, CONFIG_GENERATION);
        platform.console_resize(80, 25);
        assert_eq!(driver.read(platform, CONFIG_GENERATION), before, "nothing changed");
        platform.console_resize(100, 30);
        assert_ne!(driver.read(platform, CONFIG_GENERATION), before);
        assert_eq!(driver.read(platform, CONFIG), 30 << 16 | 100);
        assert_eq!(driver.read(platform, INTERRUPT_STATUS), 0, "the driver has not started");
    });
}

#[test]
fn nothing_is_delivered_before_the_driver_is_ready() {
    with_driver(1, |platform, driver| {
        driver.negotiate(platform, VERSION_1);
        let mut queue = driver.set_up(platform, 0, 16);
        queue.add(driver.memory, &[Buffer::Writable(map::RAM_BASE.wrapping_add(0x10_0000), 8)]);
        assert_eq!(platform.console_input(b"x", driver.memory), 0);
        driver.write(platform, STATUS, LIVE);
        assert_eq!(platform.console_input(b"x", driver.memory), 1);
    });
}

#[test]
fn nothing_is_served_before_the_driver_is_ready() {
    with_driver(0, |platform, driver| {
        driver.negotiate(platform, VERSION_1);
        let mut queue = driver.set_up(platform, 0, 16);
        queue.add(driver.memory, &[Buffer::Writable(map::RAM_BASE.wrapping_add(0x10_0000), 8)]);
        driver.notify(platform, &queue);
        assert_eq!(queue.returned(driver.memory), []);
        driver.write(platform, STATUS, LIVE);
        driver.notify(platform, &queue);
        assert_eq!(queue.returned(driver.memory), [(0, 8)]);
        driver.write(platform, STATUS, LIVE | FAILED);
        queue.add(driver.memory, &[Buffer::Writable(map::RAM_BASE.wrapping_add(0x10_0000), 8)]);
        driver.notify(platform, &queue);
        assert_eq!(queue.returned(driver.memory), [], "a driver that gave up gets nothing");
    });
}
